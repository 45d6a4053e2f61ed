import { expect, test } from 'vitest';
import { lastDeparture } from '../../src/lane/send-deadline.js';

/** With a margin of 500 ms a claim is confirmed from that age, and is overdue 3,500 ms after it was made. */
const LANE = { rules: { timeout: 3_000, margin: 500 } };

/** A lane's clock and its Redis: each confirmation takes so long, and says so. */
function world(now: number, confirmations: readonly { takesMs: number; stands: boolean | Error }[]) {
  const left = [...confirmations];
  let time = now;
  return {
    left,
    monotonic: () => time,
    async confirm() {
      const next = left.shift();
      if (next === undefined) throw new RangeError('nobody expected to be asked');
      time += next.takesMs;
      if (next.stands instanceof Error) throw next.stands;
      return next.stands;
    },
  };
}

const departure = ({ monotonic, confirm }: ReturnType<typeof world>, claimedAt: number) =>
  lastDeparture(LANE, monotonic, claimedAt, confirm);

test('a young claim leaves without being confirmed, in time to be over before it is overdue', async () => {
  expect(await departure(world(1_500, []), 1_000)).toBe(4_500);
});

test('an older one is confirmed, and has until it is overdue all the same', async () => {
  const confirmed = world(1_501, [{ takesMs: 40, stands: true }]);
  expect(await departure(confirmed, 1_000)).toBe(4_500);
  expect(confirmed.left).toEqual([]);
});

test('a confirmation that was read too late is asked for again', async () => {
  const stopped = [
    { takesMs: 8_000, stands: true },
    { takesMs: 501, stands: true },
    { takesMs: 5, stands: true },
  ];
  const it = world(2_000, stopped);
  expect(await departure(it, 1_000)).toBe(4_500);
  expect(it.left).toEqual([]);
});

test('a claim that does not stand, or that nobody can ask about, does not leave', async () => {
  expect(await departure(world(2_000, [{ takesMs: 5, stands: false }]), 1_000)).toBeUndefined();
  expect(await departure(world(2_000, [{ takesMs: 5, stands: new Error('closed') }]), 1_000)).toBeUndefined();
  const lost = [
    { takesMs: 8_000, stands: true },
    { takesMs: 5, stands: false },
  ];
  expect(await departure(world(2_000, lost), 1_000)).toBeUndefined();
});
