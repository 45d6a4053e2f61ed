import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import type { Operator } from '../../../src/campaign/states/audit.js';
import { inboundService } from '../../../src/engine/inbound/inbound-service.js';
import { inboundStore } from '../../../src/engine/inbound/inbound-store.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { deliveryOf, packDelivery } from '../../../src/reporting/webhooks/delivery.js';
import { disableEnded } from '../../../src/reporting/webhooks/key-ends.js';
import type { Poster } from '../../../src/reporting/webhooks/post.js';
import { createSeal } from '../../../src/service/auth/seal.js';
import { byKey, OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { people } from '../results-fixture.js';
import { startReceiver, webhookFixture } from './fixture.js';

const { prefix, redis } = testRedis('webhooks');
const receiver = await startReceiver();
afterAll(() => receiver.close());
beforeEach(() => receiver.reset());

const SECOND = 1_000;
const HOUR = 3_600_000;

let fixtures = 0;
const fixture = (options?: Parameters<typeof webhookFixture>[2]) =>
  webhookFixture(redis, `${prefix}-${++fixtures}`, options);

const references = (): string[] => receiver.results().map(({ reference }) => reference ?? '');

test('An endpoint gets each result once, signed as Standard Webhooks says, with its campaign', async () => {
  const { campaign, send, add, turn, webhooks } = fixture();
  const { id } = await add(receiver);
  const sent = await campaign({ recipients: people(450), metadata: { shop: '17' }, name: 'Orders' });
  await send('T');
  expect(await turn(id)).toBeNull();
  expect(receiver.problems).toEqual([]);
  expect(references().sort()).toEqual(
    people(450)
      .map(({ reference }) => reference)
      .sort(),
  );
  const [first] = receiver.received;
  expect(JSON.parse(first?.body ?? '')).toMatchObject({
    type: 'recipients.settled',
    timestamp: expect.stringMatching(/^\d{4}-/),
    data: { campaigns: { [sent]: { name: 'Orders', metadata: { shop: '17' } } } },
  });
  for (const { event, body } of receiver.received) {
    expect(event.data.results.length).toBeLessThanOrEqual(200);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(64 * 1024);
  }
  expect(await webhooks.get(id)).toMatchObject({ resultCount: 450, waitingCount: 0, failingSince: null });
});

test('A new endpoint gets only what happens after it was added', async () => {
  const { campaign, send, add, turn } = fixture();
  await campaign({ recipients: people(3) });
  await send('T');
  const { id } = await add(receiver);
  await campaign({ recipients: people(2, 10) });
  await send('I');
  await turn(id);
  expect(references()).toEqual(['order-10', 'order-11']);
});

test('Four requests to an endpoint run at a time, and no more', async () => {
  const { campaign, send, add, turn } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(2_000) });
  await send('T');
  receiver.answer(async () => {
    while (receiver.received.length < 4) await delay(5);
    // A fifth would arrive meanwhile.
    if (receiver.received.length <= 8) await delay(30);
    return 200;
  });
  await turn(id);
  expect(references()).toHaveLength(2_000);
  expect(receiver.most()).toBe(4);
});

test('A request is repeated with the same id and the current state, after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, and every 10 h', async () => {
  const { campaign, send, add, turn, pass } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(1) });
  await send('U', 'unknown');
  receiver.answer(() => 500);
  const waits: (number | null)[] = [];
  for (let at = 0; at < 8; at += 1) {
    const next = await turn(id);
    waits.push(next);
    pass(next ?? 0);
  }
  expect(waits.map((ms) => (ms ?? 0) / SECOND)).toEqual([
    5, 300, 1_800, 7_200, 18_000, 36_000, 36_000, 36_000,
  ]);
  expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1);
  const stamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(stamps).toEqual([...new Set(stamps)]);
  expect(receiver.received.at(-1)?.event.data.results[0]?.status).toBe('unknown');
});

test('A delivery is stored before its request, so one that was not answered is repeated by the next turn with the same id', async () => {
  const { campaign, send, add, turn, store } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(300) });
  await send('T');
  const stored: string[][] = [];
  const dying = {
    async post() {
      stored.push((await store.deliveries(id)).map((one) => one.id).sort());
      throw new Error('the process died');
    },
    close() {},
  };
  await expect(turn(id, { poster: dying })).rejects.toThrow('the process died');
  await turn(id);
  expect(stored[0]?.length).toBeGreaterThan(0);
  const ids = [...receiver.received, ...receiver.others].map((one) => one.id);
  expect(ids).toEqual(expect.arrayContaining(stored[0] ?? []));
  expect(references()).toHaveLength(300);
});

test('A final state is in one event, although an event about the time before it was not delivered yet', async () => {
  const { campaign, send, add, turn, lane } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(3) });
  await send('', 'unknown');
  const dying = { post: () => Promise.reject(new Error('the process died')), close() {} };
  await expect(turn(id, { poster: dying })).rejects.toThrow('the process died');
  await lane.commands.resolve('resend', 'again', await lane.commands.unknown(), Date.now() + 3_600_000);
  await send('TCT');
  await turn(id);
  expect(receiver.results().map(({ reference, status }) => `${reference} ${status}`)).toEqual([
    'order-0 deliveredToTerminal',
    'order-1 unconfirmed',
    'order-2 deliveredToTerminal',
  ]);
});

test('Requests that name the same recipient are never in flight together', async () => {
  const { campaign, send, add, turn, latest } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(300) });
  await send('T');
  // The same recipients have changed again.
  await redis.append(latest, (await redis.getBuffer(latest)) ?? '');
  const open = new Map<string, number>();
  let most = 0;
  const count = (references: readonly string[], by: number): void => {
    for (const reference of references) {
      open.set(reference, (open.get(reference) ?? 0) + by);
      most = Math.max(most, open.get(reference) ?? 0);
    }
  };
  receiver.answer(async ({ event }) => {
    const named = event.data.results.map(({ reference }) => reference ?? '');
    count(named, 1);
    await delay(20);
    count(named, -1);
    return 200;
  });
  await turn(id);
  expect(receiver.received.length).toBeGreaterThan(2);
  expect(new Set(references()).size).toBe(300);
  expect(references().length).toBeGreaterThan(500);
  expect(most).toBe(1);
});

test('Retry-After holds all requests to the endpoint', async () => {
  const { campaign, send, add, turn, pass } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(1) });
  await send('T');
  receiver.answer(() => [503, { 'retry-after': '600' }]);
  expect(await turn(id)).toBe(600 * SECOND);
  await campaign({ recipients: people(1, 5) });
  await send('T');
  pass(10 * SECOND);
  expect(await turn(id)).toBe(590 * SECOND);
  expect(receiver.received).toHaveLength(1);
  receiver.answer(() => 200);
  pass(590 * SECOND);
  expect(await turn(id)).toBeNull();
  expect(references().sort()).toEqual(['order-0', 'order-5']);
});

test('410 disables the endpoint at once, and enabling it delivers what it has missed', async () => {
  const { campaign, send, add, turn, webhooks, emitted } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(1) });
  await send('T');
  receiver.answer(() => 410);
  expect(await turn(id)).toBeNull();
  expect(await webhooks.get(id)).toMatchObject({ state: 'disabled', disabledBecause: 'gone' });
  expect(emitted).toContainEqual(expect.objectContaining({ type: 'webhook.disabled', because: 'gone' }));
  await campaign({ recipients: people(1, 5) });
  await send('T');
  expect(await turn(id)).toBeNull();
  expect(receiver.received).toHaveLength(1);
  receiver.answer(() => 200);
  await webhooks.enable(id);
  expect(await turn(id)).toBeNull();
  expect(references().sort()).toEqual(['order-0', 'order-5']);
});

test('Five days of failures, from the first of several within 24 hours, disable the endpoint', async () => {
  const { campaign, send, add, turn, pass, webhooks } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(1) });
  await send('T');
  receiver.answer(() => 404);
  let waited = 0;
  while ((await webhooks.get(id)).state === 'enabled' && waited < 200 * HOUR) {
    const next = (await turn(id)) ?? 0;
    waited += next;
    pass(next);
  }
  expect(await webhooks.get(id)).toMatchObject({
    disabledBecause: 'failing',
    lastError: 'the endpoint answered 404',
  });
  expect(waited).toBeGreaterThanOrEqual(120 * HOUR);
  expect(waited).toBeLessThanOrEqual(131 * HOUR);
});

test('A 413 halves the request until it is accepted', async () => {
  const { campaign, send, add, turn } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(300) });
  await send('T');
  receiver.answer(({ event }) => (event.data.results.length > 30 ? 413 : 200));
  expect(await turn(id)).toBeNull();
  const accepted = receiver.received.filter(({ event }) => event.data.results.length <= 30);
  const delivered = accepted.flatMap(({ event }) => event.data.results.map(({ reference }) => reference));
  expect(delivered.sort()).toEqual(
    people(300)
      .map(({ reference }) => reference)
      .sort(),
  );
  expect(new Set(accepted.map((one) => one.id)).size).toBe(accepted.length);
});

test('A request that is refused three times while others are accepted is given up, listed, and can be replayed', async () => {
  const { campaign, send, add, turn, pass, webhooks } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(1) });
  await send('T');
  let isRefusing = true;
  receiver.answer(({ event }) =>
    isRefusing && event.data.results.some(({ reference }) => reference === 'order-0') ? 422 : 200,
  );
  pass((await turn(id)) ?? 0);
  for (const at of [1, 2]) {
    await campaign({ recipients: people(1, at) });
    await send('T');
    pass((await turn(id)) ?? 0);
  }
  await turn(id);
  expect(await webhooks.get(id)).toMatchObject({ failedCount: 1, waitingCount: 0 });
  const [failed] = await webhooks.failed(id);
  expect(failed).toMatchObject({ resultCount: 1, attemptCount: 3, reason: 'the endpoint answered 422' });
  isRefusing = false;
  expect(await webhooks.replay(id)).toBe(1);
  expect(await turn(id)).toBeNull();
  expect(receiver.received.at(-1)?.id).toBe(failed?.id);
  expect(await webhooks.get(id)).toMatchObject({ failedCount: 0, waitingCount: 0 });
});

test('Each of many events that were given up is listed once, oldest first, and replayed once', async () => {
  const { add, webhooks, keys } = fixture();
  const { id } = await add(receiver);
  const many = Array.from({ length: 1_000 }, (_, at) =>
    deliveryOf(id, 'lane.stopped', 'default', `${at}`, at),
  );
  const packed = many.toReversed().flatMap((one) => [one.id, packDelivery(one)]);
  await redis.hset(keys.webhooks.failed(id), ...packed);
  expect((await webhooks.failed(id)).map((one) => one.id)).toEqual(many.map((one) => one.id));
  const [, second] = many;
  expect(await webhooks.replay(id, { delivery: second?.id })).toBe(1);
  await expect(webhooks.replay(id, { delivery: second?.id })).rejects.toThrow('has no failed event');
  expect(await webhooks.replay(id)).toBe(999);
  expect(await webhooks.get(id)).toMatchObject({ failedCount: 0, waitingCount: 1_000 });
});

test('An endpoint that is back after an outage gets everything at once', async () => {
  const { campaign, send, add, turn, pass } = fixture();
  const { id } = await add(receiver);
  await campaign({ recipients: people(900) });
  await send('T');
  receiver.answer(() => 503);
  for (let passed = 0; passed < HOUR; ) {
    const next = (await turn(id)) ?? 0;
    passed += next;
    pass(next);
  }
  receiver.answer(() => 200);
  receiver.received.length = 0;
  expect(await turn(id)).toBeNull();
  expect(references()).toHaveLength(900);
});

test('Results that were removed before they were delivered are counted', async () => {
  const { campaign, send, add, turn, pass, webhooks, keys } = fixture();
  const { id } = await add(receiver);
  const sent = await campaign({ recipients: people(5) });
  await send('T');
  receiver.answer(() => 500);
  await turn(id);
  await removeCampaign(redis, keys, 'default', sent);
  receiver.received.length = 0;
  pass(HOUR);
  expect(await turn(id)).toBeNull();
  expect(receiver.received).toEqual([]);
  expect(await webhooks.get(id)).toMatchObject({ removedCount: 5, waitingCount: 0 });
});

test('Events are signed with both secrets during a rotation, and only with the new one afterwards', async () => {
  const { campaign, send, add, turn, pass, webhooks } = fixture();
  const { id } = await add(receiver);
  const { secret } = await webhooks.rotate(id);
  await campaign({ recipients: people(1) });
  await send('T');
  await turn(id);
  expect(receiver.problems).toEqual([]);
  expect(receiver.received[0]?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(2);
  receiver.secrets.splice(0, 1, secret);
  pass(25 * HOUR);
  await campaign({ recipients: people(1, 5) });
  await send('T');
  receiver.answer(() => 200);
  await turn(id);
  expect(receiver.received[1]?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(1);
});

test('A rotation ends the former secret after its overlap, which is at most 30 days', async () => {
  const { campaign, send, add, turn, pass, webhooks } = fixture();
  const { id } = await add(receiver);
  const { secret } = await webhooks.rotate(id, { overlap: '2h' });
  await webhooks.rotate(id, { overlap: '0s' }).then((now) => receiver.secrets.splice(0, 1, now.secret));
  expect(receiver.secrets).not.toContain(secret);
  await campaign({ recipients: people(1) });
  await send('T');
  await turn(id);
  expect(receiver.received[0]?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(1);
  expect(receiver.problems).toEqual([]);
  await webhooks.rotate(id, { overlap: '2h' });
  expect((await webhooks.get(id)).oldSecretUntil).not.toBeNull();
  pass(2 * HOUR);
  expect((await webhooks.get(id)).oldSecretUntil).toBeNull();
  await expect(webhooks.rotate(id, { overlap: '31d' })).rejects.toThrow('`overlap` must be at most 30d');
});

test('What is done to an endpoint of one lane is recorded on that lane', async () => {
  const recorded: [action: string, lane: string | undefined][] = [];
  const by: Operator = {
    ...OPERATOR,
    audited({ action, lane }, run) {
      recorded.push([action, lane]);
      return run();
    },
  };
  const { webhooks } = fixture({ by });
  const { id } = await webhooks.add({ url: receiver.url, lanes: ['default'] });
  await webhooks.test(id);
  await webhooks.rotate(id);
  await webhooks.disable(id);
  await webhooks.enable(id);
  await webhooks.replay(id);
  await webhooks.remove(id);
  expect(recorded).toEqual(
    ['add', 'test', 'rotate', 'disable', 'enable', 'replay', 'remove'].map((verb) => [
      `webhook.${verb}`,
      'default',
    ]),
  );
});

test.each([
  ['was revoked', 'revoked', 'keyRevoked'],
  ['has expired', 'expired', 'keyExpired'],
  ['does not work any more', 'invalid', 'keyInvalid'],
] as const)(
  'An endpoint whose API key %s is disabled before its next request',
  async (text, state, because) => {
    const { campaign, send, service, turn, lives, webhooks, emitted } = fixture();
    const { id } = await service(byKey('0123456789ab')).add({ url: receiver.url });
    await campaign({ recipients: people(1) });
    await send('T');
    lives.set('0123456789ab', { state, until: null });
    expect(await turn(id)).toBeNull();
    expect(receiver.received).toEqual([]);
    expect(await webhooks.get(id)).toMatchObject({ state: 'disabled', disabledBecause: because });
    expect(emitted).toContainEqual(expect.objectContaining({ type: 'webhook.disabled', because }));
    await expect(webhooks.enable(id)).rejects.toThrow(
      `the API key that added webhook ${id} ${text}: add it again with another key`,
    );
  },
);

test('An endpoint gets nothing from the moment when its API key ends, in the middle of a turn', async () => {
  const { campaign, send, service, turn, lives, webhooks, pass, options } = fixture();
  const { id, secret } = await service(byKey('0123456789ab')).add({ url: receiver.url });
  receiver.secrets.push(secret);
  const until = options.clock() + HOUR;
  lives.set('0123456789ab', { state: 'active', until });
  await campaign({ recipients: people(2_000) });
  await send('T');
  receiver.answer(() => {
    if (options.clock() < until) pass(HOUR);
    return 200;
  });
  await turn(id);
  // The first four were in flight.
  expect(receiver.received.length).toBeLessThanOrEqual(4);
  lives.set('0123456789ab', { state: 'expired', until });
  await turn(id);
  expect(await webhooks.get(id)).toMatchObject({ disabledBecause: 'keyExpired' });
});

test('An endpoint whose API key has ended is disabled although nothing happens, by a process that can tell', async () => {
  const { service, lives, webhooks, options, store, add } = fixture();
  const keyed = await service(byKey('0123456789ab')).add({ url: receiver.url });
  const own = await add(receiver);
  lives.set('0123456789ab', { state: 'expired', until: null });
  const stateOf = async (id: string) => (await webhooks.get(id)).disabledBecause;
  await disableEnded({ ...options, seal: createSeal('another key') }, await store.endpoints());
  expect(await stateOf(keyed.id)).toBeNull();
  await disableEnded(options, await store.endpoints());
  expect([await stateOf(keyed.id), await stateOf(own.id)]).toEqual(['keyExpired', null]);
});

test('A key may have 20 endpoints and a lane 50, however many are added at the same time', async () => {
  const { service, webhooks } = fixture();
  const addMany = async (by: Operator, count: number, lanes?: readonly string[]) => {
    const added = await Promise.allSettled(
      Array.from({ length: count }, (_, at) => service(by).add({ url: `${receiver.url}/${at}`, lanes })),
    );
    return added.flatMap((one) => (one.status === 'rejected' ? [String(one.reason.message)] : []));
  };
  const full = 'API key 0123456789ab has 20 webhooks, and may have no more: remove one';
  expect(await addMany(byKey('0123456789ab'), 22)).toEqual([full, full]);
  expect(await addMany(OPERATOR, 52, ['default'])).toEqual(
    Array(2).fill('lane default has 50 webhooks, and may have no more: remove one'),
  );
  // Others are not affected.
  expect(await addMany(byKey('ba9876543210'), 1)).toEqual([]);
  expect(await addMany(OPERATOR, 1)).toEqual([]);
  const its = (await webhooks.list()).find(({ createdBy }) => createdBy.id === '0123456789ab');
  await webhooks.remove(its?.id ?? '');
  expect(await addMany(byKey('0123456789ab'), 1)).toEqual([]);
});

test('An endpoint that does not answer has one request in a turn after the first, and at most one a minute in the end', async () => {
  const { campaign, send, add, turn, pass, options } = fixture({ timeoutMs: 20 });
  const { id } = await add(receiver);
  receiver.answer(() => 'nothing');
  let posted = 0;
  const poster: Poster = {
    ...options.poster,
    post(...request) {
      posted += 1;
      return options.poster.post(...request);
    },
  };
  const requests: number[] = [];
  const waits: number[] = [];
  // Something happens before each turn, which is woken each time.
  for (let at = 0; at < 30; at += 1) {
    await campaign({ recipients: people(1, at) });
    await send('T');
    posted = 0;
    const wait = (await turn(id, { poster })) ?? 0;
    requests.push(posted);
    waits.push(wait / SECOND);
    pass(wait);
  }
  expect(requests.slice(1)).toEqual(Array(29).fill(1));
  expect(waits[0]).toBe(5);
  expect(waits.slice(-5)).toEqual(Array(5).fill(60));
});

test.each([
  ['without SECRETS_KEY', undefined],
  ['with another SECRETS_KEY', 'another secrets key'],
])('A process %s sends nothing, and leaves the endpoint to others', async (_, key) => {
  const { campaign, send, add, turn, webhooks, store } = fixture();
  const { id } = await add(receiver);
  const before = await store.endpoint(id);
  await campaign({ recipients: people(1) });
  await send('T');
  expect(await turn(id, { seal: createSeal(key) })).toBe(60 * SECOND);
  expect([receiver.received, receiver.others, await store.endpoint(id)]).toEqual([[], [], before]);
  await turn(id);
  expect([receiver.received.length, receiver.problems]).toEqual([1, []]);
  expect(await webhooks.get(id)).toMatchObject({ resultCount: 1, failingSince: null });
});

test('An endpoint learns that a campaign has another state, with its counts', async () => {
  const { campaign, send, add, turn } = fixture();
  const { id } = await add(receiver);
  const sent = await campaign({ recipients: people(2), name: 'Orders', idempotencyKey: 'order-17' });
  await turn(id);
  expect(receiver.others).toEqual([]);
  await send('T');
  await turn(id);
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
