import { unlessAborted } from '../base/clock.js';
import type { Redis } from '../base/redis/connection.js';
import { untilAnswered } from '../base/redis/until-answered.js';
import { type EventLog, type LoggedEvent, MAX_NEXT } from './event-log.js';

/** If Redis is silent for this much longer than it was asked to wait, the connection is dead. */
const SILENCE_MS = 3_000;
const RETRY_MS = 1_000;

/**
 * Events that a follower may have pending before it has to read the log instead. No more than one read of the tail
 * returns: after a full read, the log may have dropped events, and only the log itself can tell.
 */
const MAX_PENDING = MAX_NEXT;

/** Receives events from the tail and keeps them until they are taken. */
export class Follower {
  /** Whether events were dropped, so that the follower must read them from the log. */
  isBehind = false;
  #pending: LoggedEvent[] = [];
  #onWake = (): void => {};

  push(events: readonly LoggedEvent[]): void {
    if (this.#pending.length + events.length >= MAX_PENDING) {
      this.isBehind = true;
      this.#pending = [];
    } else {
      this.#pending.push(...events);
    }
    this.wake();
  }

  take(): LoggedEvent[] {
    const taken = this.#pending;
    this.#pending = [];
    return taken;
  }

  /** Resolves when there are pending events, or on `wake`. */
  hasMore(): Promise<void> {
    if (this.#pending.length > 0 || this.isBehind) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onWake = resolve;
    });
  }

  wake(): void {
    this.#onWake();
  }
}

/** Reads the end of the event log over one connection. */
export interface Tail {
  /** The id after which the tail delivers every event. */
  readonly position: Promise<string>;
  stop(): void;
}

/** Starts to pass every new event to all followers. */
export function startTail(
  log: EventLog,
  blocking: Redis,
  followers: ReadonlySet<Follower>,
  waitMs: number,
): Tail {
  let isStopped = false;
  const stopping = new AbortController();
  const position = untilAnswered(() => log.last(), { signal: stopping.signal });
  const run = async (): Promise<void> => {
    let last = await position;
    while (!isStopped) {
      try {
        // The new connection repeats the pending command.
        const watchdog = setInterval(() => blocking.disconnect(true), waitMs + SILENCE_MS);
        // If Redis is down when the connection is closed, ioredis never rejects the pending command.
        const next = unlessAborted(log.next(blocking, last, waitMs), stopping.signal);
        const events = await next.finally(() => clearInterval(watchdog));
        last = events.at(-1)?.id ?? last;
        if (events.length > 0) for (const follower of followers) follower.push(events);
      } catch {
        // ioredis reconnects by itself. No event is missed meanwhile, because the log has them all.
        if (!isStopped) await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
  };
  // A follower awaits `position` and receives its error.
  run().catch(() => {});
  return {
    position,
    stop() {
      isStopped = true;
      stopping.abort();
      blocking.disconnect();
    },
  };
}
