import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { loadScript, readLua } from '../../../src/base/redis/script.js';
import { LimitError } from '../../../src/campaign/limits/check-limits.js';
import { reserveDay } from '../../../src/engine/day-limits/daily.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';

/*
 * Processes that store messages of one API key on several lanes, one call to Redis after the other, in any order: each may die between two
 * calls, the time may pass midnight in UTC, and the clocks of the nodes differ.
 */

const { redis, prefix } = testRedis('daily');
const LANES = ['a', 'b', 'c'];
const DAY_MS = 86_400_000;
const MIDNIGHT = 20_000 * DAY_MS;
/** More calls than a process makes that ends. */
const MOST_CALLS = 150;
const source = new URL('../../../src/engine/day-limits/daily.ts', import.meta.url).href;
const discard = loadScript(source, '../recipients/forget-campaign.lua', () => undefined);
/** Where the scripts take the time. */
const TIMED = new Map<string, number>();
beforeAll(async () => {
  for (const name of ['reserve-day', 'share-day', 'return-share']) {
    const { header } = loadScript(source, `./${name}.lua`, () => undefined);
    const text = readLua(new URL(`./${name}.lua`, source));
    TIMED.set(String(await redis.script('LOAD', text)), header.keys.length + header.args.length - 1);
  }
});

interface Job {
  readonly lane: string;
  readonly messages: number;
  /** Of a message, in micros. */
  readonly price: number;
  /** After how many calls the process dies. */
  readonly diesAfter: number;
  /** Whether the import is discarded when it has reserved its messages. */
  readonly isDiscarded: boolean;
}

interface Case {
  readonly limit: { readonly recipientsPerDay: number; readonly costPerDay: number };
  readonly jobs: readonly Job[];
  /** When it begins, before midnight, ms; and how far the clocks of the nodes are ahead. */
  readonly before: number;
  readonly ahead: readonly number[];
  readonly choices: fc.Stream<number>;
}

let made = 0;

async function play({ limit, jobs, before, ahead, choices }: Case): Promise<void> {
  made += 1;
  const keys = keyNames(`${prefix}${made}`);
  const key = 'k';
  const limits = [{ owner: 'key', key, who: 'API key k', ...limit }] as const;
  let now = MIDNIGHT - before;
  const choose = (below: number): number => Number(choices.next().value) % below;
  const clockOf = (stored: string): string => {
    const node = LANES.findIndex(
      (lane) => stored === keys.lane(lane, 'keyBytes') || stored === keys.lane(lane, 'states'),
    );
    return String(now + (ahead[node + 1] ?? 0));
  };
  const waiting: { readonly process: number; readonly go: () => Promise<void> }[] = [];
  const calls = jobs.map(() => 0);
  /** A connection whose calls wait until it is their turn. */
  const connectionOf = (process: number): Redis => {
    const call = (sha: string, count: number, ...rest: string[]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const go = async (): Promise<void> => {
          rest[TIMED.get(sha) ?? Number.NaN] = clockOf(rest[0] ?? '');
          await redis.evalsha(sha, count, ...rest).then(resolve, reject);
        };
        waiting.push({ process, go });
      });
    return { evalsha: call } as unknown as Redis;
  };
  const used = new Map<number, Map<string, readonly [messages: number, micros: number]>>();
  const sumOf = (day: number, at: 0 | 1): number =>
    [...(used.get(day)?.values() ?? [])].reduce((sum, counts) => sum + counts[at], 0);
  const checkAll = async (): Promise<void> => {
    const stored = await Promise.all(LANES.map((id) => storedLane({ redis, keys, id }).storedToday(key)));
    for (const [at, lane] of LANES.entries()) {
      const { day, messages, micros } = stored[at] ?? { day: 0, messages: 0, micros: 0 };
      const ofDay = used.get(day) ?? new Map();
      used.set(day, ofDay.set(lane, [messages, micros]));
    }
    for (const day of used.keys()) {
      expect(sumOf(day, 0)).toBeLessThanOrEqual(limit.recipientsPerDay);
      expect(sumOf(day, 1)).toBeLessThanOrEqual(limit.costPerDay);
    }
  };
  const store = async (
    connection: Redis,
    { lane, messages, price }: Pick<Job, 'lane' | 'messages' | 'price'>,
    id: string,
  ) => {
    const of = { redis: connection, keys, lane: { id: lane, name: lane }, limits, currency: undefined };
    return reserveDay(of, id, { messages, micros: messages * price });
  };
  for (const [process, { lane }] of jobs.entries())
    await storedLane({ redis, keys, id: lane }).setState(`c${process}`, {});
  const ended = new Set<number>();
  const failures: unknown[] = [];
  for (const [process, job] of jobs.entries())
    store(connectionOf(process), job, `c${process}`)
      .catch((error: unknown) => {
        if (!(error instanceof LimitError)) failures.push(error);
      })
      .finally(() => ended.add(process));
  for (;;) {
    // Between two calls, a process waits for nothing.
    await new Promise((later) => setTimeout(later, 0));
    const living = waiting.filter(({ process }) => (calls[process] ?? 0) < (jobs[process]?.diesAfter ?? 0));
    if (living.length === 0) break;
    const next = living[choose(living.length)];
    if (next === undefined) break;
    waiting.splice(waiting.indexOf(next), 1);
    calls[next.process] = (calls[next.process] ?? 0) + 1;
    expect(calls[next.process]).toBeLessThan(MOST_CALLS);
    now += [0, 0, 10, 900, 5_500][choose(5)] ?? 0;
    await next.go();
    if (choose(8) === 0)
      for (const [process, { isDiscarded, lane }] of jobs.entries())
        if (isDiscarded && ended.has(process))
          await discard.run(
            redis,
            { states: keys.lane(lane, 'states'), keyBytes: keys.lane(lane, 'keyBytes') },
            { id: `c${process}` },
          );
    await checkAll();
  }
  expect(failures).toEqual([]);
  for (const [process, { diesAfter }] of jobs.entries())
    if (diesAfter === MOST_CALLS) expect(ended).toContain(process);
  // What those that died were given can be used by others, all of it, on any lane.
  now += Math.abs(now + 6_000 - MIDNIGHT) < 3_000 ? 12_000 : 6_000;
  let callsAlone = 0;
  const alone = new Proxy(redis, {
    get: (_, name) =>
      name === 'evalsha'
        ? (sha: string, count: number, ...rest: string[]) => {
            callsAlone += 1;
            if (callsAlone > 2 * MOST_CALLS) throw new Error('it never ends');
            rest[TIMED.get(sha) ?? Number.NaN] = clockOf(rest[0] ?? '');
            return redis.evalsha(sha, count, ...rest);
          }
        : undefined,
  });
  await checkAll();
  const day = Math.floor(now / DAY_MS);
  const left = Math.min(limit.recipientsPerDay - sumOf(day, 0), limit.costPerDay - sumOf(day, 1));
  const lane = LANES[choose(LANES.length)] ?? '';
  await storedLane({ redis, keys, id: lane }).setStates({ last1: {}, last2: {} });
  await expect(store(alone, { lane, messages: left + 1, price: 1 }, 'last1')).rejects.toBeInstanceOf(
    LimitError,
  );
  if (left > 0) expect(await store(alone, { lane, messages: left, price: 1 }, 'last2')).toBe(true);
  await checkAll();
}

test('Whatever order, deaths, and midnight: a key stores no more than its limits a day, every process ends, and nothing is lost', async () => {
  const job = fc.record({
    lane: fc.constantFrom(...LANES),
    messages: fc.integer({ min: 1, max: 12 }),
    price: fc.integer({ min: 1, max: 3 }),
    diesAfter: fc.oneof(fc.constant(MOST_CALLS), fc.integer({ min: 1, max: 8 })),
    isDiscarded: fc.boolean(),
  });
  const cases = fc.record({
    limit: fc.record({
      recipientsPerDay: fc.integer({ min: 1, max: 40 }),
      costPerDay: fc.integer({ min: 1, max: 80 }),
    }),
    jobs: fc.array(job, { minLength: 1, maxLength: 8 }),
    before: fc.oneof(fc.constant(3_600_000), fc.integer({ min: 1, max: 20_000 })),
    ahead: fc.array(fc.integer({ min: -2_000, max: 2_000 }), { minLength: 4, maxLength: 4 }),
    choices: fc.infiniteStream(fc.nat(1_000_000)),
  });
  await fc.assert(fc.asyncProperty(cases, play), {
    numRuns: NIGHTLY ? 60 : 20,
    endOnFailure: true,
  });
}, 240_000);
