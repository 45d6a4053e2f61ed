import { type Clock, systemClock } from '../clock.js';
import type { LogLevel } from '../config/settings.js';
import type { EventOf, EventType, VolleyEvent } from './catalogue.js';
import { createLog, type LogDestination } from './log.js';
import { createMask } from './mask.js';

export type { EventOf, EventType, VolleyEvent } from './catalogue.js';
export type { LogDestination } from './log.js';
export { maskNumber } from './mask.js';

/** Where everything that happens is told: it is logged, and whoever listens hears of it. */
export interface Events {
  /** Tells of an event. Never throws: a listener that does is itself told of, as `listener.failed`. */
  emit(event: VolleyEvent): void;
  /**
   * Calls `listener` at once at every event of a type, whatever is logged. It gets the event as it is, phone numbers
   * in full: what it writes down is its own affair. Returns what ends it.
   */
  on<Type extends EventType>(type: Type, listener: (event: EventOf<Type>) => unknown): () => void;
  /** The same for every event. */
  onAny(listener: (event: VolleyEvent) => unknown): () => void;
  /** The next event of a type, and if given, the next one that `where` is true for. It may never come. */
  next<Type extends EventType>(type: Type, where?: (event: EventOf<Type>) => boolean): Promise<EventOf<Type>>;
}

/** How events are told. */
export interface EventsOptions {
  /** The least that is logged; `silent` for nothing. Listeners hear everything. */
  level: LogLevel;
  /** Where the log goes: standard error when left out, so that standard output stays the command's own. */
  destination?: LogDestination;
  /** JSON for programs or lines for people; when left out, lines on a terminal and JSON elsewhere. */
  format?: 'json' | 'lines';
  /** What this process does, such as `send`; stands in every line. */
  role?: string;
  /** Texts that must never be logged, from `secretsOf(config)`. Tokens are known by their shape. */
  secrets?: readonly string[];
  clock?: Clock;
}

/** Makes the one place that events are told to; a process has one. */
export function createEvents(options: EventsOptions): Events {
  const { level, destination = process.stderr, role, secrets, clock = systemClock } = options;
  const terminal = options.destination === undefined && process.stderr.isTTY === true;
  const log = createLog({
    level,
    format: options.format ?? (terminal ? 'lines' : 'json'),
    colours: terminal && !process.env['NO_COLOR'],
    destination,
    clock,
    mask: createMask(secrets),
    role,
  });
  const listeners = new Set<(event: VolleyEvent) => unknown>();

  function emit(event: VolleyEvent): void {
    log(event);
    for (const listener of listeners) {
      const failed = (error: unknown): void => {
        // A listener that fails at this very event would be called for its own failure without end.
        if (event.type !== 'listener.failed') emit({ type: 'listener.failed', of: event.type, error });
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
    // Wrapped, so that the same function given twice is two listeners, each with an end of its own.
    const own = (event: VolleyEvent): unknown => listener(event);
    listeners.add(own);
    return () => void listeners.delete(own);
  }

  function on<Type extends EventType>(type: Type, listener: (event: EventOf<Type>) => unknown): () => void {
    return onAny((event) => (isOf(event, type) ? listener(event) : undefined));
  }

  return {
    emit,
    on,
    onAny,
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

function isOf<Type extends EventType>(event: VolleyEvent, type: Type): event is EventOf<Type> {
  return event.type === type;
}
