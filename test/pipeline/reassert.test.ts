import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../src/config.js';
import { createEvents } from '../../src/events.js';
import { openLane } from '../../src/pipeline/lane.js';
import { createMemory } from '../../src/pipeline/memory.js';
import { reassert } from '../../src/pipeline/reassert.js';
import { keyNames } from '../../src/redis/keys.js';
import type { SendClaim } from '../../src/store/claims.js';
import { keysOf, testRedis } from '../redis/test-redis.js';
import { laneFixture } from '../store/lane-fixture.js';

const { redis, prefix } = testRedis('reassert');

/** A lane, and a way to make Redis forget everything since a moment. */
async function forgetful(name: string, recipients: number) {
  const keys = keyNames(`${prefix}-${name}`);
  const fixture = laneFixture(redis, `${prefix}-${name}`, 'default', {});
  const config = loadLocalConfig({ HOURLY_QUOTA: '1000', REDIS_URL: 'redis://127.0.0.1' });
  const [settings] = config.lanes;
  if (settings === undefined) throw new Error('no lane');
  const lane = openLane(redis, keys, config, settings, createEvents({ level: 'silent' }), () => 0.5);
  const memory = createMemory(() => performance.now());
  await fixture.campaign('c', recipients);
  let [call, backup] = [0, new Map<string, Buffer>()];
  return {
    fixture,
    lane,
    memory,
    async claim(want: number): Promise<readonly SendClaim[]> {
      call += 1;
      const reply = await lane.claims.send({ turn: `t${call}`, call: 1, want, seen: memory.seen });
      memory.claimed(reply.claims);
      return reply.claims;
    },
    async accept(claims: readonly SendClaim[]): Promise<void> {
      const entries = claims.map(
        (claim) => ({ claim, as: 'accepted', letters: 'N', requestId: 'r' }) as const,
      );
      for (const entry of entries) memory.settled(entry);
      await lane.settlements.send(entries, 0.5);
    },
    async remember(): Promise<void> {
      backup = new Map();
      for (const key of await keysOf(redis, `${prefix}-${name}`)) {
        const dump = await redis.dumpBuffer(key);
        if (dump !== null) backup.set(key, dump);
      }
    },
    async forget(): Promise<void> {
      for (const key of await keysOf(redis, `${prefix}-${name}`)) await redis.del(key);
      for (const [key, dump] of backup) await redis.restore(key, 0, dump);
    },
    state: () => fixture.state('c'),
  };
}

test('claims that Redis has forgotten are restored with what became of them, and nobody is claimed twice', async () => {
  const it = await forgetful('restored', 10);
  await it.remember();
  const first = await it.claim(3);
  await it.accept(first);
  const inFlight = await it.claim(2);
  await it.forget();
  expect((await it.state()).n).toMatchObject({ planned: 10 });
  expect(await reassert(it.lane, it.memory)).toBe(5);
  expect((await it.state()).n).toMatchObject({ planned: 5, sending: 2, deliveredToNetwork: 3 });
  expect((await it.claim(10)).map((claim) => claim.first)).toEqual([5, 6, 7, 8, 9]);
  await it.accept(inFlight);
  expect((await it.state()).n).toMatchObject({ sending: 5, deliveredToNetwork: 5 });
});

test('what somebody else has claimed in between and nobody remembers becomes unknown in time, and is never sent again', async () => {
  const it = await forgetful('gap', 10);
  await it.remember();
  const other = createMemory(() => 0);
  const reply = await it.lane.claims.send({ turn: 't', call: 1, want: 4, seen: 0 });
  other.claimed(reply.claims);
  const mine = await it.lane.claims.send({ turn: 'u', call: 1, want: 2, seen: 0 });
  it.memory.claimed(mine.claims);
  await it.forget();
  expect(await reassert(it.lane, it.memory)).toBe(2);
  // Two claims of mine, one of nobody over the four that only the other knows.
  expect((await it.state()).n).toMatchObject({ planned: 4, sending: 6 });
  expect(await reassert(it.lane, other)).toBe(4);
  expect((await it.state()).n).toMatchObject({ planned: 4, sending: 6 });
  const claims = await redis.hgetall(it.fixture.keys.lane('default', 'claims'));
  expect(Object.values(claims).filter((json) => JSON.parse(json).g === true)).toHaveLength(0);
});

test('where nothing was forgotten nothing changes', async () => {
  const it = await forgetful('nothing', 10);
  await it.accept(await it.claim(4));
  const before = await it.state();
  expect(await reassert(it.lane, it.memory)).toBe(0);
  expect(await it.state()).toEqual(before);
});

test('a lane stops claiming for a while when its sequence has gone back', async () => {
  const it = await forgetful('grace', 10);
  await it.remember();
  await it.claim(3);
  await it.forget();
  const reply = await it.lane.claims.send({ turn: 'u', call: 1, want: 1, seen: it.memory.seen });
  expect(reply.why).toBe('recovering');
  expect(reply.events).toMatchObject([{ type: 'forgot', sign: 'sequence' }]);
});
