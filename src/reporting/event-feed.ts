import { LRUCache } from 'lru-cache';
import { unlessAborted, within } from '../base/clock.js';
import { CATALOGUE } from '../base/events/catalogue.js';
import type { EventOf, EventType, VolleyEvent } from '../base/events/events.js';
import { createMask } from '../base/events/mask.js';
import type { Redis } from '../base/redis/connection.js';
import type { LaneId } from '../base/redis/keys.js';
import { type RetryOptions, untilAnswered } from '../base/redis/until-answered.js';
import { InputError } from '../campaign/errors/errors.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import { EVENT_ID, type EventLog, isAfter, type LoggedEvent } from './event-log.js';
import { Follower, startTail, type Tail } from './feed-tail.js';

/** Events that every process can follow: those of campaigns and lanes, not those of single requests. */
export const BROADCAST_EVENTS = [
  'campaign.imported',
  'campaign.launched',
  'campaign.paused',
  'campaign.resumed',
  'campaign.cancelled',
  'campaign.completed',
  'outbox.paused',
  'import.discarded',
  'retention.removed',
  'request.unknown',
  'request.resolved',
  'schedule.ran',
  'schedule.skipped',
  'schedule.missed',
  'schedule.failed',
  'schedule.paused',
  'inbound.received',
  'lane.held',
  'lane.backingOff',
  'lane.reopened',
  'lane.stopped',
  'quota.learned',
  'quota.deducted',
  'redis.restarted',
  'redis.dataLoss',
  'redis.rolledBack',
  'redis.unbounded',
  'redis.clockChanged',
  'workers.lost',
] as const satisfies readonly EventType[];

/** See {@link BROADCAST_EVENTS}. */
export type BroadcastEvent = EventOf<(typeof BROADCAST_EVENTS)[number]>;

/** An event with the name and the idempotency key of its campaign; null if the campaign has none, or no longer exists. */
export type NamedEvent = BroadcastEvent & {
  readonly name?: string | null;
  readonly idempotencyKey?: string | null;
};

/** One item of the feed. */
export type FeedItem =
  /** Always the first item: the feed continues after this id. */
  | { readonly kind: 'start'; readonly id: string }
  /** Earlier events are missing, because they are no longer kept or Redis lost them. Read the status instead. */
  | { readonly kind: 'gap'; readonly id: string }
  /** An event of any process. */
  | { readonly kind: 'event'; readonly id: string; readonly createdAt: string; readonly event: NamedEvent };

/** Options of {@link EventFollower.follow}. */
export interface FollowOptions {
  /** The id of the last event that you have received; default: the newest event. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Lets a program follow the events of all processes. */
export interface EventFollower {
  /**
   * Yields the events of all processes, from now on or after the event with the id `after`. Ends when the signal fires.
   * A slow consumer still receives every event or a `gap`; Redis keeps about 10,000 events. Rejects with an InputError
   * if `after` is not a valid id.
   */
  follow(options?: FollowOptions): AsyncIterable<FeedItem>;
}

/** The feed of events, for any number of followers over one connection. */
export interface EventFeed extends EventFollower {
  /** Appends an event for all followers. Never throws: an event that cannot be stored is lost; the status remains. */
  publish(event: VolleyEvent): void;
  /** Ends all followers, and resolves when published events are stored or cannot be stored. */
  close(): Promise<void>;
}

interface NamedCampaign {
  readonly name: string;
  readonly idempotencyKey: string | null;
}

/** What {@link createEventFeed} needs. */
interface FeedOptions {
  readonly log: EventLog;
  /** Opens the connection that waits for events, when the first follower arrives. */
  connect(): Redis;
  /** The log has the ids of lanes, so that an event stays with its lane whatever its name is. Default: names are ids. */
  readonly lanes?: Pick<LaneFinder, 'nameOf' | 'openedIdOf'> | undefined;
  /** What followers learn about the campaign of an event; null if it does not exist. Default: nothing. */
  readonly campaignOf?: ((lane: LaneId, campaign: string) => Promise<NamedCampaign | null>) | undefined;
  /** How long one read waits for events, in ms. Tests shorten it. */
  readonly waitMs?: number | undefined;
}

const MAX_KNOWN = 1_000;
const READ_AT_ONCE = 500;
const WAIT_MS = 5_000;
const CLOSE_WITHIN_MS = 1_000;

/** Creates the feed. It connects when the first follower arrives. */
export function createEventFeed({
  log,
  connect,
  lanes,
  campaignOf,
  waitMs = WAIT_MS,
}: FeedOptions): EventFeed {
  const known = new LRUCache<string, NamedCampaign>({ max: MAX_KNOWN });
  const writes = new Set<Promise<void>>();
  const followers = new Set<Follower>();
  let tail: Tail | undefined;
  let isClosed = false;

  const readLog = async (follower: Follower, last: string, waiting: RetryOptions) => {
    // Reset before reading: a follower that falls behind during the read has to read again.
    follower.isBehind = false;
    const events = await untilAnswered(() => log.after(last, READ_AT_ONCE), waiting);
    if (events.length === READ_AT_ONCE) follower.isBehind = true;
    // Checked after reading: events that are trimmed later are in `events`.
    const hasGap = await untilAnswered(() => log.mayLackEventsAfter(last), waiting);
    return { events, hasGap };
  };

  const toItem = async ({ id, json }: LoggedEvent): Promise<FeedItem> => {
    // Volley wrote it.
    const event: BroadcastEvent = JSON.parse(json);
    const lane = (await lanes?.nameOf(event.lane)) ?? event.lane;
    const named =
      campaignOf === undefined || !('campaign' in event) ? {} : await nameOf(event.lane, event.campaign);
    return {
      kind: 'event',
      id,
      createdAt: new Date(Number(id.split('-')[0])).toISOString(),
      event: { ...event, lane, ...named },
    };
  };

  /** Every follower receives the event, but one of them reads the campaign. A campaign that is removed has no name. */
  const nameOf = async (
    lane: LaneId,
    campaign: string | null,
  ): Promise<Pick<NamedEvent, 'name' | 'idempotencyKey'>> => {
    if (campaign === null) return { name: null, idempotencyKey: null };
    const named = known.get(campaign) ?? (await campaignOf?.(lane, campaign)) ?? null;
    if (named !== null) known.set(campaign, named);
    return named ?? { name: null, idempotencyKey: null };
  };

  return {
    publish(event) {
      if (!isBroadcast(event)) return;
      const lane = lanes?.openedIdOf(event.lane) ?? event.lane;
      const written = log.append(JSON.stringify({ ...withoutNumbers(event), lane })).catch(() => {});
      writes.add(written);
      written.finally(() => writes.delete(written));
    },

    async *follow({ after, signal } = {}) {
      if (after !== undefined && !EVENT_ID.test(after)) {
        throw new InputError(`not a valid event id: ${JSON.stringify(after.slice(0, 40))}`);
      }
      signal?.throwIfAborted();
      tail ??= startTail(log, connect(), followers, waitMs);
      const follower = new Follower();
      const wake = (): void => follower.wake();
      const waiting: RetryOptions = signal === undefined ? {} : { signal };
      const hasEnded = (): boolean => isClosed || signal?.aborted === true;
      followers.add(follower);
      signal?.addEventListener('abort', wake, { once: true });
      try {
        // The tail must run before the log is read, so that no event falls between the two.
        await unlessAborted(tail.position, signal);
        const newest = await untilAnswered(() => log.last(), waiting);
        // Redis lost data or is another one: none of its events may ever be after this id.
        const isAhead = after !== undefined && isAfter(after, newest);
        let last = after === undefined || isAhead ? newest : after;
        yield { kind: 'start', id: last };
        if (isAhead) yield { kind: 'gap', id: last };
        // The follower starts by reading the events that happened before it arrived.
        follower.isBehind = true;
        while (!hasEnded()) {
          const { events, hasGap } = follower.isBehind
            ? await readLog(follower, last, waiting)
            : { events: follower.take(), hasGap: false };
          if (hasGap) yield { kind: 'gap', id: last };
          for (const logged of events) {
            if (!isAfter(logged.id, last)) continue;
            last = logged.id;
            yield await untilAnswered(() => toItem(logged), waiting);
            if (hasEnded()) return;
          }
          // Checked right before waiting: a wake-up during the loop would be missed.
          if (hasEnded()) return;
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
      await within(CLOSE_WITHIN_MS, Promise.all(writes)).catch(() => {});
    },
  };
}

const mask = createMask();

/** Masks phone numbers and secrets in the texts of an event, because its stream cannot be rewritten when a number is forgotten. */
function withoutNumbers(event: BroadcastEvent): BroadcastEvent {
  const fields: Readonly<Record<string, { readonly kind: string }>> = CATALOGUE[event.type].fields;
  const masked = Object.entries(event).map(([name, value]) => [
    name,
    fields[name]?.kind === 'prose' && typeof value === 'string' ? mask.prose(value) : value,
  ]);
  return Object.fromEntries(masked);
}

function isBroadcast(event: VolleyEvent): event is BroadcastEvent {
  return BROADCAST_EVENTS.some((type) => type === event.type);
}
