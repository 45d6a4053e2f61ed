/** The cost per recipient at several sizes: the same lanes with one campaign each, from the list to the last final status. */
import pLimit from 'p-limit';
import { type Cost, costBetween } from './cost.js';
import type { Setting } from './setting.js';

/** How many lists one process imports at a time. */
const IMPORTED_AT_A_TIME = 8;

export interface SizeFigures {
  readonly recipients: number;
  readonly importS: number;
  /** From the start of the first import to the end of the last campaign. */
  readonly wholeS: number;
  readonly cost: Cost;
}

/** `from` is the first unused number. */
export async function runSize(setting: Setting, recipients: number, from: number): Promise<SizeFigures> {
  const { fleet, laneNames } = setting;
  const each = Math.floor(recipients / laneNames.length);
  const endedBefore = await setting.ended(laneNames);
  const before = await setting.read();
  const began = performance.now();
  const limit = pLimit(IMPORTED_AT_A_TIME);
  await Promise.all(
    laneNames.map((lane, at) =>
      limit(async () => {
        const made = await fleet.volley.enqueue({
          lane,
          recipients: numbers(each, from + at * each),
          message: 'Spring sale: 20% off everything until Sunday. Reply STOP to opt out.',
          sender: '12345',
        });
        if (made.outcome !== 'created') throw new Error(`the campaign of ${lane} was ${made.outcome}`);
      }),
    ),
  );
  const importS = (performance.now() - began) / 1000;
  const zcard = await setting.untilEnded(laneNames, endedBefore + laneNames.length);
  const wholeS = (performance.now() - began) / 1000;
  const cost = costBetween(before, await setting.read(), { zcard });
  return { recipients: each * laneNames.length, importS, wholeS, cost };
}

const NUMBERS = 10_000_000;

/** British mobile numbers in a scattered order, like a list that has grown over years. */
export function* numbers(count: number, from: number): Generator<{ to: string }> {
  if (from + count > NUMBERS) throw new RangeError(`there are ${NUMBERS} numbers, not ${from + count}`);
  for (let at = from; at < from + count; at++) {
    yield { to: `+4477${10_000_000 + ((at * 7_654_321) % NUMBERS)}` };
  }
}
