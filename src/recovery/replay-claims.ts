import type { Lane } from '../lane/lane.js';
import type { ScriptEvent } from '../lane/script-events.js';
import type { Memory, Remembered } from '../sending/recent-claims.js';

/** Claims told in one go: the connection keeps their order, so none waits for the answer to the one before. */
const AT_ONCE = 200;

/**
 * Tells Redis, in the order they were made, what this process remembers of a lane's claims: those that are lost are
 * restored, and what became of them is settled again. Where nothing was lost this changes nothing. Then it answers the
 * roll, see crew.lua. Returns how many were restored.
 * The order matters: a batch may have been claimed, released and claimed again, and only the last word counts.
 */
export async function reassert(lane: Lane, memory: Memory): Promise<number> {
  const all = memory.all();
  let restored = 0;
  for (let from = 0; from < all.length; from += AT_ONCE) {
    restored += await lane.answered(() => tell(lane, all.slice(from, from + AT_ONCE)));
  }
  lane.tell(await lane.answered(() => lane.crew.told(memory.hand, restored, memory.polls)));
  return restored;
}

/** Where a claim's answer says that Redis has forgotten, it is told at once, for the grace that claims wait is short. */
export function tellAgain(lane: Lane, memory: Memory, events: readonly ScriptEvent[]): void {
  if (events.some(({ type }) => type === 'forgot')) memory.telling(reassert(lane, memory));
}

/** Names no claim. */
const NOBODY = { number: 0, campaign: '', first: 0, count: 0 };

async function tell(lane: Lane, remembered: readonly Remembered[]): Promise<number> {
  // A server that took over knows no script: one that is sent again with its text would come too late for its place.
  await lane.reassert(NOBODY);
  await lane.settlements.send([{ claim: NOBODY, as: 'unsent' }], 0);
  const answers = await Promise.all(
    remembered.map(async ({ claim, settlement }) => {
      const answer = lane.reassert(claim);
      // A claim that is settled already takes no second settlement, so this need not wait to know.
      const settled = settlement && lane.settlements.send([settlement], lane.random());
      const [word, done] = await Promise.all([answer, settled]);
      if (done !== undefined) lane.tell(done.events);
      return word;
    }),
  );
  return answers.filter((answer) => answer === 'restored').length;
}
