import { perName } from '../campaign/per-name.js';
import type { LaneStatus } from '../campaign/views.js';
import type { Clock } from '../clock.js';
import type { Lane } from '../lane/lane.js';
import type { LaneView } from '../lane/lane-status.js';
import type { Depth, Queues, Stage } from '../lane/queues.js';
import { coalesced } from '../lane/single-flight.js';
import {
  callbackState,
  SUBSCRIPTION_STATES,
  type SubscriptionState,
} from '../notifications/callback-state.js';
import { ROLES, type Role, type Roster } from '../recovery/heartbeats.js';
import { sweptAgoMs } from '../recovery/sweep.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { type CampaignCounts, countCampaigns } from './campaign-counts.js';
import { laneStatus } from './status.js';

/**
 * Why a lane starts nothing, or only a probe; its status has sentences for it. `throttled`: by 429; `unreachable`: no
 * answers; `redis`: Redis forgot something; `operator`: held by one; `answer`: stopped by one that no retry mends.
 */
export const CAUSES = ['throttled', 'unreachable', 'redis', 'operator', 'answer'] as const;
/** See {@link CAUSES}. */
export type Cause = (typeof CAUSES)[number];

/** A lane with what its campaigns come to. */
export interface LaneSnapshot extends CampaignCounts {
  readonly status: LaneStatus;
  /** Null while it is open. One that probes still has the cause of its pause. */
  readonly cause: Cause | null;
  /** How long the accepted request that is due first has been due, ms; 0 while none is. */
  readonly pollOverdueMs: number;
  readonly notifications: Notifications;
}

/** How a lane's notifications stand. */
export interface Notifications {
  /** Whose subscription was there when it was last looked at; null if it never was. */
  readonly subscription: SubscriptionState | null;
  /** Since one came; null if none has. */
  readonly heardAgoMs: number | null;
  /** Ids of requests that were notified of and that nobody knows yet. */
  readonly early: number;
}

export { SUBSCRIPTION_STATES };

/** Everything that is there, counted; for metrics. */
export interface FleetSnapshot {
  readonly lanes: readonly LaneSnapshot[];
  /** Jobs of lanes, of each stage. */
  readonly jobs: Readonly<Record<Stage, Depth>>;
  /** Worker processes alive, of each role. */
  readonly workers: Readonly<Record<Role, number>>;
  /** Since the last sweep of these lanes was done; null if none was within a day. */
  readonly sweptAgoMs: number | null;
}

/** What {@link createFleetSnapshot} goes by. */
export interface FleetSnapshotOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly wakers: Pick<Queues, 'depth'>;
  readonly roster: Pick<Roster, 'alive'>;
  readonly monotonic: Clock;
}

/** Of the time, the most that goes into reading campaigns: of a hundred thousand that are kept it takes a second or two. */
const SHARE = 0.05;

/** Counts everything; who asks meanwhile shares the next answer. Of very many campaigns the counts may be a minute old. */
export function createFleetSnapshot(options: FleetSnapshotOptions): () => Promise<FleetSnapshot> {
  const { redis, keys, lanes, wakers, roster, monotonic } = options;
  const counters = new Map(
    [...lanes.keys()].map((name) => [name, sparing(() => countCampaigns(redis, keys, name), monotonic)]),
  );
  const countLane = async (lane: Lane): Promise<LaneSnapshot> => {
    const [view, counts, notifications] = await Promise.all([
      lane.look(),
      counters.get(lane.name)?.() ?? countCampaigns(redis, keys, lane.name),
      notificationsOf(redis, keys, lane.name),
    ]);
    return {
      status: laneStatus(lane, view),
      cause: causeOf(view),
      pollOverdueMs: view.pollDueAt === 0 ? 0 : Math.max(0, view.now - view.pollDueAt),
      notifications,
      ...counts,
    };
  };
  return coalesced(async () => {
    const all = [...lanes.values()];
    const [counted, jobs, alive, swept] = await Promise.all([
      Promise.all(all.map(countLane)),
      wakers.depth(),
      roster.alive(),
      sweptAgoMs(redis, keys, all),
    ]);
    const withRole = (role: Role): number => alive.filter(({ roles }) => roles.includes(role)).length;
    const workers = perName(ROLES, withRole);
    return { lanes: counted, jobs, workers, sweptAgoMs: swept };
  });
}

/** Runs no more often than leaves it its share of the time; in between the last answer stands. */
function sparing<Answer>(run: () => Promise<Answer>, monotonic: Clock): () => Promise<Answer> {
  let last: { readonly answer: Answer; readonly until: number } | undefined;
  return async () => {
    const began = monotonic();
    if (last !== undefined && began < last.until) return last.answer;
    const answer = await run();
    const now = monotonic();
    last = { answer, until: now + (now - began) * (1 / SHARE - 1) };
    return answer;
  };
}

async function notificationsOf(redis: Redis, keys: Keys, lane: string): Promise<Notifications> {
  const [{ state, heardAt, now }, early] = await Promise.all([
    callbackState(redis, keys, lane).read(),
    redis.zcard(keys.lane(lane, 'waiting')),
  ]);
  return {
    subscription: state === '' ? null : state,
    heardAgoMs: heardAt === 0 ? null : Math.max(0, now - heardAt),
    early,
  };
}

function causeOf(view: LaneView): Cause | null {
  if (view.stopped !== '') return 'answer';
  if (view.held !== '') return 'operator';
  if (view.graceUntil > view.now) return 'redis';
  if (view.paused === '') return null;
  return view.paused === 'throttled' ? 'throttled' : 'unreachable';
}
