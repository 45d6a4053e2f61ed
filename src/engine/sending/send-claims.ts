import type { Random } from '../../base/clock.js';
import { claimArgs, claimReply, confirmClaim } from '../claim/claims.js';
import { grantPermit, NO_PERMIT } from '../claim/permit.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import type { SendClaim, SendClaims } from './send-claim.js';
import { settleSends } from './settlements.js';

/** A claim as Redis returns it. `closesAt`: when its window closes, or it lapses, by the clock of Redis, ms. */
type StoredClaim = Omit<SendClaim, 'leaveWithinMs'> & { readonly closesAt?: number | undefined };

const claimSend = laneScript(
  import.meta.url,
  './claim-send.lua',
  claimReply(
    ({ at, again, firstAt, ...claim }): StoredClaim => ({
      ...claim,
      ...(again === undefined ? { firstAt: at } : { again, firstAt: firstAt ?? 0 }),
    }),
  ),
  { comparesClock: true },
);

/** The claims of a lane's batches in Redis. `random`: backoffs that {@link settleSends} begins vary by it; tests need none. */
export function sendClaims(store: LaneStore & { readonly random?: Random }): SendClaims {
  return {
    take: async (call) => {
      const { age = NO_PERMIT.age, mayLoseMs = 0, withReplicaMs = mayLoseMs } = call;
      const reply = await claimSend(store, { ...claimArgs(call), mayLoseMs, withReplicaMs });
      const claims = reply.claims.map(({ closesAt = Number.POSITIVE_INFINITY, ...claim }): SendClaim => {
        const isRepeat = claim.again === 'underCorrelator';
        const repeatUntil = isRepeat ? (claim.firstAt ?? 0) + store.rules.repeatFor : closesAt;
        const leaveWithinMs = Math.min(closesAt - 1, repeatUntil) - reply.now;
        return leaveWithinMs === Number.POSITIVE_INFINITY ? claim : { ...claim, leaveWithinMs };
      });
      return { ...reply, claims, permit: grantPermit(store.rules, age) };
    },
    confirm: (claim) => confirmClaim(store, 'send', claim),
    settle: (settlements) => settleSends(store, settlements, store.random?.() ?? 0),
  };
}
