import { expect, test } from 'vitest';
import type { Stopwatch } from '../../../src/base/clock.js';
import { confirmPermit, grantPermit } from '../../../src/engine/claim/permit.js';

/** A claim older than the margin of 500 ms is confirmed; it is overdue after 3,500 ms. */
const LANE = { rules: { timeout: 3_000, margin: 500 } };

/** A lane's clock and its Redis: each confirmation takes `takesMs` and returns `holds`. */
function world(now: number, confirmations: readonly { takesMs: number; holds: boolean | Error }[]) {
  const left = [...confirmations];
  let time = now;
  const stopwatchFrom =
    (at: number): Stopwatch =>
    () =>
      time - at;
  return {
    left,
    now: () => time,
    pass: (ms: number) => {
      time += ms;
    },
    startStopwatch: (): Stopwatch => stopwatchFrom(time),
    /** A stopwatch that was started at this time. */
    stopwatchFrom,
    async confirm() {
      const next = left.shift();
      if (next === undefined) throw new RangeError('unexpected confirmation');
      time += next.takesMs;
      if (next.holds instanceof Error) throw next.holds;
      return next.holds;
    },
  };
}

/** When the permit of a claim made at this time expires; undefined if it gets none. */
async function notAfter(
  { startStopwatch, stopwatchFrom, confirm, ...it }: ReturnType<typeof world>,
  claimedAt: number,
): Promise<number | undefined> {
  const granted = grantPermit(LANE.rules, stopwatchFrom(claimedAt));
  const permit = await confirmPermit({ ...LANE, startStopwatch }, granted, confirm);
  if (permit === undefined) return undefined;
  while (!permit.isExpired()) it.pass(1);
  return it.now() - 1;
}

test('A young permit is not confirmed, and ends when its claim is overdue', async () => {
  expect(await notAfter(world(1_500, []), 1_000)).toBe(4_500);
});

test('An older permit is confirmed, and still ends when its claim is overdue', async () => {
  const confirmed = world(1_501, [{ takesMs: 40, holds: true }]);
  expect(await notAfter(confirmed, 1_000)).toBe(4_500);
  expect(confirmed.left).toEqual([]);
});

test('A confirmation that is read too late is requested again', async () => {
  const stopped = [
    { takesMs: 8_000, holds: true },
    { takesMs: 501, holds: true },
    { takesMs: 5, holds: true },
  ];
  const it = world(2_000, stopped);
  // The process was stopped until long after that.
  expect(await notAfter(it, 1_000)).toBe(10_505);
  expect(it.left).toEqual([]);
});

test('A claim that does not hold, or cannot be confirmed, gets no permit', async () => {
  expect(await notAfter(world(2_000, [{ takesMs: 5, holds: false }]), 1_000)).toBeUndefined();
  expect(await notAfter(world(2_000, [{ takesMs: 5, holds: new Error('closed') }]), 1_000)).toBeUndefined();
  const lost = [
    { takesMs: 8_000, holds: true },
    { takesMs: 5, holds: false },
  ];
  expect(await notAfter(world(2_000, lost), 1_000)).toBeUndefined();
});
