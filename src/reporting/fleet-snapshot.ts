import { z } from 'zod';
import type { Clock } from '../base/clock.js';
import { exactDuration } from '../base/duration.js';
import type { Redis } from '../base/redis/connection.js';
import { hashEntries } from '../base/redis/hash-entries.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { CAMPAIGN_STATES, type CampaignState } from '../campaign/states/campaign.js';
import { perName, RECIPIENT_STATES, type RecipientState } from '../campaign/states/recipient.js';
import type { LaneStatus } from '../campaign/views/views.js';
import type { Depth, Queues } from '../engine/jobs/queues.js';
import type { Stage } from '../engine/jobs/wake.js';
import { firstClosed } from '../engine/lane/closed.js';
import type { Lane } from '../engine/lane/lane.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import type { LaneStatusRecord } from '../engine/lane/lane-status.js';
import { singleFlight } from '../engine/lane/single-flight.js';
import {
  SUBSCRIPTION_STATES,
  type SubscriptionState,
  subscriptionStatusStore,
} from '../engine/notifications/subscription-status.js';
import { type Heartbeats, ROLES, type Role } from '../engine/recovery/heartbeats.js';
import { sinceSweep } from '../engine/recovery/sweep.js';
import { REQUESTS, stateMembers } from '../engine/store/campaigns.js';
import { laneStatus, OF_LANE } from './status.js';

/**
 * Why a lane starts no requests, or only a probe. `throttled`: the service returned 429; `unreachable`: it does not
 * respond; `recovery`: Redis may have lost data; `noToken`: the account service has given it no access token yet; `operator`: an operator
 * holds the lane; `stopped`: a response that retrying cannot fix, such as 403, stopped it. The lane's status describes the reason in words.
 */
export const CLOSED_CAUSES = [
  'throttled',
  'unreachable',
  'recovery',
  'noToken',
  'operator',
  'stopped',
] as const;
/** See {@link CLOSED_CAUSES}. */
export type ClosedCause = (typeof CLOSED_CAUSES)[number];

/** The status of a lane and the totals of its campaigns. */
export interface LaneSnapshot extends CampaignCounts {
  readonly status: LaneStatus;
  /** Null while the lane is open. A lane that probes keeps the cause of its backoff. */
  readonly cause: ClosedCause | null;
  /** How long the earliest due poll is overdue, such as `90s`; null if no poll is due. */
  readonly pollOverdue: string | null;
  /** For how long the turns of each stage have failed; null if they do not. */
  readonly failing: Readonly<Record<Stage, string | null>>;
  readonly notifications: NotificationSnapshot;
  /** Null for a lane without outboxes. */
  readonly outboxes: OutboxSnapshot | null;
}

/** The messages of a lane's outboxes. */
export interface OutboxSnapshot {
  /** Messages that wait for their time, or until the lane may send them. */
  readonly waiting: number;
  /** Messages that have lapsed, in all outboxes that exist. */
  readonly lapsed: number;
  /** How long the earliest message that is due has waited; null if none is due. Those of paused outboxes do not count. */
  readonly late: string | null;
}

/** How many schedules there are, and how late the earliest due one is. */
export interface ScheduleTotals {
  readonly active: number;
  /** Paused by an operator. */
  readonly paused: number;
  /** Paused because of their failures. */
  readonly failing: number;
  /** How long the earliest due schedule has waited for a worker; null if none is due. */
  readonly late: string | null;
}

/** How many webhooks there are. `failing`: enabled, and the last request failed. */
export interface WebhookTotals {
  readonly enabled: number;
  readonly disabled: number;
  readonly failing: number;
}

/** The state of a lane's notifications. */
export interface NotificationSnapshot {
  /** The subscription at the last check; null before the first check. */
  readonly subscription: SubscriptionState | null;
  /** Time since the last notification; null before the first one. */
  readonly sinceLast: string | null;
  /** Request ids in notifications that match no request yet. */
  readonly unmatched: number;
}

export { SUBSCRIPTION_STATES };

/** The state of all lanes, queues, and workers, for metrics. */
export interface FleetSnapshot {
  readonly lanes: readonly LaneSnapshot[];
  /** Jobs in the queue of each stage; a lane with work has one. */
  readonly jobs: Readonly<Record<Stage, Depth>>;
  /** Live worker processes by role. */
  readonly workers: Readonly<Record<Role, number>>;
  /** Time since the last sweep of these lanes; null if there was none within a day. */
  readonly sinceSweep: string | null;
  readonly schedules: ScheduleTotals;
  readonly webhooks: WebhookTotals;
}

/** Takes snapshots of the fleet. */
export interface FleetReader {
  /** Counts everything, lane by lane. It reads every stored campaign; with very many, the counts may be a minute old. */
  fleetSnapshot(): Promise<FleetSnapshot>;
}

/** What {@link createFleetReader} needs. */
interface FleetReaderOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'configured'>;
  readonly wakers: Pick<Queues, 'depth'>;
  readonly heartbeats: Pick<Heartbeats, 'alive'>;
  readonly monotonic: Clock;
  /** Counts the messages of the outboxes of each lane. Lanes without outboxes are left out. */
  outboxTotals(lanes: readonly Lane[]): Promise<ReadonlyMap<LaneId, OutboxSnapshot>>;
  scheduleTotals(): Promise<ScheduleTotals>;
  webhookTotals(): Promise<WebhookTotals>;
}

/** The share of time that may be spent reading campaigns. Reading a hundred thousand takes a second or two. */
const MAX_READING_SHARE = 0.05;

/** Creates the reader. Concurrent calls share one snapshot. */
export function createFleetReader(options: FleetReaderOptions): FleetReader {
  const { redis, keys, finder, wakers, heartbeats, monotonic } = options;
  const counters = new Map<LaneId, () => Promise<CampaignCounts>>();
  const countsOf = (id: LaneId): Promise<CampaignCounts> => {
    const counter = counters.get(id) ?? rateLimited(() => countCampaigns(redis, keys, id), monotonic);
    counters.set(id, counter);
    return counter();
  };
  const laneSnapshot = async (
    lane: Lane,
    totals: Promise<ReadonlyMap<LaneId, OutboxSnapshot>>,
  ): Promise<LaneSnapshot> => {
    const [view, counts, notifications, outboxes] = await Promise.all([
      lane.status(),
      countsOf(lane.id),
      notificationSnapshot(redis, keys, lane.id),
      totals,
    ]);
    return {
      status: laneStatus(lane, view),
      cause: causeOf(view),
      pollOverdue:
        view.pollDueAt > 0 && view.pollDueAt <= view.now ? exactDuration(view.now - view.pollDueAt) : null,
      failing: perName(['send', 'poll'], (kind) => {
        const failure = view.failures.find((each) => each.kind === kind);
        return failure === undefined ? null : exactDuration(view.now - failure.since);
      }),
      notifications,
      outboxes: outboxes.get(lane.id) ?? null,
      ...counts,
    };
  };
  let lanes: readonly Lane[] = [];
  const countMessages = rateLimited(() => options.outboxTotals(lanes), monotonic);
  const totalsOf = (all: readonly Lane[]): Promise<ReadonlyMap<LaneId, OutboxSnapshot>> => {
    lanes = all;
    return countMessages();
  };
  const fleetSnapshot = singleFlight(async () => {
    const all = [...(await finder.configured()).values()];
    const totals = totalsOf(all);
    const [snapshots, jobs, alive, swept, schedules, webhooks] = await Promise.all([
      Promise.all(all.map((lane) => laneSnapshot(lane, totals))),
      wakers.depth(),
      heartbeats.alive(),
      sinceSweep(redis, keys, all),
      options.scheduleTotals(),
      options.webhookTotals(),
      totals,
    ]);
    const withRole = (role: Role): number => alive.filter(({ roles }) => roles.includes(role)).length;
    return {
      lanes: snapshots,
      jobs,
      workers: perName(ROLES, withRole),
      sinceSweep: swept === null ? null : exactDuration(swept),
      schedules,
      webhooks,
    };
  });
  return { fleetSnapshot };
}

/** A lane with campaigns that is not configured in this process. */
export interface UnconfiguredLane {
  readonly id: string;
  readonly name: string;
  readonly campaigns: CampaignCounts['campaigns'];
}

/** The lanes that have campaigns and are not configured in this process, because they were renamed or removed there. */
export async function unconfiguredLanes({
  redis,
  keys,
  finder,
}: Pick<FleetReaderOptions, 'redis' | 'keys'> & {
  readonly finder: Pick<LaneFinder, 'configured' | 'nameOf'>;
}): Promise<UnconfiguredLane[]> {
  const configured = new Set([...(await finder.configured()).values()].map(({ id }) => id));
  const ids = (await redis.smembers(keys.lanes)).filter((id) => !configured.has(id));
  const counted = await Promise.all(
    ids.sort().map(async (id) => {
      const { campaigns, counts } = await countCampaigns(redis, keys, id);
      return { id, name: await finder.nameOf(id), campaigns, counts };
    }),
  );
  return counted.flatMap(({ counts, ...lane }) => {
    const isEmpty = [counts, lane.campaigns].every((each) =>
      Object.values(each).every((count) => count === 0),
    );
    return isEmpty ? [] : [lane];
  });
}

/** Calls `run` so rarely that it takes at most its share of the time. Meanwhile it returns the last result. */
export function rateLimited<Result>(run: () => Promise<Result>, monotonic: Clock): () => Promise<Result> {
  let last: { readonly result: Result; readonly validUntil: number } | undefined;
  return async () => {
    const began = monotonic();
    if (last !== undefined && began < last.validUntil) return last.result;
    const result = await run();
    const now = monotonic();
    last = { result, validUntil: now + (now - began) * (1 / MAX_READING_SHARE - 1) };
    return result;
  };
}

async function notificationSnapshot(redis: Redis, keys: Keys, lane: LaneId): Promise<NotificationSnapshot> {
  const [{ state, heardAt, now }, unmatched] = await Promise.all([
    subscriptionStatusStore(redis, keys, lane).read(),
    redis.zcard(keys.lane(lane, 'waiting')),
  ]);
  return {
    subscription: state === '' ? null : state,
    sinceLast: heardAt === 0 ? null : exactDuration(now - heardAt),
    unmatched,
  };
}

function causeOf(view: LaneStatusRecord): ClosedCause | null {
  const first = firstClosed(view, OF_LANE)?.cause;
  if (first === undefined) return null;
  if (first === 'held') return 'operator';
  return first === 'recovering' || first === 'unbounded' ? 'recovery' : first;
}

/** The totals of a lane's stored campaigns. */
export interface CampaignCounts {
  readonly campaigns: Readonly<Record<CampaignState, number>>;
  /** Recipients, and messages of outboxes but for those that wait. */
  readonly counts: Readonly<Record<RecipientState, number>>;
  /** Requests sent for these campaigns, and for messages of outboxes. */
  readonly requests: { readonly send: number; readonly poll: number };
}

const storedState = z.object({
  state: z.enum(CAMPAIGN_STATES),
  counts: z.record(z.string(), z.number()),
  requests: REQUESTS,
  launchAt: z.number(),
  endedAt: z.number(),
  pauseReason: z.string(),
  pausedAt: z.number(),
  outbox: z.string().optional(),
});
/** Null for one that cannot be read. */
function readableOf(json: string): CountedCampaign | null {
  try {
    return storedState.parse(stateMembers(json));
  } catch {
    return null;
  }
}

/** What a count reads of a campaign, or of an outbox. */
export type CountedCampaign = z.output<typeof storedState>;

/** Campaigns per read: about 0.1 MB. */
const READ_AT_ONCE = 500;

/**
 * Adds up the campaigns and the outboxes of a lane, some at a time, so that even very many do not block Redis. `note` is called with each of
 * them.
 */
export async function countCampaigns(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  note: (id: string, state: CountedCampaign) => void = () => {},
): Promise<CampaignCounts> {
  const campaigns = perName(CAMPAIGN_STATES, () => 0);
  const recipients = perName(RECIPIENT_STATES, () => 0);
  const requests = { send: 0, poll: 0 };
  // An entry may come twice.
  const seen = new Set<string>();
  for await (const [id, json] of hashEntries(redis, keys.lane(lane, 'states'), READ_AT_ONCE)) {
    if (seen.has(id)) continue;
    seen.add(id);
    const stored = readableOf(json);
    if (stored === null) continue;
    const { outbox, counts } = stored;
    if (outbox === undefined) campaigns[stored.state] += 1;
    for (const state of RECIPIENT_STATES)
      if (outbox === undefined || state !== 'planned') recipients[state] += counts[state] ?? 0;
    requests.send += stored.requests.send ?? 0;
    requests.poll += stored.requests.poll ?? 0;
    note(id, stored);
  }
  return { campaigns, counts: recipients, requests };
}
