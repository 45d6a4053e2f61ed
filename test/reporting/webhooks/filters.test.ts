import { expect, test } from 'vitest';
import type { Keys } from '../../../src/base/redis/keys.js';
import { inboundStore } from '../../../src/engine/inbound/inbound-store.js';
import { resultsLogs } from '../../../src/reporting/results-log.js';
import { laneReader } from '../../../src/reporting/webhooks/lane-reader.js';
import type { Reader } from '../../../src/reporting/webhooks/sources.js';
import { outboxFixture } from '../../intake/outbox/outbox-fixture.js';
import { people } from '../results-fixture.js';
import { webhookScene } from './fixture.js';

const { redis, receiver, fixture, references } = await webhookScene('webhooks-filters');

test('An endpoint with tags gets the results and states of campaigns that have one of them, and nothing else', async () => {
  const { webhooks, turn, campaign, send, keys, stored } = fixture();
  await redis.sadd(keys.lanes, 'default');
  const { id, secret } = await webhooks.add({ url: receiver.url, tags: ['spring', 'vip'] });
  receiver.secrets.push(secret);
  await campaign({ recipients: people(2), tags: ['vip', 'other'] });
  await campaign({ recipients: people(2, 10), tags: ['winter'] });
  await campaign({ recipients: people(2, 20) });
  await send('T');
  await stored.changeRecord({ closed: JSON.stringify({ stopped: { why: '403', since: 1 } }), epoch: 7 });
  expect(await turn(id)).toBeNull();
  expect(references().sort()).toEqual(['order-0', 'order-1']);
  expect(receiver.others.map(({ event }) => event.type)).toEqual(['campaign.state']);
  expect(receiver.problems).toEqual([]);
});

test('An endpoint gets events of its types only, and those of others that happen meanwhile not even later', async () => {
  const { webhooks, turn, settle, keys } = fixture();
  await redis.sadd(keys.lanes, 'default');
  const { id, secret } = await webhooks.add({ url: receiver.url, events: ['campaign.state'] });
  receiver.secrets.push(secret);
  await settle(2);
  await turn(id);
  expect(receiver.received).toEqual([]);
  expect(receiver.others.map(({ event }) => event.type)).toEqual(['campaign.state']);
  await webhooks.set(id, { url: receiver.url });
  await turn(id);
  expect(receiver.received).toEqual([]);
  await settle(1, 5);
  await turn(id);
  expect(references()).toEqual(['order-5']);
});

/** Stores a message from a person on a lane. */
async function receive(keys: Keys, lane: string, text: string): Promise<void> {
  const store = inboundStore(redis, keys, lane);
  const from = '+447700900001';
  const message = await store.receive({ messageId: text, from, to: 'ACME', text });
  if (typeof message === 'object') await store.log(message, { id: text, from, to: 'ACME', text, at: 1 });
}

test('What an endpoint does not want is passed over: nothing wakes it again for that, and it never comes later', async () => {
  const { webhooks, turn, keys, stored, store, options } = fixture();
  await redis.sadd(keys.lanes, 'default');
  const { id, secret } = await webhooks.add({ url: receiver.url, events: ['recipients.settled'] });
  receiver.secrets.push(secret);
  await receive(keys, 'default', 'Meanwhile');
  await stored.changeRecord({ closed: JSON.stringify({ stopped: { why: '403', since: 1 } }), epoch: 7 });
  const ahead = async () => options.lanes.ahead(['default'], await store.cursors(id));
  expect(await ahead()).toEqual(['default']);
  expect(await turn(id)).toBeNull();
  expect(await ahead()).toEqual([]);
  await webhooks.set(id, { url: receiver.url });
  await receive(keys, 'default', 'Afterwards');
  await turn(id);
  expect(receiver.others.map(({ event }) => event.data['text'])).toEqual(['Afterwards']);
});

test('An endpoint of one lane gets nothing of another', async () => {
  const { webhooks, turn, keys, finder } = fixture();
  await finder.configured();
  await redis.sadd(keys.lanes, 'default', 'west');
  const { id, secret } = await webhooks.add({ url: receiver.url, lanes: ['default'] });
  receiver.secrets.push(secret);
  await receive(keys, 'west', 'To the west');
  await receive(keys, 'default', 'To the default lane');
  await turn(id);
  expect(receiver.others.map(({ event }) => event.data['text'])).toEqual(['To the default lane']);
});

test('An endpoint with outboxes or tags gets the results of their messages', async () => {
  const own = await outboxFixture(redis, 'filters');
  const { settings } = await own.read();
  await own.change({ settings: JSON.stringify({ ...settings, tags: ['visits'] }) });
  await own.put('m1', 5_000);
  await own.cancel('m1');
  const finder = { nameOf: async (lane: string) => lane };
  const lanes = laneReader({
    redis,
    keys: own.keys,
    logs: resultsLogs(redis, own.keys, finder),
    clock: Date.now,
  });
  const isTold = async (filter: Partial<Reader>): Promise<boolean> => {
    const reader = { id: 'e1', events: null, outboxes: null, tags: null, ...filter };
    const room = { deliveries: 32, results: 200 };
    const { steps } = await lanes.read(reader, own.laneId, new Map(), room);
    return steps.some(({ deliveries }) => deliveries.length > 0);
  };
  expect(await isTold({})).toBe(true);
  expect(await isTold({ outboxes: [own.name] })).toBe(true);
  expect(await isTold({ outboxes: ['others'] })).toBe(false);
  expect(await isTold({ outboxes: ['others'], tags: ['visits'] })).toBe(true);
  expect(await isTold({ tags: ['spring'] })).toBe(false);
  expect(await isTold({ events: ['lane.stopped'] })).toBe(false);
});

test('After its address was changed, an endpoint gets what waits at the new one, at once and with the same secret', async () => {
  const { webhooks, turn, settle, add, pass } = fixture();
  const { id } = await add(receiver);
  await settle(1);
  receiver.answer(() => 503);
  await turn(id);
  pass(1_000);
  await turn(id);
  const before = receiver.received.length;
  const moved = await webhooks.set(id, { url: `${receiver.url}/new` });
  expect(moved).toMatchObject({ url: `${receiver.url}/new`, failingSince: null, waitingCount: 2 });
  receiver.answer(() => 200);
  expect(await turn(id)).toBeNull();
  expect(receiver.received.length).toBeGreaterThan(before);
  expect(receiver.problems).toEqual([]);
  expect(await webhooks.get(id)).toMatchObject({ waitingCount: 0 });
  await expect(webhooks.set(id, { url: 'http://shop.example/' })).rejects.toThrow('must begin with https://');
});

test('A filter with a name that nothing can have is refused, and nothing is stored', async () => {
  const { webhooks } = fixture();
  for (const [field, filter] of [
    ['tags', { tags: ['vip', 'a b'] }],
    ['outboxes', { outboxes: ['-orders'] }],
  ] as const)
    await expect(webhooks.add({ url: receiver.url, ...filter })).rejects.toMatchObject({
      message: expect.stringContaining(`\`${field}\` contains`),
      errors: [{ pointer: `/${field}` }],
    });
  expect(await webhooks.list()).toEqual([]);
});
