import type { Lane } from '../lane/lane.js';
import type { RecentClaims, Remembered } from '../sending/recent-claims.js';
import { settleSends } from '../sending/settlements.js';
import { laneCrew } from './recovery-barrier.js';
import { replayClaim } from './replay-claim.js';

/** Claims told in one go: the connection keeps their order, so none waits for the answer to the one before. */
const AT_ONCE = 200;

/**
 * Tells Redis, in the order they were made, what this process remembers of a lane's claims: those that are lost are
 * restored, and what became of them is settled again. Where nothing was lost this changes nothing. Then it answers the
 * roll, see crew.lua. Returns how many were restored.
 * The order matters: a batch may have been claimed, released and claimed again, and only the last word counts.
 */
export async function replayClaims(lane: Lane, recent: RecentClaims): Promise<number> {
  const all = recent.all();
  let restored = 0;
  for (let from = 0; from < all.length; from += AT_ONCE) {
    restored += await lane.answered(() => tell(lane, all.slice(from, from + AT_ONCE)));
  }
  lane.tell(await lane.answered(() => laneCrew(lane).replayed(recent.self, restored, recent.polls)));
  return restored;
}

/** Names no claim. */
const NO_CLAIM = { number: 0, campaign: '', first: 0, count: 0 };

async function tell(lane: Lane, remembered: readonly Remembered[]): Promise<number> {
  // A server that took over knows no script: one that is sent again with its text would come too late for its place.
  await replayClaim(lane, NO_CLAIM);
  await settleSends(lane, [{ claim: NO_CLAIM, result: 'released' }], 0);
  const answers = await Promise.all(
    remembered.map(async ({ claim, settlement }) => {
      const answer = replayClaim(lane, claim);
      // A claim that is settled already takes no second settlement, so this need not wait to know.
      const settled = settlement && settleSends(lane, [settlement], lane.random());
      const [word, done] = await Promise.all([answer, settled]);
      if (done !== undefined) lane.tell(done.events);
      return word;
    }),
  );
  return answers.filter((answer) => answer === 'restored').length;
}
