import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { indexOutbox } from '../../../src/intake/outbox/definition/outbox-index.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { outboxOpener } from '../../../src/intake/outbox/open-outbox.js';
import { operatedOutbox } from '../../../src/intake/outbox/outbox.js';
import { tendOutbox } from '../../../src/intake/outbox/waves/tend-outbox.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../../engine/lane/lane-fixture.js';
import { LATE_MS, NOW, outboxFixture, RETENTION_MS } from './outbox-fixture.js';
import { storedOutbox } from './stored-outbox.js';

const { redis, prefix } = testRedis('outbox-operators');

/** An outbox with two waves, of which the first gets no more messages, and its operators. */
async function operatedFixture(own: string) {
  const { lane } = openDefaultLane(redis, `${prefix}-${own}`);
  const { keys, id } = lane;
  const name = 'dentist';
  const stored = storedOutbox(lane, name);
  await stored.create();
  await stored.change({ capacity: 1 });
  await indexOutbox(redis, keys, id, name);
  const put = (message: string) =>
    outboxStore(lane, name, { lateMs: LATE_MS }).put([{ id: message, message: NOW }]);
  const tend = () =>
    tendOutbox(lane, name, { random: Math.random, clock: Date.now, retentionMs: RETENTION_MS });
  for (const message of ['a', 'b']) {
    await put(message);
    await tend();
  }
  const config = loadLocalConfig({ REDIS_URL: 'redis://127.0.0.1' });
  return {
    /** An operator, whose lane has this connection. */
    operator(connection = redis) {
      const store = { ...lane, redis: connection, commands: commandStore({ ...lane, redis: connection }) };
      const finder = {
        withId: async () => store,
        named: async () => store,
        nameOf: async () => lane.name,
        idOf: async () => id,
        configured: async () => new Map([[lane.name, store]]),
      };
      const options = {
        ...{ redis: connection, keys, config, finder },
        ...{ wakers: { wake: async () => {} }, clock: Date.now, random: Math.random },
      };
      return operatedOutbox(options, OPERATOR, name, () => outboxOpener(options).open(id, name));
    },
    ...{ put, tend, dueAt: stored.dueAt },
    /** Pauses its second wave, as refusals of the service do. */
    pauseWave: async () => commandStore(lane).campaign('pause', (await stored.waves())[1] ?? '', 'refused'),
    state: stored.outboxState,
    waves: async () => (await stored.states()).map(({ state }) => state),
  };
}

test('A pause also holds the messages of a wave that gets no more, until the outbox is resumed', async () => {
  const own = await operatedFixture('pause');
  expect(await own.waves()).toEqual(['running', 'running']);
  await own.operator().pause();
  expect([await own.state(), ...(await own.waves())]).toEqual(['paused', 'paused', 'paused']);
  await own.operator().resume();
  expect([await own.state(), ...(await own.waves())]).toEqual(['open', 'running', 'running']);
});

test('An open outbox whose wave was paused by refusals of the service is resumed', async () => {
  const own = await operatedFixture('refused');
  await own.pauseWave();
  expect([await own.state(), ...(await own.waves())]).toEqual(['open', 'running', 'paused']);
  await own.operator().resume();
  expect([await own.state(), ...(await own.waves())]).toEqual(['open', 'running', 'running']);
});

test('An outbox that is resumed is due at once, although nothing in it could be sent before', async () => {
  const own = await operatedFixture('due');
  await own.operator().pause();
  await own.put('c');
  await own.tend();
  expect(await own.dueAt()).toBeGreaterThan(Date.now());
  await own.operator().resume();
  expect(await own.dueAt()).toBe(0);
  expect(await own.tend()).toMatchObject({ planned: 1 });
});

test.each([
  ['pause', 'resume', 'paused'],
  ['resume', 'pause', 'open'],
] as const)(
  'A %s that a %s overtakes leaves the outbox and its waves in one state',
  async (first, second, begun) => {
    const own = await operatedFixture(`overtaken-${first}`);
    if (first === 'resume') await own.operator().pause();
    let isOvertaken = false;
    const slow = new Proxy(redis, {
      get(target, property) {
        if (property !== 'evalsha') return Reflect.get(target, property, target);
        return async (...args: unknown[]): Promise<unknown> => {
          const reply: unknown = await Reflect.apply(target.evalsha, target, args);
          if (isOvertaken || (await own.state()) !== begun) return reply;
          isOvertaken = true;
          await own.operator()[second]();
          return reply;
        };
      },
    });
    await own.operator(slow)[first]();
    expect(isOvertaken).toBe(true);
    const running = second === 'resume' ? ['open', 'running', 'running'] : ['paused', 'paused', 'paused'];
    expect([await own.state(), ...(await own.waves())]).toEqual(running);
  },
);

test('Messages that are planned and not claimed are cancelled with those that wait', async () => {
  const own = await outboxFixture(redis, prefix);
  for (const id of ['a', 'b', 'c']) await own.put(id);
  expect(await own.tend()).toMatchObject({ planned: 3 });
  await own.put('later', 3_600_000);
  expect(await own.cancelAll()).toEqual({
    cancelled: 4,
    inFlight: 0,
  });
  const states = await own.states();
  expect(states.map(({ counts }) => [counts.planned ?? 0, counts.cancelled])).toEqual([[0, 3]]);
});
