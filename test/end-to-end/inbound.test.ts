import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createVolley, type Volley, type Workers } from '../../src/app/runtime.js';
import { type Config, laneCallback, loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import type { InboundMessage } from '../../src/campaign/states/inbound.js';
import { createHttp, type HttpApp } from '../../src/surfaces/http/index.js';
import { magicNumber, type Simulator, startSimulator } from '../../src/tools/simulator/index.js';
import { keysOf, testRedis } from '../base/redis/test-redis.js';
import { callbackSettings } from './receiver.js';

const { url, prefix, redis } = testRedis('inbound');
const SENDER = '447700900999';
const TENANT = { id: 'tenant', secret: 'the-secret-of-a-tenant', products: ['sms-a2p-marketing'] };
const LEAVING = { ...TENANT, id: 'leaving' };
let simulator: Simulator;
let volley: Volley;
let app: HttpApp;
let workers: Workers;
let config: Config;
let inbound: string;
let token: string;

beforeAll(async () => {
  const client = { id: 'client', secret: 'the-secret-of-it', products: ['sms-a2p-marketing'] };
  simulator = await startSimulator({
    clients: [client, TENANT, LEAVING],
    keys: [{ account: 'client' }, { account: 'tenant' }, { account: 'leaving' }],
    deliveryTime: 50,
    inbound: { repeats: 0.5, retryAfterMs: Array.from({ length: 100 }, () => 100) },
  });
  const callback = await callbackSettings();
  const lanesFile = join(mkdtempSync(join(tmpdir(), 'volley-inbound-')), 'lanes.json');
  const credentials = { idEnv: 'ID', secretEnv: 'SECRET', product: 'sms-a2p-marketing' };
  writeFileSync(lanesFile, JSON.stringify([{ name: 'main', profile: 'v3', client: credentials }]));
  config = loadConfig({
    REDIS_URL: url,
    REDIS_PREFIX: prefix,
    LANES_FILE: lanesFile,
    ID: client.id,
    SECRET: client.secret,
    MESSAGING_BASE_URL: simulator.v3.messagingBaseUrl,
    TOKEN_URL: simulator.v3.tokenUrl,
    SENDER_ADDRESS: SENDER,
    REDIS_MAY_LOSE: '0s',
    QUOTA_WINDOW_MS: '30000',
    REQUEST_TIMEOUT_MS: '3000',
    FOLLOW_UP_FIRST_MS: '200',
    SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
    STOP_REPLY: 'You will get no more messages.',
    ...callback,
  });
  if (config.callback !== undefined)
    ({ url: inbound, securityToken: token } = laneCallback(config.callback, 'main', 'inbound'));
  volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  app = createHttp({ volley, config });
  await app.listen({ host: '127.0.0.1', port: Number(callback['HTTP_PORT']) });
  workers = volley.work();
  await workers.ready;
  // Until the inbound subscription exists, the simulator has no address to send to.
  await vi.waitFor(
    () => expect(simulator.inbound({ from: '15550000000', to: SENDER, text: 'Hi' })).toBe(1),
    30_000,
  );
}, 60_000);
afterAll(async () => {
  await workers.drain();
  await app.close();
  await volley.close();
  await simulator.close();
});

const from = async (number: string): Promise<InboundMessage[]> =>
  (await volley.inbound.list({ limit: 200 })).messages.filter((message) => message.from === number);
const received = (number: string): Promise<InboundMessage[]> =>
  vi.waitFor(async () => {
    const messages = await from(number);
    expect(messages).not.toEqual([]);
    return messages;
  }, 30_000);
const launch = async (to: string, message: string, more: object = {}): Promise<string> => {
  const outcome = await volley.enqueue({ recipients: [{ to, reference: 'order-17' }], message, ...more });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
};
const post = (body: unknown, authorization = `Bearer ${token}`, address = inbound): Promise<Response> =>
  fetch(address, { method: 'POST', headers: { authorization }, body: JSON.stringify(body) });
const sms = (messageId: string, more: object = {}) => ({
  InboundSmsMessage: {
    messageId,
    senderAddress: '447700900321',
    destinationAddress: SENDER,
    message: 'Hi',
    ...more,
  },
});

test('A reply STOP arrives once, suppresses its sender, and is confirmed from the number that got it', async () => {
  const number = magicNumber('repliesStop');
  const campaign = await launch(number, 'Sale');
  const [reply, ...others] = await received(number);
  expect(others).toEqual([]);
  expect(reply).toMatchObject({
    lane: 'main',
    to: SENDER,
    text: 'STOP',
    effect: { wish: 'stop', isNew: true },
    lastSent: { campaign, reference: 'order-17', outbox: null, message: null },
  });
  const confirmation = reply?.effect?.reply ?? '';
  await vi.waitFor(async () => expect((await volley.status(confirmation)).state).toBe('completed'), 30_000);
  const sent = [...simulator.ledger.entries()].filter(({ recipients }) => recipients.includes(number));
  expect(sent.map(({ text }) => text)).toEqual(['Sale', 'You will get no more messages.']);
  // Nothing else goes there, however it was planned.
  const next = await volley.status(await launch(number, 'More'));
  expect(next.counts).toMatchObject({ suppressed: 1 });
  // The simulator answers the confirmation, too, as machines do.
  await vi.waitFor(async () => expect(await from(number)).toHaveLength(2), 30_000);
  const replies = await from(number);
  expect(replies.map(({ effect }) => effect?.reply ?? null)).toEqual([null, confirmation]);
  expect(replies.map(({ lastSent }) => lastSent?.campaign)).toEqual([campaign, campaign]);
});

test('A reply in two parts is joined', async () => {
  const number = magicNumber('repliesInParts');
  await launch(number, 'Would you like to know more?');
  expect(await received(number)).toMatchObject([
    { text: expect.stringMatching(/^Please .* about your offer\.$/) },
  ]);
});

test('A reply names the last message that was sent to its sender from the number that it replies to', {
  timeout: 120_000,
}, async () => {
  const [number, other] = ['+447700900340', '+447700900341'];
  const ended = (id: string) =>
    vi.waitFor(async () => expect((await volley.status(id)).state).toBe('completed'), 30_000);
  const reply = async (messageId: string, more: object = {}) => {
    const sent = sms(messageId, { senderAddress: number, ...more });
    expect((await post(sent)).status).toBe(204);
    return (await volley.inbound.list({ limit: 200 })).messages.find((one) => one.messageId === messageId)
      ?.lastSent;
  };
  expect(await reply('l0')).toBeNull();
  // Created first and sent last; not sent at all; from another sender; to somebody else.
  await volley.holdLane('main');
  const last = await launch(number, 'Last');
  await volley.pause(last);
  await volley.resumeLane('main');
  await ended(await launch(number, 'First'));
  await ended(await launch(number, 'From elsewhere', { sender: '447700900777' }));
  await ended(await launch(other, 'To another'));
  await launch(number, 'Later', { sendAt: new Date(Date.now() + 3_600_000).toISOString() });
  await volley.resume(last);
  await ended(last);
  expect(await reply('l1')).toEqual({ campaign: last, reference: 'order-17', outbox: null, message: null });
  expect(await reply('l2', { destinationAddress: '+447700900778' })).toBeNull();

  await volley.outboxes.create({ name: 'reminders', message: 'Tomorrow' });
  const outbox = volley.outbox('reminders');
  await outbox.put({ id: 'visit-3', to: number, reference: 'visit', sendAt: new Date().toISOString() });
  await outbox.put({ id: 'visit-4', to: other, sendAt: new Date().toISOString() });
  await vi.waitFor(async () => expect((await outbox.message('visit-3')).state).toMatch(/delivered/), 30_000);
  expect(await reply('l3')).toMatchObject({ reference: 'visit', outbox: 'reminders', message: 'visit-3' });
});

test('Only the service may report messages, and it gets a success only for those that it may', async () => {
  expect((await post(sms('a'), 'Bearer wrong')).status).toBe(401);
  expect((await post(sms('a'), '')).status).toBe(401);
  const unreadable = await post({ other: 'document' });
  expect([unreadable.status, await unreadable.text()]).toEqual([
    400,
    expect.stringContaining('nor a message'),
  ]);
  expect((await post(sms('a'), `Bearer ${token}`, `${inbound}x`)).status).toBe(404);
  expect((await post(sms('a', { senderAddress: 'tel:+447700900322' }))).status).toBe(204);
  expect(await from('+447700900322')).toHaveLength(1);
});

test('A stop word is in force when the service gets its success, and the shortest sender names suppress nothing', async () => {
  expect((await post(sms('b', { senderAddress: '447700900323', message: 'stop' }))).status).toBe(204);
  expect((await volley.preview({ recipients: [{ to: '+447700900323' }], message: 'Hi' })).suppressed).toBe(1);
  expect((await post(sms('c', { senderAddress: '20777', message: 'stop' }))).status).toBe(204);
  expect(await from('20777')).toMatchObject([{ effect: { wish: 'stop', isNew: false, operation: null } }]);
});

test('The service repeats a message until it is received', async () => {
  await app.close();
  simulator.inbound({ from: '447700900324', to: SENDER, text: 'Hi' });
  app = createHttp({ volley, config });
  await app.listen({ host: '127.0.0.1', port: Number(new URL(inbound).port) });
  await received('+447700900324');
});

/** How many subscriptions the service has to messages that people send. */
const notified = (): number => simulator.inbound({ from: '15550000001', to: SENDER, text: 'Hi' });

test('Deleting the subscriptions of a lane deletes the one to replies, and workers create it again', async () => {
  expect(notified()).toBe(1);
  expect(await volley.notifications.subscription('main').remove()).toMatchObject({ outcome: 'deleted' });
  expect(notified()).toBe(0);
  await vi.waitFor(() => expect(notified()).toBe(1), 30_000);
});

/** The tokens in Redis. How many logins were refused stays known: a wrong password must not be tried again. */
const tokens = async () => (await keysOf(redis, prefix)).filter((key) => /:token:(?!login)/.test(key)).length;
const laneOf = ({ id, secret }: typeof TENANT) => ({
  profile: 'v3',
  client: { id, secret, product: 'sms-a2p-marketing' },
});

test('A lane that is removed keeps its token until the report of its last message, although that takes longer than a removal', {
  timeout: 120_000,
}, async () => {
  const before = await tokens();
  simulator.configure({ deliveryTime: 15_000 });
  await volley.storedLanes.add('leaving', laneOf(LEAVING));
  await vi.waitFor(() => expect(notified()).toBe(2), 30_000);
  const id = await launch('+447700900360', 'Bye', { lane: 'leaving' });
  await vi.waitFor(async () => expect((await volley.status(id)).counts.deliveredToNetwork).toBe(1), 30_000);
  expect(await volley.storedLanes.remove('leaving', 0)).toMatchObject({ outcome: 'removed' });
  const whileOpen = new Set<number>();
  await vi.waitFor(async () => {
    const held = await tokens();
    // Read afterwards: what was open then was open before.
    if ((await volley.status(id)).counts.deliveredToNetwork === 1) whileOpen.add(held);
    expect(await volley.storedLanes.list()).toEqual([]);
  }, 40_000);
  expect([...whileOpen]).toEqual([before + 1]);
  expect((await volley.status(id)).counts.deliveredToTerminal).toBe(1);
  expect([notified(), await tokens()]).toEqual([1, before]);
  simulator.configure({ deliveryTime: 50 });
});

test('A lane that is stored gets replies, until its removal deletes its subscriptions and its token', {
  timeout: 120_000,
}, async () => {
  const before = await tokens();
  // The second time, it has the id of the first, of which nothing may be left.
  for (let round = 0; round < 2; round += 1) {
    await volley.storedLanes.add('tenant', laneOf(TENANT));
    await vi.waitFor(() => expect(notified()).toBe(2), 30_000);
    const callback = config.callback && laneCallback(config.callback, 'tenant', 'inbound');
    if (callback === undefined) throw new Error('there is no address');
    const sent = await launch(`+4477009003${50 + round}`, `Hi ${round}`, { lane: 'tenant' });
    await vi.waitFor(async () => expect((await volley.status(sent)).counts.planned).toBe(0), 30_000);
    const stop = sms(`t${round}`, { senderAddress: `4477009003${50 + round}`, message: 'stop' });
    expect((await post(stop, `Bearer ${callback.securityToken}`, callback.url)).status).toBe(204);
    const { messages } = await volley.inbound.list({ lanes: ['tenant'] });
    const reply = messages.find(({ messageId }) => messageId === `t${round}`)?.effect?.reply ?? '';
    // The second time, this process has it in memory.
    if (round === 0) expect(await tokens()).toBe(before + 1);
    await vi.waitFor(async () => expect((await volley.status(reply)).counts.planned).toBe(0), 30_000);
    expect(await volley.storedLanes.remove('tenant', 0)).toMatchObject({ outcome: 'removed' });
    await vi.waitFor(async () => expect(await volley.storedLanes.list()).toEqual([]), 20_000);
    expect([notified(), await tokens()]).toEqual([1, before]);
  }
});
