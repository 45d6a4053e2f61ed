import { expect, test } from 'vitest';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';

const polls = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ number: from + at, campaign: 'c', first: at }));

test('Polls made right before Redis became unavailable are counted, however long it is away', () => {
  let now = 0;
  const recent = recentClaims(() => now);
  recent.polled(polls(1, 5));
  now = 60_000;
  recent.polled(polls(6, 7));
  now = 120_000;
  recent.polled([]);
  expect(recent.polls).toBe(7);
});

const MINUTE = 60_000;

/** The memory of a process whose clock a test sets. `restored`: how many lost claims its next replay restores. */
function memoryAt(restored = 0) {
  const time = { now: 0 };
  const recent = recentClaims(
    () => time.now,
    undefined,
    async () => restored,
  );
  const claimed = (...numbers: readonly number[]): void =>
    recent.claimed(numbers.map((number) => ({ number, turn: 't', campaign: 'c', first: number, count: 1 })));
  return {
    time,
    recent,
    claimed,
    /** Claims and settles at once. */
    sent(...numbers: readonly number[]): void {
      claimed(...numbers);
      for (const { claim, settlement } of recent.all())
        if (settlement === undefined) recent.settled({ claim, result: 'released' });
    },
    numbers: () => recent.all().map(({ claim }) => claim.number),
  };
}

test('Claims are remembered however long Redis is away, whatever it answers when it is back', () => {
  const it = memoryAt();
  it.sent(1, 2);
  it.time.now = 10 * MINUTE;
  // It has lost data, so it gives no claims.
  it.claimed();
  expect(it.numbers()).toEqual([1, 2]);
  it.claimed(3);
  expect(it.numbers()).toEqual([1, 2, 3]);
});

test('Claims are forgotten when Redis has given others so much later that it cannot lose the earlier ones any more', () => {
  const it = memoryAt();
  it.sent(1);
  it.time.now = 1.5 * MINUTE + 1;
  it.sent(2);
  it.time.now += 1;
  it.sent(3);
  expect(it.numbers()).toEqual([2, 3]);
});

test('A claim that is settled late is remembered until Redis cannot lose its settlement any more', () => {
  const it = memoryAt();
  it.claimed(1);
  it.time.now = MINUTE;
  it.sent();
  for (const now of [1.6, 2.4]) {
    it.time.now = now * MINUTE;
    it.claimed(now);
  }
  expect(it.numbers()).toContain(1);
  for (const now of [2.6, 2.7]) {
    it.time.now = now * MINUTE;
    it.claimed(now);
  }
  expect(it.numbers()).not.toContain(1);
});

test('A claim whose turn failed before its settlement is forgotten, and does not keep those that follow it', () => {
  const it = memoryAt();
  it.claimed(1);
  it.sent();
  it.claimed(2);
  for (const now of [1, 16, 17, 18]) {
    it.time.now = now * MINUTE;
    it.claimed(now + 100);
    const [claim] = it.recent.all().slice(-1);
    if (claim !== undefined) it.recent.settled({ claim: claim.claim, result: 'released' });
  }
  expect(it.numbers()).toEqual([116, 117, 118]);
});

test.each([
  ['A replay after a broken connection makes the claims that it restores recent', 2, 'reconnected'],
  ['A replay after a loss makes all claims recent, because Redis may lose them again', 0, 'announced'],
] as const)('%s', async (_, restored, why) => {
  const it = memoryAt(restored);
  it.sent(1, 2);
  it.time.now = MINUTE;
  if (why === 'announced') it.recent.replayOnce('loss');
  else it.recent.replay();
  await it.recent.replayed;
  for (const now of [1.6, 1.7, 2.4]) {
    it.time.now = now * MINUTE;
    it.sent(now);
  }
  expect(it.numbers()).toEqual([1, 2, 1.6, 1.7, 2.4]);
});

test('Polls that are counted again after a loss are as recent as that, because Redis may lose their count again', async () => {
  const it = memoryAt();
  it.recent.polled(polls(1, 5));
  it.time.now = 8_000;
  it.recent.replayOnce('loss');
  await it.recent.replayed;
  it.time.now = 12_000;
  it.recent.polled(polls(6, 1));
  expect(it.recent.polls).toBe(6);
});

test('A process waits for every replay that begins before the one that it waits for has ended', async () => {
  const running: (() => void)[] = [];
  const recent = recentClaims(
    () => 0,
    undefined,
    () => new Promise((resolve) => void running.push(() => resolve(0))),
  );
  recent.replay();
  const order: string[] = [];
  const waiting = recent.replayed.then(() => order.push('claims'));
  recent.replay();
  const ended = async (at: number): Promise<void> => {
    await expect.poll(() => running[at]).toBeDefined();
    order.push(`replay ${at + 1} ends`);
    running[at]?.();
  };
  await ended(0);
  await ended(1);
  await waiting;
  expect(order).toEqual(['replay 1 ends', 'replay 2 ends', 'claims']);
});
