import { type LoggedEvent, NEXT_AT_MOST } from './event-log.js';

/**
 * What a follower who does not read is kept in memory; from there on he reads the log by himself, later. No more than is
 * heard at once: whoever hears as much may have missed what was cut off before it, and only the log can tell.
 */
const WAITING_AT_MOST = NEXT_AT_MOST;

/** One who follows the feed: what he was told and has not taken yet. */
export interface Follower {
  /** What he missed is to be read of the log. */
  isBehind: boolean;
  hear(events: readonly LoggedEvent[]): void;
  take(): LoggedEvent[];
  /** Resolves when there is something to take, or it was woken. */
  hasMore(): Promise<void>;
  wake(): void;
}

/** A follower who hears of everything from now on. */
export function createFollower(): Follower {
  let waiting: LoggedEvent[] = [];
  let woken = (): void => {};
  return {
    isBehind: false,
    hear(events) {
      if (waiting.length + events.length >= WAITING_AT_MOST) {
        this.isBehind = true;
        waiting = [];
      } else {
        waiting.push(...events);
      }
      woken();
    },
    take() {
      const taken = waiting;
      waiting = [];
      return taken;
    },
    hasMore() {
      if (waiting.length > 0 || this.isBehind) return Promise.resolve();
      return new Promise((resolve) => {
        woken = resolve;
      });
    },
    wake: () => woken(),
  };
}
