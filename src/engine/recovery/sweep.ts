import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { z } from 'zod';
import { type Clock, monotonicClock, type Random, systemAlarm, systemMachine } from '../../base/clock.js';
import type { LaneRules } from '../../base/config/index.js';
import { exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { luaList } from '../../base/redis/script.js';
import { isSlotMoving } from '../../base/redis/unavailable.js';
import { type RepeatingTask, repeating } from '../../base/repeating.js';
import { claimShape } from '../claim/claims.js';
import type { Charge } from '../claim/settlement.js';
import { settlePolls } from '../follow-up/settlements.js';
import { dueForOthers, markDue, returnDue, takeDue } from '../jobs/due.js';
import { type Wakers, wakeLane } from '../jobs/wake.js';
import { orNull } from '../recipients/damaged.js';
import { correctClock, type LaneStore, laneScript } from '../scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../scripts/script-events.js';
import { createServerClock } from '../scripts/server-clock.js';
import type { NamedBatch } from '../sending/campaign-content.js';
import { settleSends } from '../sending/settlements.js';
import { resolveBatches } from '../sending/unknown.js';
import { progressFollower } from './follow-progress.js';
import type { WorkerProcess } from './heartbeats.js';
import { lapseUnserved } from './unserved.js';
import { computeWindows, type OpeningsOf } from './windows.js';

/** How often a process looks for due lanes. */
const EVERY_MS = 2_000;
/** How long a lane with nothing to do is left alone, in case an entry of its due time was lost. */
const IDLE_MS = 600_000;
/** How often to look for lanes that no process serves. */
const UNSERVED_EVERY_MS = 5_000;
/** Lanes that a process takes, and sweeps in parallel. Other processes can take the rest. */
const LANES_AT_ONCE = 200;
const SWEEPS_AT_ONCE = 50;
/** How long the time of the last sweep is kept. */
const KEEP_MS = 86_400_000;
/** A slot with much data takes seconds to move. */
const MOVE_MS = 10_000;
/** Campaigns of a lane removed in parallel. Each takes a dozen commands in sequence. */
const REMOVALS_AT_ONCE = 20;
/** Why the sweep settles a claim that is overdue. */
const OVERDUE = 'its worker died or lost Redis before it reported the outcome';

/** What the sweep uses of a lane. */
export interface SweptLane extends LaneStore {
  readonly name: string;
  readonly settings: Pick<LaneRules, 'unknownOutcome'>;
  readonly random: Random;
  readonly monotonic: Clock;
  status(): Promise<{ readonly now: number; readonly sendAt: number; readonly pollAt: number }>;
  emit(events: readonly ScriptEvent[]): void;
}

/** Options of {@link startSweep}. */
export interface SweepOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** The lanes that this process serves now. */
  lanes(): readonly SweptLane[];
  readonly wakers: Wakers;
  readonly events: Events;
  readonly retentionMs: number;
  /** The processes with a recent heartbeat. */
  alive(): Promise<readonly WorkerProcess[]>;
  /** Discards an import whose process died, and its idempotency key. */
  discardImport(lane: LaneId, id: string): Promise<void>;
  /** Has the outboxes of a lane forget what is old, and complete a change of their settings; by default there are none. */
  tendOutboxes?(lane: LaneId): Promise<void>;
  /**
   * Lets messages lapse in the outboxes of a lane that no process serves. Returns when to do so again, ms by the clock of Redis; null if
   * there is nothing to lapse. By default there are no outboxes.
   */
  lapseOutboxes?(lane: LaneId): Promise<number | null>;
  /** Acts on the messages of people that a dead process has left behind, and deletes old ones; by default there are none. */
  tendInbound?(lane: LaneId): Promise<void>;
  /** What the messages of a batch are charged for whose process has died. By default that is not known. */
  chargeOf?(lane: SweptLane, batch: NamedBatch & { readonly count: number }): Promise<Charge | undefined>;
  /** The openings of a window. Default: those of its rule. Tests pass their own. */
  readonly openingsOf?: OpeningsOf;
  /** Removes all data of a campaign. */
  removeCampaign(lane: LaneId, id: string): Promise<unknown>;
}

/** A running sweep. */
export interface Sweep extends Pick<RepeatingTask, 'stop'> {
  /** Makes every lane due: Redis may have lost the entries that say when. */
  checkAll(): void;
}

/**
 * Looks every two seconds for lanes that are due, and sweeps them: settles overdue claims as unknown, applies the policy for
 * unknown outcomes, launches and lapses campaigns, records how they go, tends outboxes, discards dead imports, removes old campaigns, and wakes lanes that have work.
 * One process sweeps a lane at a time. A process checks all of its lanes at its start, and when another worker has died.
 */
export function startSweep(options: SweepOptions): Sweep {
  const { redis, keys, events } = options;
  const served = (): ReadonlyMap<LaneId, SweptLane> =>
    new Map(options.lanes().map((lane) => [lane.id, lane]));
  let lanes = served();
  // Lanes that only other processes serve.
  const others = new Set<LaneId>();
  const moves = unfinishedMoves(options);
  const progress = progressFollower(options);
  let [longest, differing] = [0, ''];
  let isCheckDue = true;
  let [ensureAt, unservedAt] = [0, 0];
  const serverClock = createServerClock(systemMachine);
  let workers: readonly string[] = [];

  const failed = (error: unknown): void =>
    events.emit({ type: 'sweep.failed', error: error instanceof Error ? error : new Error(String(error)) });

  const compareWindows = (processes: readonly WorkerProcess[]): void => {
    const windows = quotaWindows(processes);
    longest = windows.longest;
    if (windows.differing === differing) return;
    differing = windows.differing;
    if (differing !== '')
      events.emit({ type: 'workers.windowsDiffer', processes: differing, used: exactDuration(longest) });
  };

  const markAll = async (): Promise<void> => {
    const processes = await options.alive();
    compareWindows(processes);
    const alive = processes.map(({ id }) => id);
    // Redis must forget a dead worker before it loses data again; see WORKERS.prune (claim/workers.lua).
    if (workers.some((worker) => !alive.includes(worker))) isCheckDue = true;
    workers = alive;
    if (isCheckDue) {
      isCheckDue = false;
      await markDue(options, [...lanes.keys()]);
    } else if (monotonicClock() >= ensureAt) {
      await markDue(options, [...lanes.keys()], (await serverTime(redis)) + IDLE_MS);
    } else return;
    ensureAt = monotonicClock() + IDLE_MS;
    others.clear();
  };

  const sweepTaken = async (): Promise<number> => {
    const taken = await takeDue(options, LANES_AT_ONCE, others);
    const dueAt = new Map<LaneId, number>();
    const limit = pLimit(SWEEPS_AT_ONCE);
    await limit.map(taken.lanes, async (id) => {
      const lane = lanes.get(id);
      if (lane === undefined) {
        others.add(id);
        dueAt.set(id, dueForOthers(taken, id));
        return;
      }
      const idle = taken.now + IDLE_MS * (0.8 + 0.2 * lane.random());
      const sweep = async (): Promise<number> =>
        Math.min(await sweepLane(lane, options, workers, longest), await progress.record(id, taken.now));
      const sweeping = moves.watch(lane, sweep());
      const at = await sweeping.catch((error: unknown) => {
        if (!isSlotMoving(error)) failed(error);
        return taken.now + EVERY_MS;
      });
      dueAt.set(id, Math.ceil(Math.min(at, idle)));
    });
    await returnDue(options, taken, dueAt);
    return taken.lanes.length;
  };

  const lookAtUnserved = async (): Promise<void> => {
    const { lapseOutboxes: lapse } = options;
    if (lapse === undefined || monotonicClock() < unservedAt) return;
    unservedAt = monotonicClock() + UNSERVED_EVERY_MS;
    await lapseUnserved({ redis, keys, serves: (lane) => lanes.has(lane), lapse: (lane) => lapse(lane) });
  };

  // Every process checks the clock of Redis, because one that has just started cannot tell whether it was changed.
  const checkClock = async (): Promise<void> => {
    let now = 0;
    const hasChanged = await serverClock.compare(async () => {
      now = await serverTime(redis);
      return now;
    });
    if (!hasChanged) return;
    // The lanes' due times are of the old clock.
    isCheckDue = true;
    const limit = pLimit(SWEEPS_AT_ONCE);
    await limit.map(
      [...lanes.values()].filter((lane) => lane.serverClock?.hasStepped(now)),
      (lane) => correctClock(lane),
    );
  };

  const round = async (): Promise<void> => {
    lanes = served();
    try {
      await checkClock();
      await markAll();
      while ((await sweepTaken()) === LANES_AT_ONCE && !task.isStopped);
      await lookAtUnserved();
      await redis.set(keys.swept(digestOf([...lanes.keys()])), '', 'PX', KEEP_MS);
    } catch (error) {
      isCheckDue = true;
      failed(error);
    }
  };
  const task = repeating(systemAlarm, round, { everyMs: EVERY_MS });

  return {
    checkAll() {
      isCheckDue = true;
    },
    stop: task.stop,
  };
}

/** The longest quota window of these processes, ms, or 0 if one does not publish its own; and who has which, if they differ. */
function quotaWindows(workers: readonly WorkerProcess[]): { longest: number; differing: string } {
  const windows = workers.map(({ settings }) => Number(settings['QUOTA_WINDOW_MS'] ?? Number.NaN));
  const longest = Math.max(0, ...windows);
  const list = workers.map(({ host, pid }, at) => `${host} ${pid} (${windows[at]} ms)`).sort();
  const differ = windows.some((window) => window !== longest && !Number.isNaN(window));
  return { longest: Number.isNaN(longest) ? 0 : longest, differing: differ ? list.join(', ') : '' };
}

/**
 * Reports a lane whose slot of the cluster has been on its way to another node for too long, once in the fleet until that is over.
 * Redis refuses scripts while some of a lane's keys are on either node, and would do so for ever if the reshard was interrupted.
 */
function unfinishedMoves({ redis, keys, events }: SweepOptions) {
  const since = new Map<LaneId, number>();
  return {
    /** Watches the sweep of a lane, and settles as it does. */
    async watch<Result>(lane: SweptLane, sweeping: Promise<Result>): Promise<Result> {
      const key = keys.unfinishedMove(lane.id);
      try {
        const result = await sweeping;
        if (since.delete(lane.id)) await redis.del(key);
        return result;
      } catch (error) {
        if (!isSlotMoving(error)) throw error;
        const began = since.get(lane.id) ?? lane.monotonic();
        since.set(lane.id, began);
        const forMs = lane.monotonic() - began;
        if (forMs >= MOVE_MS && (await redis.set(key, '', 'PX', KEEP_MS, 'NX')) === 'OK')
          events.emit({ type: 'redis.reshardUnfinished', lane: lane.name, for: exactDuration(forMs) });
        throw error;
      }
    },
  };
}

/** Identifies a set of lanes. Processes with the same lanes share the time of the last sweep. */
function digestOf(lanes: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(lanes.toSorted())).digest('base64url').slice(0, 12);
}

/** How long ago the last sweep of exactly these lanes ended, ms, by the clock of Redis; null if none ended in the last day. */
export async function sinceSweep(
  redis: Redis,
  keys: Keys,
  lanes: readonly { readonly id: LaneId }[],
): Promise<number | null> {
  const left = await redis.pttl(keys.swept(digestOf(lanes.map(({ id }) => id))));
  return left < 0 ? null : KEEP_MS - left;
}

const claim = claimShape.omit({ again: true });
/** `notAgain`: why the lane's policy does not send the batch again, such as that all its recipients are suppressed by now. */
const unknown = claim.extend({ notAgain: z.string().optional() });
const ids = luaList(z.string());
const findings = z.object({
  overdueSends: luaList(claim),
  overduePolls: luaList(claim),
  resolvable: luaList(unknown),
  deadImports: ids,
  expired: ids,
  outboxes: ids,
  windows: luaList(z.object({ rule: z.string(), usedAt: z.number() })),
  unusedWindows: ids,
  inbound: z.boolean().default(false),
  now: z.number(),
  dueAt: z.number().default(Number.POSITIVE_INFINITY),
});

/** What the sweep has to settle, resolve, discard, or remove. */
type SweepFindings = z.output<typeof findings> & { readonly events: readonly ScriptEvent[] };

const sweepReply = z.tuple([z.string(), z.string()]);
const sweepScript = laneScript(
  import.meta.url,
  './sweep-lane.lua',
  (reply): SweepFindings => {
    const [found, events] = sweepReply.parse(reply);
    return { ...findings.parse(JSON.parse(found)), events: scriptEvents(events) };
  },
  { comparesClock: true },
);

/**
 * Launches the campaigns of a lane that are due, lapses those that are too late, and lists what the sweep has to do.
 * `retentionMs`: how long an ended campaign is kept.
 * `alive`: the processes with a heartbeat; the lane forgets all others. `now` is for tests and simulations.
 */
export const sweepLaneState = (
  store: LaneStore,
  retentionMs: number,
  alive: readonly string[] = [],
  now?: number,
  longestWindowMs = 0,
): Promise<SweepFindings> =>
  sweepScript(store, {
    retention: retentionMs,
    alive: JSON.stringify(alive),
    longest: longestWindowMs,
    time: now,
  });

/**
 * Sweeps one lane once. Returns when it is due for the next sweep, ms by the clock of Redis; `Infinity` if it has nothing to do.
 */
export async function sweepLane(
  lane: SweptLane,
  options: SweepOptions,
  alive: readonly string[] = [],
  longestWindowMs = 0,
): Promise<number> {
  const swept = await sweepLaneState(lane, options.retentionMs, alive, undefined, longestWindowMs);
  lane.emit(swept.events);
  // First: what waits for a window whose openings are not known waits for this.
  await computeWindows(lane, swept, swept.now, options.openingsOf);
  if (swept.overdueSends.length > 0) {
    const entries = await Promise.all(
      swept.overdueSends.map(async (claim) => {
        const charge = await options.chargeOf?.(lane, claim);
        return { claim, result: 'unknown', reason: OVERDUE, overdue: true, charge } as const;
      }),
    );
    lane.emit((await settleSends(lane, entries, lane.random())).events);
  }
  if (swept.overduePolls.length > 0) {
    const entries = swept.overduePolls.map(
      (claim) => ({ claim, result: 'unanswered', reason: OVERDUE, overdue: true }) as const,
    );
    lane.emit((await settlePolls(lane, entries, lane.random())).events);
  }
  const { unknownOutcome } = lane.settings;
  if (swept.resolvable.length > 0 && unknownOutcome.action !== 'hold') {
    const reason = `${unknownOutcome.action === 'abandon' ? 'abandoned' : 'sent again'} by the lane's policy`;
    for (const why of new Set(swept.resolvable.map(({ notAgain }) => notAgain))) {
      const batches = swept.resolvable.filter(({ notAgain }) => notAgain === why);
      const { events } =
        why === undefined
          ? await resolveBatches(lane, unknownOutcome.action, reason, batches)
          : // Each resend would return these, and the campaign would never end.
            await resolveBatches(lane, 'abandon', `given up by the lane's policy: ${why}`, batches);
      lane.emit(events);
    }
  }
  if (swept.outboxes.length > 0) await options.tendOutboxes?.(lane.id);
  if (swept.inbound) await options.tendInbound?.(lane.id);
  for (const id of swept.deadImports) await orNull(options.discardImport(lane.id, id));
  const limit = pLimit(REMOVALS_AT_ONCE);
  // One that cannot be read is left for an operator.
  await limit.map(swept.expired, (id) => orNull(options.removeCampaign(lane.id, id)));
  // If the lane's job is lost, the next sweep adds it again.
  const turnAt = await wakeLane(lane, options.wakers);
  return Math.min(swept.dueAt, turnAt + EVERY_MS);
}
