import { expect, test } from 'vitest';
import { keyNames } from '../../../../src/base/redis/keys.js';
import type { InboundMessage, ListedMessage } from '../../../../src/campaign/states/inbound.js';
import { scene } from '../../../scene/scene.js';

const { api, prefix, redis, stored } = scene('http-inbound', { lanes: ['main', 'other'] });
const keys = keyNames(prefix);
const STOP_REPLY = 'You will get no more messages.';
const { call, key, volley, log } = await api({ STOP_REPLY });
const all = await api({ REDIS_PREFIX: `${prefix}-all`, STOP_SCOPE: 'all' });

let next = 0;
const number = (): string => {
  next += 1;
  return `+4477${20_000_000 + next}`;
};
const message = (more: object = {}) => {
  next += 1;
  return { lane: 'main', messageId: `m${next}`, from: number(), to: '+447700900999', text: 'Hello', ...more };
};
const post = (body: object, own?: string) => call('POST', '/v1/inbound', { key: own, body });
const suppressedOn = async (on: typeof volley, lane: string, to: string): Promise<boolean> =>
  (await on.preview({ recipients: [{ to }], message: 'Hi', lane })).suppressed === 1;
const listed = async (messageId: string): Promise<InboundMessage | undefined> => {
  const { messages } = await volley.inbound.list({ limit: 200 });
  return messages.find((each) => each.messageId === messageId);
};

/** Creates a campaign and lets its message be delivered. */
async function send(to: string, more: { sender?: string; lane?: string } = {}): Promise<string> {
  next += 1;
  const lane = more.lane ?? 'main';
  const outcome = await volley.enqueue({
    ...{ recipients: [{ to }], message: `Sale ${next}`, sender: '+447700900999', lane, ...more },
  });
  if (outcome.outcome !== 'created') throw new Error('there is no campaign');
  const sent = { state: 'completed', endedAt: 1, record: `1,${Date.now()},0,,request` };
  await stored(lane).settle(outcome.id, 'T', sent);
  return outcome.id;
}
const unconfirmed = (messageId: string): unknown =>
  log
    .map((line) => JSON.parse(line))
    .find((line) => line.event === 'inbound.unconfirmed' && line.messageId === messageId)?.reason;

test('A message is stored once, however often it is submitted', async () => {
  const one = message();
  expect(await post(one)).toMatchObject({ status: 200, json: { lane: 'main', messageId: one.messageId } });
  await Promise.all([post(one), post(one), post({ ...one, text: 'another' })]);
  const { messages } = await volley.inbound.list({ lanes: ['main'] });
  expect(messages.filter(({ messageId }) => messageId === one.messageId)).toEqual([
    expect.objectContaining({ from: one.from, to: one.to, text: 'Hello', effect: null, lastSent: null }),
  ]);
});

test('A stop word suppresses its sender on its lane, with a record that names the message, and a start word lifts only that', async () => {
  const stop = message({ text: ' Stop! ' });
  await post(stop);
  expect([
    await suppressedOn(volley, 'main', stop.from),
    await suppressedOn(volley, 'other', stop.from),
  ]).toEqual([true, false]);
  const effect = (await listed(stop.messageId))?.effect;
  expect(effect).toMatchObject({ wish: 'stop', isNew: true, inFlightCount: 0 });
  expect(await volley.suppression.operation(effect?.operation ?? '')).toMatchObject({
    source: 'reply',
    reason: `stop word in message ${stop.messageId}`,
    numberCount: 1,
    lane: 'main',
  });
  // Someone else suppresses the number, too.
  await volley.suppression.add([stop.from], { lane: 'main' });
  const start = message({ from: stop.from, text: 'START' });
  await post(start);
  expect((await listed(start.messageId))?.effect).toMatchObject({ wish: 'start', isNew: false });
  expect(await suppressedOn(volley, 'main', stop.from)).toBe(true);
  // A repeat of the earlier stop word changes nothing.
  await post(stop);
  expect(await suppressedOn(volley, 'main', stop.from)).toBe(true);
  const again = message({ from: number(), text: 'start' });
  await post(again);
  expect((await listed(again.messageId))?.effect).toMatchObject({
    wish: 'start',
    isNew: false,
    operation: null,
  });
});

test('With STOP_SCOPE=all, a stop word counts for all lanes', async () => {
  const stop = message({ text: 'stop' });
  expect((await all.call('POST', '/v1/inbound', { body: stop })).status).toBe(200);
  expect(await suppressedOn(all.volley, 'other', stop.from)).toBe(true);
  const start = message({ from: stop.from, text: 'start', lane: 'other' });
  await all.call('POST', '/v1/inbound', { body: start });
  expect(await suppressedOn(all.volley, 'main', stop.from)).toBe(false);
});

test('The parts of a message are joined before the stop word is read, in any order and with repeats', async () => {
  const parts = message({ from: number() });
  const part = (place: number, text: string) => ({
    ...parts,
    messageId: `${parts.messageId}-${place}`,
    text,
    part: { reference: 7, number: place, total: 2 },
  });
  await post(part(2, 'op'));
  await post(part(2, 'op'));
  expect(await suppressedOn(volley, 'main', parts.from)).toBe(false);
  expect(await listed(`${parts.messageId}-1`)).toBeUndefined();
  await post(part(1, 'st'));
  expect(await suppressedOn(volley, 'main', parts.from)).toBe(true);
  expect(await listed(`${parts.messageId}-1`)).toMatchObject({ text: 'stop', effect: { wish: 'stop' } });
});

test.each([
  ['447720990001', '+447720990001'],
  ['tel:%2B447720990002', '+447720990002'],
  ['0044 7720 990003', '+447720990003'],
  ['+5215512345678', '+525512345678'],
  ['5215512345679', '+525512345679'],
  // No plan knows a number of this length.
  ['+4477209', '+4477209'],
])('A stop word from %s stops all messages to %s, under every number of its subscriber', async (from, to) => {
  const stop = message({ from, text: 'STOP ALL' });
  expect(await post(stop)).toMatchObject({ status: 200 });
  expect(await listed(stop.messageId)).toMatchObject({ from: to, effect: { wish: 'stop', isNew: true } });
  expect(
    (await volley.suppression.operation((await listed(stop.messageId))?.effect?.operation ?? '')).numberCount,
  ).toBe(1);
});

test('One stop word suppresses all numbers of its subscriber, and one start word or undo lifts it for all', async () => {
  const [former, current] = ['+551187654321', '+5511987654321'];
  const areSuppressed = () => Promise.all([former, current].map((to) => suppressedOn(volley, 'main', to)));
  await post(message({ from: former, text: 'stop' }));
  expect(await areSuppressed()).toEqual([true, true]);
  await post(message({ from: current, text: 'start' }));
  expect(await areSuppressed()).toEqual([false, false]);
  const stop = message({ from: current, text: 'stop' });
  await post(stop);
  expect(await areSuppressed()).toEqual([true, true]);
  // The same subscriber again, so the operation is the same.
  const again = message({ from: former, text: 'stop' });
  await post(again);
  const operation = (await listed(stop.messageId))?.effect?.operation ?? '';
  expect((await listed(again.messageId))?.effect).toMatchObject({ operation, isNew: false });
  await volley.suppression.undo(operation);
  expect(await areSuppressed()).toEqual([false, false]);
});

test('A stop word whose sender is no number is stored, and a warning says that it suppresses no number', async () => {
  const stop = message({ from: '07700 900123', text: 'stop' });
  expect(await post(stop)).toMatchObject({ status: 200 });
  expect(await listed(stop.messageId)).toMatchObject({ from: '07700 900123', effect: { operation: null } });
  const events = log.map((line) => JSON.parse(line));
  expect(
    events.filter(({ event, messageId }) => event === 'inbound.unread' && messageId === stop.messageId),
  ).toHaveLength(1);
});

test('A sender that may mean two numbers is the one that got a message', async () => {
  const danish = '+4520123456';
  await send(danish);
  const stop = message({ from: '4520123456', country: 'US', text: 'stop' });
  await post(stop);
  expect(await listed(stop.messageId)).toMatchObject({ from: danish, lastSent: {} });
});

test('A new stop is confirmed once, from the number that got it, by a campaign whose record names the operation', async () => {
  const stop = message({ text: 'stop', to: '447700900999' });
  await send(stop.from);
  await post(stop);
  const effect = (await listed(stop.messageId))?.effect;
  const reply = await volley.status(effect?.reply ?? '');
  expect(reply).toMatchObject({
    sender: '+447700900999',
    lane: 'main',
    counts: { planned: 1, suppressed: 0 },
    idempotencyKey: `stop:main:${stop.messageId}`,
    metadata: { suppressionOperation: effect?.operation, inboundMessage: stop.messageId },
  });
  // Neither a second stop nor one after a start gets another one on the same day.
  for (const text of ['stop', 'start', 'stop']) {
    const other = message({ from: stop.from, text });
    await post(other);
    expect((await listed(other.messageId))?.effect?.reply).toBeNull();
  }
});

test('A stop is confirmed under the number that got the message, not under the one that the network reports', async () => {
  await send('+5511976543210');
  const stop = message({ from: '+551176543210', text: 'stop' });
  await post(stop);
  const reply = (await listed(stop.messageId))?.effect?.reply ?? '';
  const rows: unknown[] = [];
  for await (const { to, status } of volley.report(reply)) rows.push([to, status]);
  expect(rows).toEqual([['+5511976543210', 'planned']]);
});

test('A stop is confirmed only by a sender that has sent its number a message on this lane', async () => {
  const never = message({ text: 'stop' });
  const other = message({ text: 'stop', to: 'BANK' });
  const elsewhere = message({ text: 'stop', lane: 'other' });
  for (const { from } of [other, elsewhere]) await send(from);
  for (const stop of [never, other, elsewhere]) {
    await post(stop);
    expect((await listed(stop.messageId))?.effect).toMatchObject({ isNew: true, reply: null });
    expect(unconfirmed(stop.messageId)).toMatch(/^Volley has sent it no message from/);
  }
});

test('The limits of the key that submits a stop word apply to its confirmation, and its memory pays for both', async () => {
  const limited = async (limits: object) => {
    const made = await volley.keys.create({
      name: 'gateway',
      scopes: ['inbound'],
      lanes: ['main'],
      ...limits,
    });
    const stop = message({ text: 'stop' });
    await send(stop.from);
    await post(stop, made.key);
    return { made, stop, reply: (await listed(stop.messageId))?.effect?.reply ?? null };
  };
  const denied = await limited({ countries: ['DE'] });
  expect(denied.reply).toBeNull();
  expect(unconfirmed(denied.stop.messageId)).toContain('may text only DE');
  const { bytesOf } = stored('main');
  const [one, two] = [await bytesOf(denied.made.id), await limited({ recipientsPerDay: 1 })];
  expect(two.reply).not.toBeNull();
  expect(one).toBeGreaterThan(0);
  expect(await bytesOf(two.made.id)).toBeGreaterThan(one + 1_000);
  const further = message({ text: 'stop' });
  await send(further.from);
  await post(further, two.made.key);
  expect((await listed(further.messageId))?.effect?.reply).toBeNull();
  expect(unconfirmed(further.messageId)).toContain('1 message');
});

test('A lane confirms at most 1,000 stop words an hour', async () => {
  const confirmed = keys.lane('other', 'confirmed');
  const now = Date.now();
  await redis.zadd(
    confirmed,
    ...Array.from({ length: 1_000 }, (_, at) => [now - 60_000, `digest-${at}`]).flat(),
  );
  const stop = message({ text: 'stop', lane: 'other' });
  await send(stop.from, { lane: 'other' });
  await post(stop);
  expect((await listed(stop.messageId))?.effect?.reply).toBeNull();
  expect(unconfirmed(stop.messageId)).toContain('at most 1000');
  await redis.unlink(confirmed);
  const later = message({ text: 'stop', lane: 'other' });
  await send(later.from, { lane: 'other' });
  await post(later);
  expect((await listed(later.messageId))?.effect?.reply).not.toBeNull();
});

test('A number that was forgotten and stays suppressed gets no confirmation', async () => {
  const stop = message({ text: 'stop' });
  await send(stop.from);
  await volley.forget(stop.from, { keepSuppressed: true });
  await post(stop);
  expect((await listed(stop.messageId))?.effect).toMatchObject({ wish: 'stop', isNew: false, reply: null });
});

test('The list shows the newest first, in pages, of all lanes or of one', async () => {
  const texts = ['one', 'two', 'three', 'four'];
  for (const [at, text] of texts.entries())
    await post(message({ text, lane: at % 2 === 0 ? 'main' : 'other' }));
  const pages: string[] = [];
  let cursor: string | null = null;
  do {
    const path: string = `/v1/inbound?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`;
    const { json } = await call('GET', path);
    const page = json as { messages: InboundMessage[]; nextCursor: string | null };
    pages.push(...page.messages.map(({ text }) => text));
    cursor = page.nextCursor;
  } while (cursor !== null && pages.length < 4);
  expect(pages.slice(0, 4)).toEqual(texts.toReversed());
  const { json } = await call('GET', '/v1/inbound?lane=other&limit=2');
  expect((json as { messages: InboundMessage[] }).messages.map(({ text }) => text)).toEqual(['four', 'two']);
});

test('The list has the replies to one campaign, with its name, and a number has its own', async () => {
  const [to, other] = [number(), number()];
  const campaign = await send(to);
  await send(other);
  await post(message({ from: to, text: 'elsewhere', lane: 'other' }));
  await post(message({ from: to, text: 'first' }));
  // More than one search reads, so the reply is on a later page.
  await Promise.all(
    Array.from({ length: 505 }, (_, at) =>
      volley.inbound.receive(
        message({ from: other, text: `another ${at}`, lane: at % 5 === 0 ? 'other' : 'main' }),
      ),
    ),
  );
  await post(message({ from: to, text: 'second' }));
  const found: unknown[] = [];
  let [cursor, pages] = ['', 0];
  for (; pages < 20; pages += 1) {
    const path = `/v1/inbound?limit=1&campaign=${campaign}${cursor && `&cursor=${cursor}`}`;
    const { json } = await call('GET', path);
    const page = json as { messages: ListedMessage[]; nextCursor: string | null };
    found.push(...page.messages.map(({ text, campaignName }) => [text, campaignName]));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  const { name } = await volley.status(campaign);
  expect(found).toEqual([
    ['second', name],
    ['first', name],
  ]);
  expect(pages).toBeGreaterThan(1);
  const asked = await call('POST', '/v1/find', { body: { number: to.replace('+', '00') } });
  const { replies } = asked.json as { replies: ListedMessage[] };
  expect(replies.map(({ text }) => text)).toEqual(['second', 'first', 'elsewhere']);
  const own = await key(['read'], ['other']);
  const elsewhere = await call('POST', '/v1/find', { body: { number: to }, key: own });
  const theirs = (elsewhere.json as { replies: ListedMessage[] }).replies;
  expect(theirs.map(({ text }) => text)).toEqual(['elsewhere']);
  const hidden = await call('GET', `/v1/inbound?campaign=${campaign}`, { key: own });
  expect(hidden.json).toMatchObject({ messages: [] });
  await expect(volley.inbound.list({ from: 'no number' })).rejects.toMatchObject({ field: 'from' });
});

test('A key with the scope inbound submits messages of its lanes and reads nothing', async () => {
  const own = await key(['inbound'], ['main']);
  expect((await post(message(), own)).status).toBe(200);
  expect((await post(message({ lane: 'other' }), own)).status).toBe(404);
  expect((await post(message({ lane: 'nowhere' }), own)).status).toBe(404);
  expect((await call('GET', '/v1/inbound', { key: own })).status).toBe(403);
  expect((await post(message(), await key(['read', 'send', 'operate']))).status).toBe(403);
});

test('The library refuses more parts than a message can have', async () => {
  const part = { reference: 1, number: 1, total: 1_000_000_000 };
  await expect(volley.inbound.receive(message({ part }))).rejects.toMatchObject({ field: 'part/total' });
});
