import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { deliveryOf, packDelivery } from '../../../src/reporting/webhooks/delivery.js';
import type { Poster } from '../../../src/reporting/webhooks/post.js';
import { createSeal } from '../../../src/service/auth/seal.js';
import { people } from '../results-fixture.js';
import { webhookScene } from './fixture.js';

const { redis, receiver, fixture, endpoint, references } = await webhookScene('webhooks-deliver');

const SECOND = 1_000;
const HOUR = 3_600_000;

test('An endpoint gets each result once, signed as Standard Webhooks says, with its campaign', async () => {
  const { campaign, send, turn, webhooks, id } = await endpoint();
  const sent = await campaign({ recipients: people(450), metadata: { shop: '17' }, name: 'Orders' });
  await send('T');
  expect(await turn()).toBeNull();
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
  const { add, turn, settle } = fixture();
  await settle(3);
  const { id } = await add(receiver);
  await settle(2, 10, 'I');
  await turn(id);
  expect(references()).toEqual(['order-10', 'order-11']);
});

test('Four requests to an endpoint run at a time, and no more', async () => {
  const { turn, settle } = await endpoint();
  await settle(2_000);
  receiver.answer(async () => {
    while (receiver.received.length < 4) await delay(5);
    // A fifth would arrive meanwhile.
    if (receiver.received.length <= 8) await delay(30);
    return 200;
  });
  await turn();
  expect(references()).toHaveLength(2_000);
  expect(receiver.most()).toBe(4);
});

test('A request is repeated with the same id and the current state, after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, and every 10 h', async () => {
  const { campaign, send, turn, pass } = await endpoint();
  await campaign({ recipients: people(1) });
  await send('U', 'unknown');
  receiver.answer(() => 500);
  const waits: (number | null)[] = [];
  for (let at = 0; at < 8; at += 1) {
    const next = await turn();
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
  const { turn, store, settle, id } = await endpoint();
  await settle(300);
  const stored: string[][] = [];
  const dying = {
    async post() {
      stored.push((await store.deliveries(id)).map((one) => one.id).sort());
      throw new Error('the process died');
    },
    close() {},
  };
  await expect(turn({ poster: dying })).rejects.toThrow('the process died');
  await turn();
  expect(stored[0]?.length).toBeGreaterThan(0);
  const ids = [...receiver.received, ...receiver.others].map((one) => one.id);
  expect(ids).toEqual(expect.arrayContaining(stored[0] ?? []));
  expect(references()).toHaveLength(300);
});

test('A final state is in one event, although an event about the time before it was not delivered yet', async () => {
  const { campaign, send, turn, lane } = await endpoint();
  await campaign({ recipients: people(3) });
  await send('', 'unknown');
  const dying = { post: () => Promise.reject(new Error('the process died')), close() {} };
  await expect(turn({ poster: dying })).rejects.toThrow('the process died');
  await lane.commands.resolve('resend', 'again', await lane.commands.unknown(), Date.now() + 3_600_000);
  await send('TCT');
  await turn();
  expect(receiver.results().map(({ reference, status }) => `${reference} ${status}`)).toEqual([
    'order-0 deliveredToTerminal',
    'order-1 unconfirmed',
    'order-2 deliveredToTerminal',
  ]);
});

test('Requests that name the same recipient are never in flight together', async () => {
  const { turn, latest, settle } = await endpoint();
  await settle(300);
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
  await turn();
  expect(receiver.received.length).toBeGreaterThan(2);
  expect(new Set(references()).size).toBe(300);
  expect(references().length).toBeGreaterThan(500);
  expect(most).toBe(1);
});

test('Retry-After holds all requests to the endpoint', async () => {
  const { turn, pass, settle } = await endpoint();
  await settle(1);
  receiver.answer(() => [503, { 'retry-after': '600' }]);
  expect(await turn()).toBe(600 * SECOND);
  await settle(1, 5);
  pass(10 * SECOND);
  expect(await turn()).toBe(590 * SECOND);
  expect(receiver.received).toHaveLength(1);
  receiver.answer(() => 200);
  pass(590 * SECOND);
  expect(await turn()).toBeNull();
  expect(references().sort()).toEqual(['order-0', 'order-5']);
});

test('410 disables the endpoint at once, and enabling it delivers what it has missed', async () => {
  const { turn, webhooks, emitted, settle, id } = await endpoint();
  await settle(1);
  receiver.answer(() => 410);
  expect(await turn()).toBeNull();
  expect(await webhooks.get(id)).toMatchObject({ state: 'disabled', disabledBecause: 'gone' });
  expect(emitted).toContainEqual(expect.objectContaining({ type: 'webhook.disabled', because: 'gone' }));
  await settle(1, 5);
  expect(await turn()).toBeNull();
  expect(receiver.received).toHaveLength(1);
  receiver.answer(() => 200);
  await webhooks.enable(id);
  expect(await turn()).toBeNull();
  expect(references().sort()).toEqual(['order-0', 'order-5']);
});

test('Five days of failures, from the first of several within 24 hours, disable the endpoint', async () => {
  const { turn, pass, webhooks, settle, id } = await endpoint();
  await settle(1);
  receiver.answer(() => 404);
  let waited = 0;
  while ((await webhooks.get(id)).state === 'enabled' && waited < 200 * HOUR) {
    const next = (await turn()) ?? 0;
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
  const { turn, settle } = await endpoint();
  await settle(300);
  receiver.answer(({ event }) => (event.data.results.length > 30 ? 413 : 200));
  expect(await turn()).toBeNull();
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
  const { turn, pass, webhooks, settle, id } = await endpoint();
  await settle(1);
  let isRefusing = true;
  receiver.answer(({ event }) =>
    isRefusing && event.data.results.some(({ reference }) => reference === 'order-0') ? 422 : 200,
  );
  pass((await turn()) ?? 0);
  for (const at of [1, 2]) {
    await settle(1, at);
    pass((await turn()) ?? 0);
  }
  await turn();
  expect(await webhooks.get(id)).toMatchObject({ failedCount: 1, waitingCount: 0 });
  const [failed] = (await webhooks.failed(id)).failed;
  expect(failed).toMatchObject({ resultCount: 1, attemptCount: 3, reason: 'the endpoint answered 422' });
  isRefusing = false;
  expect(await webhooks.replay(id)).toBe(1);
  expect(await turn()).toBeNull();
  expect(receiver.received.at(-1)?.id).toBe(failed?.id);
  expect(await webhooks.get(id)).toMatchObject({ failedCount: 0, waitingCount: 0 });
});

test('Each of many events that were given up is in one page, and replayed once', async () => {
  const { webhooks, keys, id } = await endpoint();
  const many = Array.from({ length: 1_000 }, (_, at) =>
    deliveryOf(id, 'lane.stopped', 'default', `${at}`, at),
  );
  const packed = many.toReversed().flatMap((one) => [one.id, packDelivery(one)]);
  await redis.hset(keys.webhooks.failed(id), ...packed);
  const listed: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await webhooks.failed(id, { limit: 300, cursor });
    expect(page.failed.length).toBe(listed.length < 900 ? 300 : 100);
    listed.push(...page.failed.map((one) => one.id));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  expect(listed).toEqual(many.map((one) => one.id).sort());
  await expect(webhooks.failed(id, { limit: 501 })).rejects.toThrow('ask for 1 to 500 events');
  const [, second] = many;
  expect(await webhooks.replay(id, { delivery: second?.id })).toBe(1);
  await expect(webhooks.replay(id, { delivery: second?.id })).rejects.toThrow('has no failed event');
  expect(await webhooks.replay(id)).toBe(999);
  expect(await webhooks.get(id)).toMatchObject({ failedCount: 0, waitingCount: 1_000 });
});

test('An endpoint that is back after an outage gets everything at once', async () => {
  const { turn, pass, settle } = await endpoint();
  await settle(900);
  receiver.answer(() => 503);
  for (let passed = 0; passed < HOUR; ) {
    const next = (await turn()) ?? 0;
    passed += next;
    pass(next);
  }
  receiver.answer(() => 200);
  receiver.received.length = 0;
  expect(await turn()).toBeNull();
  expect(references()).toHaveLength(900);
});

test('Results that were removed before they were delivered are counted', async () => {
  const { turn, pass, webhooks, keys, settle, id } = await endpoint();
  const sent = await settle(5);
  receiver.answer(() => 500);
  await turn();
  await removeCampaign(redis, keys, 'default', sent);
  receiver.received.length = 0;
  pass(HOUR);
  expect(await turn()).toBeNull();
  expect(receiver.received).toEqual([]);
  expect(await webhooks.get(id)).toMatchObject({ removedCount: 5, waitingCount: 0 });
});

test('An endpoint that does not answer has one request in a turn after the first, and at most one a minute in the end', async () => {
  const { turn, pass, options, settle } = await endpoint({ timeoutMs: 20 });
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
    await settle(1, at);
    posted = 0;
    const wait = (await turn({ poster })) ?? 0;
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
  const { turn, webhooks, store, settle, id } = await endpoint();
  const before = await store.endpoint(id);
  await settle(1);
  expect(await turn({ seal: createSeal(key) })).toBe(60 * SECOND);
  expect([receiver.received, receiver.others, await store.endpoint(id)]).toEqual([[], [], before]);
  await turn();
  expect([receiver.received.length, receiver.problems]).toEqual([1, []]);
  expect(await webhooks.get(id)).toMatchObject({ resultCount: 1, failingSince: null });
});

test('A late answer of a former address says nothing about the new one', async () => {
  const { turn, webhooks, settle, id } = await endpoint();
  await settle(1);
  receiver.answer(async ({ event }) => {
    if (event.type !== 'recipients.settled') return 200;
    receiver.answer(() => 200);
    await webhooks.set(id, { url: `${receiver.url}/new` });
    return [503, { 'retry-after': '36000' }] as never;
  });
  await turn();
  expect(await webhooks.get(id)).toMatchObject({ failingSince: null });
  expect(await turn()).toBeNull();
  expect(receiver.received).toHaveLength(2);
  expect(await webhooks.get(id)).toMatchObject({ waitingCount: 0 });
});

test('What is replayed during a turn is due after it', async () => {
  const { turn, webhooks, settle, store, keys, id } = await endpoint();
  const failed = deliveryOf(id, 'lane.stopped', 'default', '1', 1);
  await redis.hset(keys.webhooks.failed(id), failed.id, packDelivery(failed));
  await settle(1);
  receiver.answer(async ({ event }) => {
    if (event.type === 'recipients.settled') await webhooks.replay(id);
    return 200;
  });
  expect(await turn()).toBeNull();
  expect(await store.due(Date.now())).toEqual([id]);
});
