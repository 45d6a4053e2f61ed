import { describe, expect, test } from 'vitest';
import { sweepLaneState } from '../../../src/engine/recovery/sweep.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';
import { runVirtually } from '../lane/virtual-service.js';
import { MODELS, seeded, sum } from './learning-runs.js';

const { redis, prefix } = testRedis('ledger');
const LIMIT = 100;

describe.each(MODELS)('Against a service that counts by %s', (model) => {
  test('a known quota is used up to 99 % and never exceeded, whenever requests arrive', async () => {
    const chance = seeded(7);
    const lane = laneFixture(redis, prefix, `known-${model}`, { quota: LIMIT });
    await lane.campaign('c', 10_000);
    const run = await runVirtually(lane, model, LIMIT, 5, () => Math.floor(chance() * 29_000));
    expect(sum(run.throttled)).toBe(0);
    expect(sum(run.accepted) / (5 * LIMIT)).toBeGreaterThanOrEqual(0.99);
  });
});

test.each([3_600_000, 60_000])(
  'A request without a response counts from the last moment at which it may have arrived, in a window of %i ms',
  async (window) => {
    const timeout = window / 10;
    const lane = laneFixture(redis, prefix, `late-${window}`, { quota: 10, window, timeout, grace: 0 });
    await lane.campaign('c', 20);
    const given = await lane.ask(START, 10);
    expect(given.claims.length).toBe(10);
    let now = START + timeout;
    const latest = now + timeout;
    const ends = given.claims.map((claim) => ({ claim, result: 'unknown', reason: 'no answer' }) as const);
    await lane.settlements.send(ends, 0, now);
    for (let _call = 2, claims = 0; claims === 0; _call++) {
      const next = await lane.ask(now);
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
    return lane.ask(now);
  };
  const [first] = (await claim()).claims;
  if (first === undefined) throw new Error('nothing was claimed');
  await lane.settle(first, 'accepted', now, { requestId: 'r' });
  // No worker polls: after a window and a half, the permit goes to the next send.
  for (let given = 0; given === 0; ) {
    const { claims, againInMs } = await claim();
    given = claims.length;
    if (given === 0) now += againInMs ?? Number.NaN;
  }
  expect(now - START).toBeLessThan(1.6 * lane.rules.window);
  expect(asked).toBeLessThanOrEqual(4);
});

/** Lets processes with these windows serve a lane of 10 requests in turn, every two seconds. Returns when the requests were made. */
async function servedInTurn(name: string, windows: readonly number[], seconds: number): Promise<number[]> {
  const lanes = windows.map((window) => laneFixture(redis, prefix, name, { quota: 10, window, grace: 0 }));
  await lanes[0]?.campaign('c', 1_000);
  const times: number[] = [];
  for (let turn = 0; turn < seconds / 2; turn += 1) {
    const now = START + turn * 2_000;
    const lane = lanes[turn % lanes.length];
    if (lane === undefined) throw new Error('no lane');
    const { claims } = await lane.claims.send({
      turn: `t${turn}`,
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
