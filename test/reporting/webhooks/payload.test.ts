import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { inboundService } from '../../../src/engine/inbound/inbound-service.js';
import { inboundStore } from '../../../src/engine/inbound/inbound-store.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { OPERATOR } from '../../app/access/operator.js';
import { people } from '../results-fixture.js';
import { webhookScene } from './fixture.js';

const { redis, receiver, fixture, endpoint } = await webhookScene('webhooks-payload');

const SECOND = 1_000;
const HOUR = 3_600_000;

test('An endpoint learns that a campaign has another state, with its counts', async () => {
  const { campaign, send, turn } = await endpoint();
  const sent = await campaign({ recipients: people(2), name: 'Orders', idempotencyKey: 'order-17' });
  await turn();
  expect(receiver.others).toEqual([]);
  await send('T');
  await turn();
  expect(receiver.others.map(({ body }) => JSON.parse(body))).toEqual([
    {
      type: 'campaign.state',
      timestamp: expect.any(String),
      data: expect.objectContaining({
        campaign: sent,
        name: 'Orders',
        lane: 'default',
        idempotencyKey: 'order-17',
        state: 'completed',
        recipientCount: 2,
        counts: expect.objectContaining({ deliveredToTerminal: 2, planned: 0 }),
        endedAt: expect.any(String),
      }),
    },
  ]);
});

test('An endpoint gets each state of a campaign once, and none that the campaign has left before the request', async () => {
  const { campaign, lane, turn, pass } = await endpoint();
  const id = await campaign({ recipients: people(2) });
  const states = () => receiver.others.map(({ event, id }) => [id, event.data['state']]);
  await lane.commands.campaign('pause', id);
  await lane.commands.campaign('resume', id);
  await lane.commands.campaign('pause', id);
  receiver.answer(() => 500);
  await turn();
  const failed = states();
  expect(failed.map(([, state]) => state)).toEqual(['paused']);
  receiver.reset();
  await lane.commands.campaign('cancel', id);
  pass(10 * SECOND);
  await turn();
  expect(states()).toEqual([[expect.any(String), 'cancelled']]);
  expect(states()[0]?.[0]).not.toBe(failed[0]?.[0]);
});

test('An endpoint learns once that a lane is stopped, and not if it is open again by then', async () => {
  const { add, turn, pass, keys, stored } = fixture();
  await redis.sadd(keys.lanes, 'default');
  const { id } = await add(receiver);
  const stop = (why: string, epoch: number) =>
    stored.changeRecord({ closed: why === '' ? '' : JSON.stringify({ stopped: { why, since: 1 } }), epoch });
  await stop('the service answered 403', 7);
  await turn(id);
  await turn(id);
  expect(receiver.others.map(({ event }) => [event.type, event.data])).toEqual([
    ['lane.stopped', { results: [], lane: 'default', state: 'stopped', reason: 'the service answered 403' }],
  ]);
  await stop('', 8);
  await turn(id);
  await stop('the service answered 404', 9);
  receiver.answer(() => 500);
  await turn(id);
  await stop('', 10);
  receiver.others.length = 0;
  pass(10 * SECOND);
  expect(await turn(id)).toBeNull();
  expect(receiver.others).toEqual([]);
});

test('An endpoint of all lanes gets the messages of a lane that has sent nothing, and none from before it was added', async () => {
  const { add, turn, keys, finder, deps } = fixture();
  const inbound = inboundService({
    redis,
    keys,
    finder,
    suppression: suppression(redis, keys),
    events: deps.events,
    clock: systemClock,
    retentionMs: 24 * HOUR,
    replies: { stopWords: [], startWords: [], stopScope: 'lane' },
    by: OPERATOR,
    lastSent: async () => null,
    sentSince: async () => [],
  });
  const receive = (text: string) =>
    inbound.receive('default', { messageId: text, from: '+447700900001', to: 'ACME', text });
  await receive('Before');
  const { id } = await add(receiver);
  await receive('After');
  await turn(id);
  expect(receiver.others.map(({ event }) => event.data['text'])).toEqual(['After']);
});

test('An endpoint gets each message that people send, in order, and none that was erased', async () => {
  const { add, turn, keys } = fixture();
  await redis.sadd(keys.lanes, 'default');
  const { id } = await add(receiver);
  const store = inboundStore(redis, keys, 'default');
  const receive = async (text: string, from: string): Promise<void> => {
    const message = await store.receive({ messageId: text, from, to: 'ACME', text });
    if (typeof message === 'object') await store.log(message, { id: text, from, to: 'ACME', text, at: 1 });
  };
  await receive('Hello', '+447700900001');
  await receive('Forget me', '+447700900002');
  await store.erase(['+447700900002']);
  await turn(id);
  expect(receiver.others.map(({ event }) => event)).toEqual([
    expect.objectContaining({
      type: 'inbound.received',
      data: expect.objectContaining({ lane: 'default', from: '+447700900001', text: 'Hello', effect: null }),
    }),
  ]);
  await receive('Bye', '+447700900001');
  await turn(id);
  expect(receiver.others.map(({ event }) => event.data['text'])).toEqual(['Hello', 'Bye']);
  expect(await turn(id)).toBeNull();
});
