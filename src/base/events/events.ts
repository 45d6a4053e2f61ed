import { z } from 'zod';
import { InputError } from '../../campaign/errors/errors.js';
import { nearest } from '../../campaign/errors/nearest.js';
import { callback, optional, parseInput, strict, withMethod } from '../../campaign/fields/input.js';
import { type Alarm, backgroundAlarm, type Clock, systemClock } from '../clock.js';
import { type LogLevel, SETTINGS } from '../config/settings.js';
import { CATALOGUE, type EventOf, type EventType, type VolleyEvent } from './catalogue.js';
import { createLog, type LogDestination } from './log.js';
import { createMask } from './mask.js';

export type { EventOf, EventType, VolleyEvent } from './catalogue.js';
export type { LogDestination } from './log.js';

/** Emits events: each one is logged and passed to the listeners of this process. */
export interface Events {
  /** Logs the event, a repeated problem once a minute, and calls its listeners. Never throws; if a listener throws, it emits `listener.failed`. */
  emit(event: VolleyEvent): void;
  /**
   * Calls `listener` synchronously for every event of a type, regardless of the log level. The event is not masked: it
   * contains full phone numbers. Returns a function that removes the listener.
   */
  on<Type extends EventType>(type: Type, listener: (event: EventOf<Type>) => unknown): () => void;
  /** Like `on`, for events of every type. */
  onAny(listener: (event: VolleyEvent) => unknown): () => void;
  /** Never logs these texts from now on. */
  hide(secrets: readonly string[]): void;
  /** Resolves with the next event of a type for which `where` returns true. Stays pending if there is none. */
  next<Type extends EventType>(type: Type, where?: (event: EventOf<Type>) => boolean): Promise<EventOf<Type>>;
}

/** How events are logged. */
export interface EventsOptions {
  /** The lowest level that is logged; `silent` for nothing. Listeners receive every event. */
  level: LogLevel;
  /** Default: standard error, because commands print their results to standard output. */
  destination?: LogDestination | undefined;
  /** `json` for programs, `lines` for people. Default: `lines` on a terminal, otherwise `json`. */
  format?: 'json' | 'lines' | undefined;
  /** The columns into which `lines` are broken. Default: those of standard error if it is a terminal and receives the log. */
  columns?: (() => number | undefined) | undefined;
  /** What this process does, such as `send`. Every JSON line has it. */
  role?: string | undefined;
  /** Texts that must never be logged, from `secretsOf(config)`. Tokens are recognised by their form. */
  secrets?: readonly string[] | undefined;
  clock?: Clock | undefined;
  /** Default: the system's timers. */
  alarm?: Alarm | undefined;
}

const OPTIONS = strict({
  level: SETTINGS.shape.LOG_LEVEL.unwrap(),
  destination: optional(withMethod<LogDestination>('write', 'must be a stream')),
  format: optional(z.enum(['json', 'lines'])),
  columns: optional(callback<NonNullable<EventsOptions['columns']>>()),
  role: optional(z.string()),
  secrets: optional(z.array(z.string()).readonly()),
  clock: optional(callback<Clock>()),
  alarm: optional(z.custom<Alarm>()),
});

/** Creates the events of a process. A process needs one. */
export function createEvents(given: EventsOptions): Events {
  const options = parseInput(OPTIONS, given);
  const {
    level,
    destination = process.stderr,
    role,
    secrets,
    clock = systemClock,
    alarm = backgroundAlarm,
  } = options;
  const mask = createMask(secrets);
  const terminal = options.destination === undefined && process.stderr.isTTY === true;
  const log = createLog({
    level,
    format: options.format ?? (terminal ? 'lines' : 'json'),
    colours: terminal && !process.env['NO_COLOR'],
    destination,
    columns: options.columns ?? (() => (terminal ? process.stderr.columns || 80 : undefined)),
    clock,
    alarm,
    mask,
    role,
  });
  const listeners = new Set<(event: VolleyEvent) => unknown>();

  function emit(event: VolleyEvent): void {
    log(event);
    for (const listener of listeners) {
      const failed = (error: unknown): void => {
        // A listener that fails on `listener.failed` would otherwise cause an endless loop.
        if (event.type !== 'listener.failed') emit({ type: 'listener.failed', eventType: event.type, error });
      };
      try {
        const answer = listener(event);
        if (answer instanceof Promise) answer.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }

  function onAny(listener: (event: VolleyEvent) => unknown): () => void {
    parseInput(callback(), listener, 'listener');
    // The wrapper makes the same function, added twice, two listeners that are removed independently.
    const wrapper = (event: VolleyEvent): unknown => listener(event);
    listeners.add(wrapper);
    return () => void listeners.delete(wrapper);
  }

  function on<Type extends EventType>(type: Type, listener: (event: EventOf<Type>) => unknown): () => void {
    if (!Object.hasOwn(CATALOGUE, type)) throw noSuchEvent(String(type));
    parseInput(callback(), listener, 'listener');
    return onAny((event) => (isOf(event, type) ? listener(event) : undefined));
  }

  return {
    emit,
    on,
    onAny,
    hide: (more) => mask.hide(more),
    next: (type, where = () => true) =>
      new Promise((resolve) => {
        const end = on(type, (event) => {
          if (!where(event)) return;
          end();
          resolve(event);
        });
      }),
  };
}

/** A listener for a misspelled type would never be called. */
function noSuchEvent(type: string): InputError {
  const meant = nearest(type, Object.keys(CATALOGUE));
  const hint = meant === null ? 'docs/library.md says where they are listed' : `did you mean \`${meant}\`?`;
  return new InputError(`there is no event \`${type}\`: ${hint}`, { field: 'type' });
}

function isOf<Type extends EventType>(event: VolleyEvent, type: Type): event is EventOf<Type> {
  return event.type === type;
}
