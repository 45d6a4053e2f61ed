import pLimit from 'p-limit';
import { z } from 'zod';
import type { Random } from '../../base/clock.js';
import type { ClaimingProcess } from '../claim/claim-reply.js';
import { statusesKey } from '../recipients/campaign-keys.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../scripts/script-events.js';
import { SEND_EFFECTS } from '../sending/effects.js';
import type { RecentClaim, RecentClaims } from '../sending/recent-claims.js';
import type { SendClaim } from '../sending/send-claim.js';
import { settleSends } from '../sending/settlements.js';

const barrierScript = laneScript(
  import.meta.url,
  './recovery-barrier.lua',
  (reply): BarrierReply => {
    const [lossName, events] = z.tuple([z.string(), z.string()]).parse(reply);
    return { lossName, events: scriptEvents(events) };
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
  readonly lossName: string;
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
  /** Its requests that Redis has lost, and that no settlement counts. */
  readonly sends?: number;
  readonly now?: number | undefined;
}

const NO_DETAILS = { kept: 0, after: '', restored: 0, polls: 0, sends: 0 };

/** Reports to a lane's recovery barrier. Safe to repeat. */
export const reportToBarrier = (
  store: LaneStore,
  action: BarrierReport,
  self: ClaimingProcess,
  { now, ...details }: BarrierDetails = {},
): Promise<BarrierReply> => barrierScript(store, { action, ...NO_DETAILS, ...self, ...details, time: now });

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

const replayReply = z.enum(['known', 'restored', 'settled', 'uncounted']);
const replayScript = laneScript(import.meta.url, './replay-claim.lua', (reply) => replayReply.parse(reply));

/**
 * Restores a claim if Redis has lost it. Safe to repeat. `now` is for tests and simulations. `settled`: there is nothing to restore, because
 * all recipients of its range have moved on. `uncounted`: so it is, or they are unknown, and no settlement will count its request.
 */
export const replayClaim = (
  store: LaneStore,
  { number, turn, campaign, first, count, message = '', edition = 0, again, firstAt = 0 }: SendClaim,
  now?: number,
): Promise<z.output<typeof replayReply>> =>
  replayScript(
    store,
    { number, turn, id: campaign, first, count, message, edition, again: again ?? '', firstAt, time: now },
    [statusesKey(store.keys, store.id, campaign)],
  );

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
 * may have lost what was replayed before, so all are replayed again. Returns how many claims were lost. If one of them cannot be replayed,
 * the others are, but this process counts as lost: its recipients may have been sent to.
 * The order matters: a batch may have been claimed, released, and claimed again, and only the last claim counts.
 */
export async function replayClaims(lane: ReplayedLane, recent: RecentClaims): Promise<number> {
  const report = async (action: BarrierReport, details: BarrierDetails = {}): Promise<string> => {
    const { lossName, events } = await lane.retry(() => reportToBarrier(lane, action, recent.self, details));
    lane.emit(events);
    return lossName;
  };
  let [restored, last] = [0, await report('replaying')];
  let failure: { readonly error: unknown } | undefined;
  for (;;) {
    const lost: LostClaims = new Map();
    const all = recent.all();
    for (let from = 0; from < all.length; from += CLAIMS_AT_ONCE) {
      const some = all.slice(from, from + CLAIMS_AT_ONCE);
      await lane
        .retry(() => replaySome(lane, some, lost))
        .catch((error: unknown) => {
          failure ??= { error };
        });
    }
    if (failure !== undefined) {
      lane.emit([{ type: 'replayFailed', reason: String(failure.error) }]);
      throw failure.error;
    }
    restored += lost.size;
    const [after, sends] = [last, [...lost.values()].filter(Boolean).length];
    last = await report('replayed', { after, restored: lost.size, polls: recent.polls, sends });
    if (last === after) return restored;
  }
}

/** The claims that were lost, by number and turn: whether they have made a request that no settlement counts. */
type LostClaims = Map<string, boolean>;

/** A claim that does not exist; the scripts ignore it. */
const NO_CLAIM = { number: 0, turn: '', campaign: '', first: 0, count: 0 };

/** Replays some claims, and notes which of them were lost. If it rejects, some are there: a repeated attempt finds them known. */
async function replaySome(
  lane: ReplayedLane,
  claims: readonly RecentClaim[],
  lost: LostClaims,
): Promise<void> {
  // A new server has no scripts cached. Load both first: a script that is sent again with its text would arrive out of order.
  await replayClaim(lane, NO_CLAIM);
  await settleSends(lane, [{ claim: NO_CLAIM, result: 'released' }], 0);
  await Promise.all(
    claims.map(async ({ claim, settlement }) => {
      const name = `${claim.number} ${claim.turn}`;
      const isMade = settlement === undefined || SEND_EFFECTS[settlement.result].ledger !== 'none';
      const replaying = replayClaim(lane, claim).then((result) => {
        // An attempt before may have restored it, and its settlement has counted it.
        if (lost.has(name) || (result !== 'restored' && result !== 'uncounted')) return;
        lost.set(name, isMade && result === 'uncounted');
      });
      // No need to await the replay first: a settled claim ignores a second settlement.
      const settling = settlement && settleSends(lane, [settlement], lane.random());
      const [, settled] = await Promise.all([replaying, settling]);
      if (settled !== undefined) lane.emit(settled.events);
    }),
  );
}
