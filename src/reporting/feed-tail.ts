import { unlessAborted } from '../clock.js';
import type { Redis } from '../redis/connection.js';
import { untilAnswered } from '../redis/until-answered.js';
import type { EventLog } from './event-log.js';
import type { Follower } from './feed-follower.js';

/** A server that says nothing for so much longer is not there any more, whatever its connection looks like. */
const LATE_MS = 3_000;
const AGAIN_MS = 1_000;

/** The end of the log as one connection reads it. */
export interface Tail {
  /** From where on it hears of everything. */
  readonly position: Promise<string>;
  stop(): void;
}

/** Reads the log's end as it grows, for all followers. */
export function startTail(
  log: EventLog,
  blocking: Redis,
  followers: ReadonlySet<Follower>,
  waitMs: number,
): Tail {
  let isOver = false;
  const over = new AbortController();
  const position = untilAnswered(() => log.last(), { signal: over.signal });
  const run = async (): Promise<void> => {
    let last = await position;
    while (!isOver) {
      try {
        // Made anew, it asks again by itself.
        const late = setInterval(() => blocking.disconnect(true), waitMs + LATE_MS);
        // What waits for a server that is away is never rejected when its connection is given up.
        const next = unlessAborted(log.next(blocking, last, waitMs), over.signal);
        const some = await next.finally(() => clearInterval(late));
        last = some.at(-1)?.id ?? last;
        if (some.length > 0) for (const follower of followers) follower.hear(some);
      } catch {
        // The connection comes back by itself; meanwhile nothing is missed, for it is all in the log.
        if (!isOver) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      }
    }
  };
  // Whoever follows hears of a position that cannot be had.
  run().catch(() => {});
  return {
    position,
    stop() {
      isOver = true;
      over.abort();
      blocking.disconnect();
    },
  };
}
