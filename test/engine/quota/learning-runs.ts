import { expect } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { QUOTA_MODELS, type QuotaModelName } from '../../../src/tools/simulator/rules/quota-models.js';
import { NIGHTLY } from '../../base/parts.js';
import { laneFixture, START } from '../lane/lane-fixture.js';
import { serveVirtually, type VirtualEnd } from '../lane/virtual-lane.js';
import { type Run, runVirtually } from '../lane/virtual-service.js';

/** More for a long run: `ROUNDS=5 npx vitest run test/engine/quota/learning.test.ts`. Each round has other delays. */
export const ROUNDS = Number(process.env['ROUNDS'] ?? 1);

/** The cases: a few of each kind by default, most in the nightly run, and all in a long one. */
export const chosen = <Case>(few: readonly Case[], most: readonly Case[], all = most): readonly Case[] =>
  ROUNDS > 1 ? all : NIGHTLY ? most : few;

/** Where the lanes of a run are. */
export interface Place {
  readonly redis: Redis;
  readonly prefix: string;
}

/** Ways of counting that differ in what the runs show. */
export const MODELS = chosen<QuotaModelName>(['sliding'], ['clock', 'sliding', 'bucket'], QUOTA_MODELS);

/** A window so short that one burst takes much of it. */
const SHORT = { window: 10_000, timeout: 500, margin: 500, backoff: 50, grace: 500 };
/** A window in which one request at a time makes ten. */
const SLOW = { window: 60_000, timeout: 6_000, margin: 500, backoff: 50, grace: 500 };

export const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const most = (numbers: readonly number[]): number => Math.max(0, ...numbers);

/** Repeatable random numbers. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

let lanes = 0;

/** A lane that has to learn its quota, and has more to send than it can. */
export async function learningLane({ redis, prefix }: Place, change: Parameters<typeof laneFixture>[3] = {}) {
  lanes += 1;
  const lane = laneFixture(redis, prefix, `learning-${lanes}`, { quota: 0, ...change });
  await lane.campaign('c', 20_000);
  return lane;
}

/** Delays of up to `most` ms before a request arrives. */
export function delays(most: number, seed: number, least = 0): () => number {
  const chance = seeded(seed);
  return () => least + Math.floor(chance() * (most - least));
}

const used = ({ accepted }: Run, quota: number, from: number): number =>
  sum(accepted.slice(from)) / ((accepted.length - from) * quota);

/** By how many the refusals were ahead of one per window, after each window but the first two: several only after windows without any. */
const ahead = ({ throttled }: Run): number[] =>
  throttled.map((_, window) => sum(throttled.slice(2, window + 1)) - (window - 1)).slice(2);

/** A quota of an hour: each window's first requests use it up. */
export async function learnsAnHourlyQuota(place: Place, model: QuotaModelName, quota: number, round = 0) {
  const lane = await learningLane(place);
  const windows = quota < 20 ? 14 : 8;
  const run = await runVirtually(lane, model, quota, windows, delays(500, 11 + round));
  expect(most(run.throttled.slice(0, 2)), 'refusals in each of the first two windows').toBeLessThanOrEqual(6);
  expect(most(run.throttled.slice(2)), 'refusals in each later window').toBeLessThanOrEqual(1);
  // Only a quota of one is lower than any limit that could be tried.
  const mean = sum(run.throttled.slice(2)) / (windows - 2);
  expect(mean, 'mean refusals in later windows').toBeLessThanOrEqual(quota === 1 ? 1 : 0.6);
  expect(used(run, quota, 2), 'part of the quota that is used').toBeGreaterThanOrEqual(0.95);
  const { learned } = await lane.views.look(START + 20 * lane.rules.window);
  expect(learned, 'the quota that it has learned').toBeGreaterThanOrEqual(quota);
}

/** A burst takes much of a window. A token bucket then admits more than its quota for a while. */
export async function learnsAShortWindow(place: Place, model: QuotaModelName, quota: number, round = 0) {
  const lane = await learningLane(place, SHORT);
  const begin = START + 1_234_567 + round * 3_000;
  const run = await runVirtually(lane, model, quota, 16, delays(100, 17 + round), begin);
  expect(most(run.throttled.slice(0, 2)), 'refusals in each of the first two windows').toBeLessThanOrEqual(6);
  expect(sum(run.throttled.slice(2)) / 14, 'mean refusals in later windows').toBeLessThanOrEqual(0.75);
  expect(most(ahead(run)), 'refusals ahead of one per window').toBeLessThanOrEqual(0);
  expect(used(run, quota, 2), 'part of the quota that is used').toBeGreaterThanOrEqual(0.95);
}

/** A quota so large for its window that only several requests in flight fill it, and a list of seven windows with its polls. */
export async function fillsAShortWindow({ redis, prefix }: Place, model: QuotaModelName, limit: number) {
  const serve = async (name: string, quota: number): Promise<VirtualEnd> => {
    const lane = laneFixture(redis, prefix, name, {
      ...SHORT,
      quota,
      timeout: 1_000,
      firstPoll: 1_000,
      pollAgain: 1_000,
    });
    return serveVirtually(lane, {
      // The service's clock window has just begun.
      begin: START + 10_100,
      campaigns: [{ id: 'c', recipients: (10 / 3) * limit }],
      service: { latencyMs: 125, deliveryMs: 1_000, lagMs: 0, quota: { model, limit } },
      random: seeded(41),
      everyMs: SHORT.window,
      observe: async () => {},
      untilFinal: true,
    });
  };
  const known = await serve(`known-${model}`, limit);
  const learned = await serve(`unknown-${model}`, 0);
  expect(known.refused, 'refusals with a known quota').toBe(0);
  expect(learned.refused, 'refusals in seven windows').toBeLessThanOrEqual(6 + 6);
  expect(learned.endedAt - known.endedAt, 'ms later than with a known quota').toBeLessThanOrEqual(
    0.7 * SHORT.window,
  );
}

/** The first burst uses up what a token bucket has saved, so that it teaches far too high a limit. */
export async function emptiesATokenBucket(place: Place, round = 0) {
  const lane = await learningLane(place, SHORT);
  const begin = START + 1_234_567 + round * 3_000;
  const run = await runVirtually(lane, 'bucket', 200, 5, delays(100, 17 + round), begin);
  expect(most(ahead(run)), 'refusals ahead of one per window').toBeLessThanOrEqual(0);
}

/** One request at a time is too slow to fill a window, and a token bucket saves what is not used. */
export async function learnsWhatABucketRefills(place: Place, round = 0) {
  const lane = await learningLane(place, SHORT);
  const begin = START + 1_234_567 + round * 3_000;
  const run = await runVirtually(lane, 'bucket', 75, 16, delays(400, 17 + round), begin);
  expect(most(ahead(run)), 'refusals ahead of one per window').toBeLessThanOrEqual(0);
  expect(used(run, 75, 2), 'part of the quota that is used').toBeGreaterThanOrEqual(0.95);
}

/** The service raises the quota tenfold. */
export async function followsARaisedQuota(place: Place, model: QuotaModelName, round = 0) {
  const lane = await learningLane(place);
  const raised = { to: 100, atWindow: 3 };
  const run = await runVirtually(lane, model, 10, 16, delays(500, 19 + round), undefined, raised);
  expect(run.accepted.at(-1), 'accepted in the last window').toBeGreaterThanOrEqual(95);
  expect(most(run.throttled.slice(2)), 'refusals in each later window').toBeLessThanOrEqual(1);
}

/** The same where one request at a time is too slow to fill a window. */
export async function followsARaisedQuotaSlowly(place: Place, model: QuotaModelName, round = 0) {
  const lane = await learningLane(place, SLOW);
  const raised = { to: 120, atWindow: 3 };
  const run = await runVirtually(lane, model, 12, 27, delays(5_900, 23 + round, 5_800), undefined, raised);
  expect(most(run.accepted.slice(3)), 'accepted in the best window').toBeGreaterThanOrEqual(105);
  expect(sum(run.throttled.slice(3)) / 24, 'mean refusals').toBeLessThanOrEqual(1);
}

/** The first burst spans the turn of the service's hour, so that the window holds up to twice the quota. */
export async function survivesTheTurnOfTheHour(
  place: Place,
  model: QuotaModelName,
  seconds: number,
  round = 0,
) {
  const lane = await learningLane(place);
  const begin = START + lane.rules.window - seconds * 1_000;
  const run = await runVirtually(lane, model, 100, 7, delays(500, 13 + round), begin);
  expect(most(run.throttled), 'refusals in each window').toBeLessThanOrEqual(6);
  expect(used(run, 100, 1), 'part of the quota that is used').toBeGreaterThanOrEqual(0.95);
}

/** One 429 comes after this many requests, for another cause than the quota. */
export async function survivesAnotherCause(place: Place, before: number, round = 0) {
  const lane = await learningLane(place);
  const delay = delays(500, 29 + round);
  const run = await runVirtually(lane, 'sliding', 200, 3, delay, undefined, undefined, before + 1);
  expect(sum(run.accepted), 'accepted in three windows').toBeGreaterThanOrEqual(380);
}

/** In two windows, a stray 429 comes after this many requests; the service accepts all others. */
export async function learnsNothingFromStrays(place: Place, before: number) {
  const lane = await learningLane(place);
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
        await lane.settlements.send([{ claim, result, letters: 'T', requestId: `r${claim.number}` }], 0, now);
    }
    const { limit, learned } = await lane.views.look(now);
    expect({ limit, learned }, 'what a stray 429 teaches').toEqual({ limit: null, learned: null });
  };
  await serve(before + 1, 'throttled');
  // The rest of the window shows that the service accepts more.
  await serve(10, 'accepted');
  now += lane.rules.window;
  await serve(before + 1, 'throttled');
}

/** What the lane shows of a quota of five, at the end of each of the first windows. */
export async function showsWhatIsKnown(place: Place) {
  const shown: { limit: number | null; learned: number | null }[] = [];
  for (const windows of [1, 2]) {
    const lane = await learningLane(place);
    await runVirtually(lane, 'sliding', 5, windows, delays(500, 31), START);
    const { limit, learned } = await lane.views.look(START + windows * lane.rules.window);
    shown.push({ limit, learned });
  }
  expect(shown, 'what is known after one window, and after two').toEqual([
    { limit: 5, learned: null },
    { limit: 5, learned: 5 },
  ]);
}
