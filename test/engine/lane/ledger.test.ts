import { describe, expect, test } from 'vitest';
import { sweepLaneState } from '../../../src/engine/recovery/sweep.js';
import { QUOTA_MODELS } from '../../../src/tools/simulator/quota-models.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from './lane-fixture.js';
import { runVirtually } from './virtual-service.js';

const { redis, prefix } = testRedis('ledger');
const LIMIT = 200;
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** Repeatable random numbers. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

describe.each(QUOTA_MODELS)('Against a service that counts by %s', (model) => {
  test('a known quota is used up to 99 % and never exceeded, whenever requests arrive', async () => {
    const chance = seeded(7);
    const lane = laneFixture(redis, prefix, `known-${model}`, { quota: LIMIT });
    await lane.campaign('c', 10_000);
    const run = await runVirtually(lane, model, LIMIT, 5, () => Math.floor(chance() * 29_000));
    expect(sum(run.throttled)).toBe(0);
    expect(sum(run.accepted) / (5 * LIMIT)).toBeGreaterThanOrEqual(0.99);
  });

  test('an unknown quota is learned: at most 6 refusals in a window, 1 once it is learned, 95 % used', async () => {
    const chance = seeded(11);
    const lane = laneFixture(redis, prefix, `auto-${model}`, { quota: 0 });
    await lane.campaign('c', 10_000);
    const run = await runVirtually(lane, model, LIMIT, 7, () => Math.floor(chance() * 500));
    expect(Math.max(...run.throttled.slice(0, 2))).toBeLessThanOrEqual(6);
    expect(Math.max(...run.throttled.slice(2))).toBeLessThanOrEqual(1);
    expect(sum(run.accepted.slice(1)) / (6 * LIMIT)).toBeGreaterThanOrEqual(0.95);
  });

  test('an unknown quota is learned by bursts that take as long as the window: 1 refusal a window once it is learned', async () => {
    const chance = seeded(17);
    const short = { window: 10_000, timeout: 500, margin: 500, backoff: 50, grace: 500 };
    const lane = laneFixture(redis, prefix, `short-${model}`, { quota: 0, ...short });
    await lane.campaign('c', 10_000);
    const run = await runVirtually(lane, model, 300, 12, () => Math.floor(chance() * 100));
    expect(Math.max(...run.throttled.slice(0, 2))).toBeLessThanOrEqual(6);
    expect(sum(run.throttled.slice(2)) / 10).toBeLessThanOrEqual(1);
    expect(sum(run.accepted.slice(2)) / (10 * 300)).toBeGreaterThanOrEqual(0.9);
    // Thousands of scripts: on a busy machine, they take longer than a usual test.
  }, 240_000);

  test.each([1, 2, 5, 12, 19])(
    'a quota of %i costs at most 6 refusals in each of the first two windows, then at most 1, and is used up',
    async (quota) => {
      const chance = seeded(11);
      const lane = laneFixture(redis, prefix, `few-${model}-${quota}`, { quota: 0 });
      await lane.campaign('c', 10_000);
      const run = await runVirtually(lane, model, quota, 14, () => Math.floor(chance() * 500));
      expect(Math.max(...run.throttled.slice(0, 2))).toBeLessThanOrEqual(6);
      expect(Math.max(...run.throttled.slice(2))).toBeLessThanOrEqual(1);
      expect(sum(run.accepted.slice(2)) / (12 * quota)).toBeGreaterThanOrEqual(0.95);
    },
  );

  test('a quota that the service raises tenfold is followed within a day', async () => {
    const chance = seeded(19);
    const lane = laneFixture(redis, prefix, `raised-${model}`, { quota: 0 });
    await lane.campaign('c', 10_000);
    const delay = () => Math.floor(chance() * 500);
    const raised = { to: 300, atWindow: 3 };
    const run = await runVirtually(lane, model, 30, 16, delay, undefined, raised);
    expect(run.accepted.at(-1)).toBeGreaterThanOrEqual(285);
    expect(Math.max(...run.throttled.slice(2))).toBeLessThanOrEqual(1);
  });

  test.each([2, 6, 10])(
    'an unknown quota is learned from a burst that spans the turn of the hour after %i s',
    async (before) => {
      const chance = seeded(13);
      const lane = laneFixture(redis, prefix, `turn-${model}-${before}`, { quota: 0 });
      await lane.campaign('c', 10_000);
      const begin = START + lane.rules.window - before * 1_000;
      const run = await runVirtually(lane, model, LIMIT, 7, () => Math.floor(chance() * 500), begin);
      expect(Math.max(...run.throttled)).toBeLessThanOrEqual(6);
      expect(sum(run.accepted.slice(1)) / (6 * LIMIT)).toBeGreaterThanOrEqual(0.95);
    },
  );
});

test.each(['clock', 'sliding', 'bucket'] as const)(
  'A quota counted by %s that is raised tenfold is followed within 24 windows where one request at a time is too slow',
  async (model) => {
    const chance = seeded(23);
    const slow = { window: 60_000, timeout: 6_000, margin: 500, backoff: 50, grace: 500 };
    const lane = laneFixture(redis, prefix, `slow-${model}`, { quota: 0, ...slow });
    await lane.campaign('c', 10_000);
    // One at a time, 20 requests fit in a window.
    const delay = () => 2_900 + Math.floor(chance() * 100);
    const run = await runVirtually(lane, model, 25, 27, delay, undefined, { to: 250, atWindow: 3 });
    expect(Math.max(...run.accepted.slice(3))).toBeGreaterThanOrEqual(225);
    expect(sum(run.throttled.slice(3)) / 24).toBeLessThanOrEqual(1);
  },
);

test.each([1, 5, 15, 25, 60])(
  'A 429 that the quota does not cause, after %i requests, costs at most one window',
  async (before) => {
    const chance = seeded(29);
    const lane = laneFixture(redis, prefix, `other-cause-${before}`, { quota: 0 });
    await lane.campaign('c', 10_000);
    const delay = () => Math.floor(chance() * 500);
    const run = await runVirtually(lane, 'sliding', 1_000, 3, delay, undefined, undefined, before + 1);
    expect(sum(run.accepted)).toBeGreaterThanOrEqual(1_900);
  },
);

test.each([1, 5, 15])(
  'A stray 429 after %i requests teaches nothing, not even with another one in the next window',
  async (before) => {
    const lane = laneFixture(redis, prefix, `stray-${before}`, { quota: 0 });
    await lane.campaign('c', 1_000);
    let now = START;
    let asked = 0;
    /** Makes one request a minute. The service accepts them all, except maybe the last. */
    const serve = async (requests: number, last: 'accepted' | 'throttled'): Promise<void> => {
      for (let made = 1; made <= requests; made += 1) {
        asked += 1;
        now += 60_000;
        const { claims } = await lane.claims.send({ turn: `t${asked}`, call: 1, want: 1, seen: 0, now });
        const result = made < requests ? 'accepted' : last;
        for (const claim of claims)
          await lane.settlements.send(
            [{ claim, result, letters: 'T', requestId: `r${claim.number}` }],
            0,
            now,
          );
      }
      expect((await lane.views.look(now)).learned).toBeNull();
    };
    await serve(before + 1, 'throttled');
    // The rest of the window shows that the service accepts more.
    await serve(10, 'accepted');
    now += lane.rules.window;
    await serve(before + 1, 'throttled');
  },
);

test.each([3_600_000, 60_000])(
  'A request without a response counts from the last moment at which it may have arrived, in a window of %i ms',
  async (window) => {
    const timeout = window / 10;
    const lane = laneFixture(redis, prefix, `late-${window}`, { quota: 10, window, timeout, grace: 0 });
    await lane.campaign('c', 20);
    const given = await lane.claims.send({ turn: 't', call: 1, want: 10, seen: 0, now: START });
    expect(given.claims.length).toBe(10);
    let now = START + timeout;
    const latest = now + timeout;
    const ends = given.claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const);
    await lane.settlements.send(ends, 0, now);
    for (let call = 2, claims = 0; claims === 0; call++) {
      const next = await lane.claims.send({ turn: `t${call}`, call: 1, want: 1, seen: 0, now });
      claims = next.claims.length;
      if (claims === 0) now += Math.max(1, next.againInMs ?? Number.NaN);
    }
    expect(now - latest).toBeGreaterThanOrEqual(window);
    expect(now - latest).toBeLessThan(1.02 * window);
  },
);

test('A lane of one request a window does not claim every second a permit that is reserved for its polls', async () => {
  const lane = laneFixture(redis, prefix, 'single', { quota: 1 });
  await lane.campaign('c', 2);
  let [now, asked] = [START, 0];
  const claim = () => {
    asked += 1;
    return lane.claims.send({ turn: `t${asked}`, call: 1, want: 1, seen: 0, now });
  };
  const [first] = (await claim()).claims;
  if (first === undefined) throw new Error('nothing was claimed');
  await lane.settlements.send([{ claim: first, result: 'accepted', letters: 'N', requestId: 'r' }], 0, now);
  // No worker polls: after a window and a half, the permit goes to the next send.
  for (let given = 0; given === 0; ) {
    const { claims, againInMs } = await claim();
    given = claims.length;
    if (given === 0) now += againInMs ?? Number.NaN;
  }
  expect(now - START).toBeLessThan(1.6 * lane.rules.window);
  expect(asked).toBeLessThanOrEqual(4);
});

/** Lets processes with these windows serve a lane of 10 requests in turn, once a second. Returns when the requests were made. */
async function servedInTurn(name: string, windows: readonly number[], seconds: number): Promise<number[]> {
  const lanes = windows.map((window) => laneFixture(redis, prefix, name, { quota: 10, window, grace: 0 }));
  await lanes[0]?.campaign('c', 1_000);
  const times: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    const now = START + second * 1_000;
    const lane = lanes[second % lanes.length];
    if (lane === undefined) throw new Error('no lane');
    const { claims } = await lane.claims.send({
      turn: `t${second}`,
      call: 1,
      want: 32,
      ...{ seen: times.length, now },
    });
    const entries = claims.map(
      (claim) => ({ claim, result: 'accepted', letters: 'T', requestId: 'r' }) as const,
    );
    if (entries.length > 0) await lane.settlements.send(entries, 0, now);
    times.push(...claims.map(() => now));
  }
  return times;
}

test('While processes with different windows serve a lane, the longest counts, and permits keep returning', async () => {
  const times = await servedInTurn('windows', [30_000, 60_000, 45_000], 600);
  expect(times.length).toBeGreaterThanOrEqual(90);
  for (const time of times)
    expect(times.filter((other) => time - 60_000 < other && other <= time).length).toBeLessThanOrEqual(10);
});

test('A lane uses a shorter window when no process with the longer one is left', async () => {
  await servedInTurn('shorter', [60_000], 1);
  const lane = laneFixture(redis, prefix, 'shorter', { quota: 10, window: 30_000, grace: 0 });
  const claim = async (turn: string, now: number) =>
    (await lane.claims.send({ turn, call: 1, want: 32, seen: 10, now })).claims.length;
  expect(await claim('a', START + 31_000)).toBe(0);
  await sweepLaneState(lane.store, 1e12, [], START + 31_000, 30_000);
  expect(await claim('b', START + 31_000)).toBe(10);
});
