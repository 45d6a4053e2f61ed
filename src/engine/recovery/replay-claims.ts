import pLimit from 'p-limit';
import { z } from 'zod';
import type { Random } from '../../base/clock.js';
import type { ClaimingProcess } from '../claim/claim-reply.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../scripts/script-events.js';
import type { RecentClaim, RecentClaims } from '../sending/recent-claims.js';
import type { SendClaim } from '../sending/send-claim.js';
import { settleSends } from '../sending/settlements.js';

const barrierScript = laneScript(
  import.meta.url,
  './recovery-barrier.lua',
  (reply) => scriptEvents(z.string().parse(reply)),
  { comparesClock: true },
);

/**
 * What a process reports to a lane's recovery barrier (claim/workers.lua), so that Redis knows who may have made claims that it
 * has lost.
 * - `join`: before its first claim of a send. `attend`: before its first poll, if it never sends.
 * - `leave`: it has settled all its claims and makes no more.
 * - `replayed`: it has replayed all its recent claims.
 */
export type BarrierReport = 'join' | 'attend' | 'leave' | 'replayed';

/**
 * Reports to a lane's recovery barrier. Safe to repeat. With `replayed`, `restored` is the number of its claims that were lost, and
 * `polls` that of its recent polls. `now` is for tests and simulations.
 */
export const reportToBarrier = (
  store: LaneStore,
  action: BarrierReport,
  { process, seen, kept = 0, loss, replicaLoss }: ClaimingProcess,
  { restored = 0, polls = 0, now }: { restored?: number; polls?: number; now?: number } = {},
): Promise<readonly ScriptEvent[]> =>
  barrierScript(store, { action, process, seen, kept, restored, polls, loss, replicaLoss, time: now });

/** Lanes reported on at once. All of them at once would be one long write, during which the process does nothing else. */
const LANES_AT_ONCE = 50;

/** Reports to the barriers of many lanes. A report that fails is left to the lane's next claim. */
export async function reportToBarriers(
  served: Iterable<{ readonly lane: ReplayedLane; readonly recent: RecentClaims }>,
  action: BarrierReport,
): Promise<void> {
  const limited = pLimit(LANES_AT_ONCE);
  await Promise.allSettled(
    Array.from(served, ({ lane, recent }) =>
      limited(async () => lane.emit(await reportToBarrier(lane, action, recent.self))),
    ),
  );
}

/** What Redis does with a replayed claim. `settled`: all recipients of its range have moved on; nothing to restore. */
type ReplayResult = 'known' | 'restored' | 'settled' | 'missing';

const replayScript = laneScript(
  import.meta.url,
  './replay-claim.lua',
  (reply): ReplayResult => z.enum(['known', 'restored', 'settled', 'missing']).parse(reply),
);

/** Restores a claim if Redis has lost it. Safe to repeat. `now` is for tests and simulations. */
export const replayClaim = (
  store: LaneStore,
  { number, turn, campaign, first, count, again, firstAt }: SendClaim,
  now?: number,
): Promise<ReplayResult> =>
  replayScript(store, {
    number,
    turn,
    id: campaign,
    first,
    count,
    again: again ?? '',
    firstAt: firstAt ?? 0,
    time: now,
  });

/** Claims replayed at once. The connection keeps their order, so none waits for the reply to the one before. */
const CLAIMS_AT_ONCE = 200;

/** What replaying claims uses of a lane. */
interface ReplayedLane extends LaneStore {
  readonly random: Random;
  retry<Answer>(run: () => Promise<Answer>): Promise<Answer>;
  emit(events: readonly ScriptEvent[]): void;
}

/**
 * Replays this process's recent claims of a lane to Redis, in the order in which they were made: lost claims are restored and
 * settled again. If nothing was lost, this changes nothing. Then it reports to the recovery barrier. Returns how many claims
 * were restored.
 * The order matters: a batch may have been claimed, released, and claimed again, and only the last claim counts.
 */
export async function replayClaims(lane: ReplayedLane, recent: RecentClaims): Promise<number> {
  const all = recent.all();
  let restored = 0;
  for (let from = 0; from < all.length; from += CLAIMS_AT_ONCE) {
    restored += await lane.retry(() => replaySome(lane, all.slice(from, from + CLAIMS_AT_ONCE)));
  }
  const counts = { restored, polls: recent.polls };
  lane.emit(await lane.retry(() => reportToBarrier(lane, 'replayed', recent.self, counts)));
  return restored;
}

/** A claim that does not exist; the scripts ignore it. */
const NO_CLAIM = { number: 0, turn: '', campaign: '', first: 0, count: 0 };

async function replaySome(lane: ReplayedLane, claims: readonly RecentClaim[]): Promise<number> {
  // A new server has no scripts cached. Load both first: a script that is sent again with its text would arrive out of order.
  await replayClaim(lane, NO_CLAIM);
  await settleSends(lane, [{ claim: NO_CLAIM, result: 'released' }], 0);
  const results = await Promise.all(
    claims.map(async ({ claim, settlement }) => {
      const replaying = replayClaim(lane, claim);
      // No need to await the replay first: a settled claim ignores a second settlement.
      const settling = settlement && settleSends(lane, [settlement], lane.random());
      const [result, settled] = await Promise.all([replaying, settling]);
      if (settled !== undefined) lane.emit(settled.events);
      return result;
    }),
  );
  return results.filter((result) => result === 'restored').length;
}
