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
  (reply): BarrierReply => {
    const [loss, events] = z.tuple([z.string(), z.string()]).parse(reply);
    return { loss, events: scriptEvents(events) };
  },
  { comparesClock: true },
);

/**
 * What a process reports to a lane's recovery barrier (claim/losses.lua), so that Redis knows who may have made claims that it
 * has lost.
 * - `join`: before its first claim of a send. `attend`: before its first poll, if it never sends.
 * - `leave`: it has settled all its claims and makes no more.
 * - `replaying`: it begins to replay its recent claims.
 * - `replayed`: it has replayed all of them. This counts only if Redis has lost nothing more since.
 */
export type BarrierReport = 'join' | 'attend' | 'leave' | 'replaying' | 'replayed';

/** The reply to a report: the name of the lane's last loss of data, '' if there was none, and the events. */
export interface BarrierReply {
  readonly loss: string;
  readonly events: readonly ScriptEvent[];
}

/** What comes with a report. `now` is for tests and simulations; the others belong to `replayed`. */
interface BarrierDetails {
  /** The last loss when this replay began. */
  readonly after?: string;
  /** Its claims that were lost. */
  readonly restored?: number;
  /** Its recent polls. */
  readonly polls?: number;
  readonly now?: number | undefined;
}

/** Reports to a lane's recovery barrier. Safe to repeat. */
export const reportToBarrier = (
  store: LaneStore,
  action: BarrierReport,
  { process, seen, kept = 0, loss, replicaLoss }: ClaimingProcess,
  { after = '', restored = 0, polls = 0, now }: BarrierDetails = {},
): Promise<BarrierReply> =>
  barrierScript(store, { action, process, seen, kept, after, restored, polls, loss, replicaLoss, time: now });

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
      limited(async () => lane.emit((await reportToBarrier(lane, action, recent.self)).events)),
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
  { number, turn, campaign, first, count, message = '', edition = 0, again, firstAt }: SendClaim,
  now?: number,
): Promise<ReplayResult> =>
  replayScript(store, {
    number,
    turn,
    id: campaign,
    first,
    count,
    message,
    edition,
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
 * settled again. If nothing was lost, this changes nothing. Then it reports to the recovery barrier. If Redis has lost data meanwhile, it
 * may have lost what was replayed before, so all are replayed again. Returns how many claims were restored.
 * The order matters: a batch may have been claimed, released, and claimed again, and only the last claim counts.
 */
export async function replayClaims(lane: ReplayedLane, recent: RecentClaims): Promise<number> {
  const report = async (action: BarrierReport, details: BarrierDetails = {}): Promise<string> => {
    const { loss, events } = await lane.retry(() => reportToBarrier(lane, action, recent.self, details));
    lane.emit(events);
    return loss;
  };
  const restored = new Set<string>();
  let last = await report('replaying');
  for (;;) {
    const all = recent.all();
    for (let from = 0; from < all.length; from += CLAIMS_AT_ONCE) {
      await lane.retry(() => replaySome(lane, all.slice(from, from + CLAIMS_AT_ONCE), restored));
    }
    const after = last;
    last = await report('replayed', { after, restored: restored.size, polls: recent.polls });
    if (last === after) return restored.size;
  }
}

/** A claim that does not exist; the scripts ignore it. */
const NO_CLAIM = { number: 0, turn: '', campaign: '', first: 0, count: 0 };

/** Replays some claims, and adds to `restored` which of them were lost. If it rejects, some are there: a repeated attempt finds them known. */
async function replaySome(
  lane: ReplayedLane,
  claims: readonly RecentClaim[],
  restored: Set<string>,
): Promise<void> {
  // A new server has no scripts cached. Load both first: a script that is sent again with its text would arrive out of order.
  await replayClaim(lane, NO_CLAIM);
  await settleSends(lane, [{ claim: NO_CLAIM, result: 'released' }], 0);
  await Promise.all(
    claims.map(async ({ claim, settlement }) => {
      const replaying = replayClaim(lane, claim).then((result) => {
        if (result === 'restored') restored.add(`${claim.number} ${claim.turn}`);
      });
      // No need to await the replay first: a settled claim ignores a second settlement.
      const settling = settlement && settleSends(lane, [settlement], lane.random());
      const [, settled] = await Promise.all([replaying, settling]);
      if (settled !== undefined) lane.emit(settled.events);
    }),
  );
}
