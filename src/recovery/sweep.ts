import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import pLimit from 'p-limit';
import type { Events } from '../events/events.js';
import { settlePolls } from '../follow-up/settlements.js';
import type { Lane } from '../lane/lane.js';
import type { Wakers } from '../lane/queues.js';
import { wakeLane } from '../lane/wake.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { settleSends } from '../sending/settlements.js';
import { resolveBatches } from '../sending/unknown.js';
import { sweepLaneState } from './sweep-lane.js';

/** Whoever lives sweeps; one at a time is enough. */
const EVERY_MS = 2_000;
/** How long it is known when lanes were swept last: longer than anybody lets it lie. */
const KNOWN_MS = 86_400_000;
/** Of a lane's old campaigns: one takes a dozen commands, one after the other. */
const REMOVED_AT_A_TIME = 20;

/** What {@link startSweep} goes by. */
export interface SweepOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lanes: readonly Lane[];
  readonly wakers: Wakers;
  readonly events: Events;
  readonly retentionMs: number;
  /** The processes that give signs of life. */
  alive(): Promise<readonly string[]>;
  /** Removes an import that died, with its idempotency key. */
  discardImport(lane: string, id: string): Promise<void>;
  /** Removes all data of a campaign. */
  removeCampaign(lane: string, id: string): Promise<unknown>;
}

/**
 * Puts right what jobs and owners left behind, every two seconds: overdue claims become unknown, policies are applied,
 * what is due is launched or lapses, dead imports and old campaigns go, and a lane with work gets its job.
 */
export function startSweep(options: SweepOptions): { stop(): Promise<void> } {
  const { redis, keys, lanes, events } = options;
  const me = `${hostname()}-${process.pid}`;
  const digest = digestOf(lanes);
  const lease = keys.sweeper(digest);
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();

  const round = async (): Promise<void> => {
    try {
      const taken = await redis.set(lease, me, 'PX', EVERY_MS - 100, 'NX');
      if (taken !== 'OK') return;
      const alive = await options.alive();
      await Promise.all(lanes.map((lane) => sweepLane(lane, options, alive)));
      await redis.set(keys.swept(digest), me, 'PX', KNOWN_MS);
    } catch (error) {
      events.emit({
        type: 'sweep.failed',
        error: error instanceof Error ? error : new Error(String(error)),
      });
    }
  };
  const next = (): void => {
    if (isStopped) return;
    timer = setTimeout(() => {
      running = round().then(next);
    }, EVERY_MS);
  };
  next();

  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Processes that know the same lanes sweep them together. */
function digestOf(lanes: readonly Lane[]): string {
  const names = lanes.map(({ name }) => name).sort();
  return createHash('sha256').update(JSON.stringify(names)).digest('base64url').slice(0, 12);
}

/** How long ago the last sweep of just these lanes was done, by the clock of Redis, ms; null if none was within a day. */
export async function sweptAgoMs(redis: Redis, keys: Keys, lanes: readonly Lane[]): Promise<number | null> {
  const left = await redis.pttl(keys.swept(digestOf(lanes)));
  return left < 0 ? null : KNOWN_MS - left;
}

/** Sweeps one lane once. */
export async function sweepLane(
  lane: Lane,
  options: SweepOptions,
  alive: readonly string[] = [],
): Promise<void> {
  const found = await sweepLaneState(lane, options.retentionMs, alive);
  lane.emit(found.events);
  if (found.overdueSends.length > 0) {
    const reason = 'its worker died or lost Redis before it could say';
    const entries = found.overdueSends.map(
      (claim) => ({ claim, result: 'unknown', reason, overdue: true }) as const,
    );
    lane.emit((await settleSends(lane, entries, lane.random())).events);
  }
  if (found.overduePolls.length > 0) {
    const entries = found.overduePolls.map(
      (claim) => ({ claim, result: 'unanswered', overdue: true }) as const,
    );
    lane.emit((await settlePolls(lane, entries, lane.random())).events);
  }
  const { unknownOutcome } = lane.settings;
  if (found.resolvable.length > 0 && unknownOutcome.action !== 'hold') {
    const reason = `${unknownOutcome.action === 'abandon' ? 'abandoned' : 'sent again'} by the lane's policy`;
    const others = found.resolvable.filter(({ isSuppressed }) => !isSuppressed);
    lane.emit((await resolveBatches(lane, unknownOutcome.action, reason, others)).events);
    // They can never be sent to again: they would come back each time, and their campaign would not end.
    const suppressed = found.resolvable.filter(({ isSuppressed }) => isSuppressed);
    const givenUp = "suppressed before it was sent again by the lane's policy";
    lane.emit((await resolveBatches(lane, 'abandon', givenUp, suppressed)).events);
  }
  for (const id of found.deadImports) await options.discardImport(lane.name, id);
  const limit = pLimit(REMOVED_AT_A_TIME);
  await limit.map(found.expired, (id) => options.removeCampaign(lane.name, id));
  await wakeLane(lane, options.wakers);
}
