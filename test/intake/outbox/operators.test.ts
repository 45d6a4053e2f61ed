import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { outboxId } from '../../../src/engine/recipients/outbox-messages.js';
import { indexOutbox } from '../../../src/intake/outbox/definition/outbox-index.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { outboxOpener } from '../../../src/intake/outbox/open-outbox.js';
import { operatedOutbox } from '../../../src/intake/outbox/outbox.js';
import { lapseDue } from '../../../src/intake/outbox/tending/tend-lane.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../../engine/lane/lane-fixture.js';
import { NOW, outboxFixture } from './outbox-fixture.js';
import { storedOutbox } from './stored-outbox.js';

const { redis, prefix } = testRedis('outbox-operators');

/** An outbox with two messages, and its operators. */
async function operatedFixture(own: string) {
  const { lane } = openDefaultLane(redis, `${prefix}-${own}`);
  const { keys, id } = lane;
  const name = 'dentist';
  const stored = storedOutbox(lane, name);
  await stored.create();
  await indexOutbox(redis, keys, id, name);
  const put = async (message: string) =>
    outboxStore(lane, name, { edition: (await stored.read()).edition }).put([{ id: message, message: NOW }]);
  for (const message of ['a', 'b']) await put(message);
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
        ...{ redis: connection, keys, config, finder, events: { emit: () => {} } },
        ...{ wakers: { wake: async () => {} }, clock: Date.now, random: Math.random },
      };
      return operatedOutbox(options, OPERATOR, name, () => outboxOpener(options).open(id, name));
    },
    put,
    look: () => lapseDue(lane),
    dueAt: stored.dueAt,
    /** Pauses it, as refusals of the service do. */
    refuse: () => commandStore(lane).campaign('pause', outboxId(name), 'refused'),
    state: async () => (await stored.outboxState())?.state,
  };
}

test('A pause holds the messages of an outbox until it is resumed', async () => {
  const own = await operatedFixture('pause');
  expect(await own.state()).toBe('running');
  await own.operator().pause();
  expect(await own.state()).toBe('paused');
  expect((await own.operator().status()).state).toBe('paused');
  await own.operator().resume();
  expect(await own.state()).toBe('running');
});

test('An outbox that was paused by refusals of the service is resumed', async () => {
  const own = await operatedFixture('refused');
  await own.refuse();
  expect(await own.state()).toBe('paused');
  await own.operator().resume();
  expect(await own.state()).toBe('running');
});

test('An outbox that is resumed is due at once, although nothing in it could be sent before', async () => {
  const own = await operatedFixture('due');
  await own.operator().pause();
  await own.put('c');
  await own.look();
  expect(await own.dueAt()).toBeGreaterThan(Date.now());
  await own.operator().resume();
  expect(await own.dueAt()).toBeLessThanOrEqual(Date.now());
});

test.each([
  ['pause', 'resume', 'paused', 'running'],
  ['resume', 'pause', 'running', 'paused'],
] as const)(
  'A %s that a %s overtakes leaves the outbox in the later state',
  async (first, second, begun, last) => {
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
    expect(await own.state()).toBe(last);
  },
);

test('Messages that are due and not claimed are cancelled with those that wait', async () => {
  const own = await outboxFixture(redis, prefix);
  for (const id of ['a', 'b', 'c']) await own.put(id);
  await own.tend();
  await own.put('later', 3_600_000);
  expect(await own.cancelAll()).toMatchObject({ cancelled: 4 });
  expect(await own.counts()).toMatchObject({ total: 4, sum: 4, waiting: 0, cancelled: 4 });
  expect(await own.claim()).toEqual([]);
});
