import { expect, test, vi } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { serverTime } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { DATA_FORMAT, heartbeats } from '../../../src/engine/recovery/heartbeats.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('heartbeats');
const keys = keyNames(prefix);
const workers = heartbeats(redis, keys, Date.now);
const NOTHING = { settings: {}, lacks: [] };

test('A worker is listed with its settings until it leaves, beside one of a version that published none', async () => {
  const older = { id: 'older', roles: ['send'], since: new Date().toISOString(), host: 'b', pid: 2 };
  await redis.zadd(keys.workers, await serverTime(redis), JSON.stringify(older));
  const leave = workers.start('newer', ['follow-up'], { settings: { version: '1.1.0' }, lacks: ['b'] });
  await expect.poll(() => workers.alive()).toHaveLength(2);
  expect(await workers.alive()).toEqual(
    expect.arrayContaining([
      { ...older, settings: {}, lacks: [], format: 1 },
      expect.objectContaining({
        id: 'newer',
        settings: { version: '1.1.0' },
        lacks: ['b'],
        format: DATA_FORMAT,
      }),
    ]),
  );
  await leave();
  expect(await workers.alive()).toEqual([{ ...older, settings: {}, lacks: [], format: 1 }]);
});

test('A heartbeat of a newer version is listed as far as it is understood, and others are ignored', async () => {
  const now = await serverTime(redis);
  const newer = { id: 'newer', roles: ['send', 'archive'], since: 5, settings: { version: '9', lanes: 3 } };
  const entries = [newer, { name: 'without an id' }, 'text', null].map((entry) => JSON.stringify(entry));
  for (const entry of [...entries, 'no JSON']) await redis.zadd(keys.workers, now, entry);
  expect((await workers.alive()).filter(({ id }) => id !== 'older')).toEqual([
    {
      id: 'newer',
      roles: ['send'],
      since: '',
      host: '',
      pid: 0,
      settings: { version: '9' },
      lacks: [],
      format: 1,
    },
  ]);
});

test('A dead process does not count as alive longer because the clock of Redis was set back', async () => {
  const keys = keyNames(`${prefix}-set-back`);
  const watched = heartbeats(redis, keys, Date.now);
  const now = await serverTime(redis);
  const [dead, alive] = ['dead', 'alive'].map((id) => JSON.stringify({ id, roles: ['work'] })) as [
    string,
    string,
  ];
  await redis.zadd(keys.workers, now + 3_600_000, dead, now, alive);
  expect((await watched.alive()).map(({ id }) => id).sort()).toEqual(['alive', 'dead']);
  expect(Number(await redis.zscore(keys.workers, dead))).toBeLessThan(now + 60_000);
  expect(Number(await redis.zscore(keys.workers, alive))).toBe(now);
});

/** A connection of a process to a Redis whose clock the test sets, and which the process may not reach. */
function unsteadyRedis(time: { now: number }) {
  const state = { isAway: false };
  const reach = async <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
    if (state.isAway) throw new Error('Redis is away');
    return answer();
  };
  const connection: Redis = Object.assign(Object.create(redis), {
    time: () => reach(async () => [String(Math.floor(time.now / 1_000)), String((time.now % 1_000) * 1_000)]),
    zadd: (...args: Parameters<typeof redis.zadd>) => reach(() => redis.zadd(...args)),
  });
  return { connection, state };
}

test.each([9_000, 60_000])(
  'Live processes count as alive after Redis was away for %i ms, although not all of them reach it at once',
  async (outageMs) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const own = keyNames(`${prefix}-away-${outageMs}`);
      const time = { now: 1_000_000_000_000 };
      const [a, b] = [unsteadyRedis(time), unsteadyRedis(time)];
      const [ofA, ofB] = [a, b].map(({ connection }) => heartbeats(connection, own, Date.now));
      if (ofA === undefined || ofB === undefined) throw new Error('no heartbeats');
      const names = async () => (await ofA.alive()).map(({ id }) => id).sort();
      const stops = [ofA.start('a', ['send'], NOTHING), ofB.start('b', ['send'], NOTHING)];
      await expect.poll(names).toEqual(['a', 'b']);
      const beat = async (ms: number): Promise<void> => {
        time.now += ms;
        vi.advanceTimersByTime(3_000);
        await redis.ping();
      };
      a.state.isAway = b.state.isAway = true;
      await beat(outageMs);
      a.state.isAway = false;
      expect(await names()).toEqual(['a', 'b']);
      // Process b never comes back.
      await beat(3_000);
      expect(await names()).toEqual(['a', 'b']);
      for (let at = 0; at < 4; at += 1) await beat(3_000);
      expect(await names()).toEqual(['a']);
      await Promise.all(stops.map((stop) => stop()));
    } finally {
      vi.useRealTimers();
    }
  },
);
