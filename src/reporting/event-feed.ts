import { InputError } from '../campaign/errors.js';
import { unlessAborted } from '../clock.js';
import type { EventOf, EventType, VolleyEvent } from '../events/events.js';
import type { Redis } from '../redis/connection.js';
import { type Patience, untilAnswered } from '../redis/until-answered.js';
import { EVENT_ID, type EventLog, isAfter, type LoggedEvent } from './event-log.js';
import { createFollower, type Follower } from './feed-follower.js';
import { startTail, type Tail } from './feed-tail.js';

/** What is told to other processes: what happens to campaigns and lanes, not what happens at every request. */
export const BROADCAST_EVENTS = [
  'campaign.imported',
  'campaign.launched',
  'campaign.paused',
  'campaign.resumed',
  'campaign.cancelled',
  'campaign.completed',
  'import.discarded',
  'retention.removed',
  'request.unknown',
  'lane.paused',
  'lane.reopened',
  'lane.stopped',
  'quota.learned',
  'quota.deducted',
  'redis.restarted',
  'redis.dataLoss',
  'workers.lost',
] as const satisfies readonly EventType[];

/** See {@link BROADCAST_EVENTS}. */
export type BroadcastEvent = EventOf<(typeof BROADCAST_EVENTS)[number]>;

/** What a follower is told. */
export type FeedItem =
  /** Always the first: all that happens after this id is told. */
  | { readonly kind: 'start'; readonly id: string }
  /** Some that came before are not kept any more, or never were: look at how things stand. */
  | { readonly kind: 'gap'; readonly id: string }
  /** An event of any process. */
  | { readonly kind: 'event'; readonly id: string; readonly at: string; readonly event: BroadcastEvent };

/** What happens, of all processes, for any number of followers over one connection. */
export interface EventFeed {
  /** Writes an event down for all. Never throws: what cannot be told is to be seen in how things stand. */
  tell(event: VolleyEvent): void;
  /**
   * What happens from now on, or after the event whose id is given; ends with the signal. A follower who is slow is told
   * all the same, in his time. Rejects with an InputError for an id that is none.
   */
  follow(options?: { after?: string | undefined; signal?: AbortSignal | undefined }): AsyncIterable<FeedItem>;
  /** Resolves when what was told is written down, or cannot be. */
  close(): Promise<void>;
}

/** What {@link createEventFeed} goes by. */
export interface FeedOptions {
  readonly log: EventLog;
  /** A connection of its own, made when the first follower comes. */
  connect(): Redis;
  /** How long that connection waits for what happens at a time, ms; tests shorten it. */
  readonly waitMs?: number | undefined;
}

const READ_AT_ONCE = 500;
const WAIT_MS = 5_000;
const LAST_WORDS_MS = 1_000;

/** Opens the feed; its own connection is made when the first follower comes. */
export function createEventFeed({ log, connect, waitMs = WAIT_MS }: FeedOptions): EventFeed {
  const telling = new Set<Promise<void>>();
  const followers = new Set<Follower>();
  let tail: Tail | undefined;
  let isClosed = false;
  const catchUp = async (follower: Follower, last: string, waiting: Patience) => {
    // Before it is read: who falls behind meanwhile has to read once more.
    follower.isBehind = false;
    const some = await untilAnswered(() => log.after(last, READ_AT_ONCE), waiting);
    if (some.length === READ_AT_ONCE) follower.isBehind = true;
    // After it is read: what is cut off later is in it.
    const isForgotten = await untilAnswered(() => log.hasForgotten(last), waiting);
    return { some, isForgotten };
  };
  return {
    tell(event) {
      if (!isBroadcast(event)) return;
      const written = log.append(JSON.stringify(event)).catch(() => {});
      telling.add(written);
      written.finally(() => telling.delete(written));
    },

    async *follow({ after, signal } = {}) {
      if (after !== undefined && !EVENT_ID.test(after)) {
        throw new InputError(`no id of an event: ${JSON.stringify(after.slice(0, 40))}`);
      }
      signal?.throwIfAborted();
      tail ??= startTail(log, connect(), followers, waitMs);
      const follower = createFollower();
      const wake = (): void => follower.wake();
      const waiting: Patience = signal === undefined ? {} : { signal };
      const isOver = (): boolean => isClosed || signal?.aborted === true;
      followers.add(follower);
      signal?.addEventListener('abort', wake, { once: true });
      try {
        // First, so that nothing lies between what is read and what is heard.
        await unlessAborted(tail.position, signal);
        const newest = await untilAnswered(() => log.last(), waiting);
        // A Redis that forgot, or another one: none of its events would ever be after this id.
        const isAhead = after !== undefined && isAfter(after, newest);
        let last = after === undefined || isAhead ? newest : after;
        yield { kind: 'start', id: last };
        if (isAhead) yield { kind: 'gap', id: last };
        // What came before it was there, and whatever it was too slow for, it reads for itself.
        follower.isBehind = true;
        while (!isOver()) {
          const { some, isForgotten } = follower.isBehind
            ? await catchUp(follower, last, waiting)
            : { some: follower.take(), isForgotten: false };
          if (isForgotten) yield { kind: 'gap', id: last };
          for (const logged of some) {
            if (!isAfter(logged.id, last)) continue;
            last = logged.id;
            yield itemOf(logged);
            if (isOver()) return;
          }
          // Right before it waits: whoever ended it meanwhile has woken it in vain.
          if (isOver()) return;
          await follower.hasMore();
        }
      } finally {
        signal?.removeEventListener('abort', wake);
        followers.delete(follower);
        if (followers.size === 0) {
          tail?.stop();
          tail = undefined;
        }
      }
    },

    async close() {
      isClosed = true;
      tail?.stop();
      tail = undefined;
      for (const follower of followers) follower.wake();
      const late = new Promise<void>((resolve) => setTimeout(resolve, LAST_WORDS_MS).unref());
      await Promise.race([Promise.all(telling), late]);
    },
  };
}

function isBroadcast(event: VolleyEvent): event is BroadcastEvent {
  return BROADCAST_EVENTS.some((type) => type === event.type);
}

function itemOf({ id, json }: LoggedEvent): FeedItem {
  // Written by this program; what an older one wrote has at least a type.
  const event: BroadcastEvent = JSON.parse(json);
  return { kind: 'event', id, at: new Date(Number(id.split('-')[0])).toISOString(), event };
}
