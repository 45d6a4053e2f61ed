import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { createVolley, type Volley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { LIMITS } from '../../src/campaign/limits/limits.js';
import type { LimitName, SomeLimits } from '../../src/campaign/states/limit-values.js';
import type { CampaignInput } from '../../src/intake/import/campaign-input.js';
import { beginImport, discardImport } from '../../src/intake/import/import-session.js';
import { testRedis } from '../base/redis/test-redis.js';
import { SOON } from '../base/soon.js';

const { url, prefix, redis } = testRedis('limits');
const dir = await mkdtemp(join(tmpdir(), 'volley-limits-'));
// Accepts nothing: what is sent is not the point here.
const service = createServer((socket) => void socket.on('error', () => {}).end());
service.listen(0, '127.0.0.1');
await once(service, 'listening');
const { port } = service.address() as AddressInfo;
const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
  service.close();
  await rm(dir, { recursive: true });
});

let opened = 0;
/** A Volley whose lane has these limits. */
async function volleyWith(limits: SomeLimits, prices: object = { PRICE_PER_SEGMENT: '0.5 EUR' }) {
  opened += 1;
  const file = join(dir, `lanes-${opened}.json`);
  await writeFile(file, JSON.stringify([{ name: 'main', apiKey: 'main', limits }]));
  const config = loadConfig({
    REDIS_URL: url,
    REDIS_PREFIX: `${prefix}-${opened}`,
    LANES_FILE: file,
    MESSAGING_BASE_URL: `http://127.0.0.1:${port}`,
    DEFAULT_COUNTRY: 'GB',
    ...prices,
  });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  closers.push(() => volley.close());
  return { volley, keys: keyNames(config.redisPrefix) };
}

interface Message {
  readonly to?: string;
  readonly sender?: string;
  readonly text?: string;
}

let made = 0;
const fresh = (name: string): string => {
  made += 1;
  return `${name}-${made}`;
};

/** Stores a message in each of the ways in which messages are stored; rejects if it is refused. `owner`: without limits. */
const INTAKES: Readonly<Record<string, (by: Volley, owner: Volley, message: Message) => Promise<unknown>>> = {
  async campaign(by, _owner, { to = '+447700900123', sender = 'ACME', text = 'Hi' }) {
    const outcome = await by.enqueue({
      sender,
      message: '{{text}}',
      recipients: [{ to, text }],
      again: true,
    });
    if (outcome.outcome === 'refused') throw new Error(outcome.errors[0]?.message);
    expect(outcome.outcome).toBe('created');
  },

  async preview(by, _owner, { to = '+447700900123', sender = 'ACME', text = 'Hi' }) {
    const seen = await by.preview({ sender, message: '{{text}}', recipients: [{ to, text }], again: true });
    if (seen.refusal !== null) throw new Error(seen.errors[0]?.message);
  },

  async 'message of an outbox'(by, owner, { to = '+447700900123', sender = 'ACME', text = 'Hi' }) {
    const name = fresh('box');
    await owner.outboxes.create({ name, sender, message: '{{text}}' });
    await by.outbox(name).put({ id: 'a', to, text });
  },

  async 'list of messages of an outbox'(by, owner, { to = '+447700900123', sender = 'ACME', text = 'Hi' }) {
    const name = fresh('box');
    await owner.outboxes.create({ name, sender, message: '{{text}}' });
    for await (const { outcome, errors } of by.outbox(name).putAll([{ id: 'a', to, text }]))
      if (outcome === 'refused') throw new Error(errors[0]?.message);
  },

  async 'occurrence of a schedule'(by, owner, { to = '+447700900123', sender = 'ACME', text = 'Hi' }) {
    const id = fresh('schedule');
    owner.schedules.provide(id, () => [{ to, text }]);
    const recipients = { provided: id };
    await by.schedules.add({ id, cron: '0 9 1 1 *', zone: 'UTC', sender, message: '{{text}}', recipients });
    await by.schedules.run(id);
    // Workers look for due schedules as soon as they start.
    const workers = owner.work({ roles: ['send'] });
    const [{ outcome, reason } = { outcome: '', reason: '' }] = await vi.waitFor(async () => {
      const { latest } = await by.schedules.get(id);
      expect(latest).toHaveLength(1);
      return latest;
    }, SOON);
    await workers.drain();
    if (outcome !== 'created') throw new Error(reason ?? '');
  },
};

interface Case {
  readonly limit: unknown;
  readonly allowed: Message;
  readonly refused: Message;
  readonly why: RegExp;
}

const LONG = 'x'.repeat(161);
/** A limit of a message, a message that it allows, and one that it refuses. */
const CASES: Partial<Readonly<Record<LimitName, Case>>> = {
  senders: {
    limit: ['ACME', '+447700900999'],
    allowed: { sender: '447700900999' },
    refused: { sender: 'OTHER' },
    why: /OTHER, and .* may send only as ACME or \+447700900999/,
  },
  countries: {
    limit: ['GB'],
    allowed: {},
    refused: { to: '+33612345678' },
    why: /is a number of France, and .* may text only GB/,
  },
  maxSegments: {
    limit: 1,
    allowed: { text: 'x'.repeat(160) },
    refused: { text: LONG },
    why: /gets a message of 2 segments, and .* may send at most 1 per message/,
  },
  recipientsPerDay: {
    limit: 1,
    allowed: {},
    refused: {},
    why: /may send 1 message a day.*: 0 messages left until 20.*T00:00:00.000Z, and this has 1 message/,
  },
  costPerDay: {
    limit: '0.5 EUR',
    allowed: {},
    refused: {},
    why: /may spend 0\.50 EUR a day.*: 0\.00 EUR left until 20.*Z, and this costs 0\.50 EUR/,
  },
};

test('Every limit of messages has a case here', () => {
  const ofMessages = Object.entries(LIMITS).flatMap(([name, row]) =>
    row.limits === 'request' || row.limits === 'service' ? [] : [name],
  );
  expect(Object.keys(CASES)).toEqual(ofMessages);
});

describe.each(Object.entries(CASES))('The limit %s', (name, { limit, allowed, refused, why }) => {
  const isDaily = /PerDay$/.test(name);
  const owners = {
    key: async () => {
      const { volley } = await volleyWith({});
      const by = volley.as({ kind: 'key', id: '0123456789ab', name: 'shop', limits: { [name]: limit } });
      return { volley, by };
    },
    lane: async () => {
      const { volley } = await volleyWith({ [name]: limit });
      return { volley, by: volley };
    },
  };
  describe.each(Object.entries(owners))('of a %s', (owner, openOne) => {
    const opened = isDaily ? undefined : openOne();
    // What one intake uses of a day, another one could not.
    const open = () => opened ?? openOne();
    test.each(Object.entries(INTAKES).filter(([intake]) => !(isDaily && intake === 'preview')))(
      'allows, and refuses, a %s',
      async (_, store) => {
        const { volley, by } = await open();
        // An outbox with any sender can be created only if its lane allows the sender.
        const creator = owner === 'lane' ? by : volley;
        await store(by, creator, allowed);
        await expect(store(by, creator, refused)).rejects.toThrow(why);
      },
    );
  });
});

const DAY = 86_400_000;
const KEY = '0123456789ab';
const shop = (limits: SomeLimits) => ({ kind: 'key', id: KEY, name: 'shop', limits }) as const;
const list = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `+4477009${String(at).padStart(5, '0')}` }));
const campaign = (count: number, more: Partial<CampaignInput> = {}) => ({
  sender: 'ACME',
  message: fresh('Hello'),
  recipients: list(count),
  ...more,
});

describe('A limit of messages per day', () => {
  /** A key that may send so many messages a day, and how many it has counted. */
  const limited = async (recipientsPerDay: number, lane: SomeLimits = {}) => {
    const { volley, keys } = await volleyWith(lane);
    const hash = keys.lane('main', 'keyBytes');
    const counted = async (key: string = KEY): Promise<number> =>
      Number((await redis.hget(hash, `today:${key}`))?.split(' ')[1] ?? 0);
    return { volley, by: volley.as(shop({ recipientsPerDay })), counted, keys, hash };
  };

  test('counts a repeated request with the same idempotency key once, even when nothing is left', async () => {
    const { by, counted } = await limited(3);
    const once = campaign(3, { idempotencyKey: 'a' });
    expect((await by.enqueue(once)).outcome).toBe('created');
    expect((await by.enqueue(once)).outcome).toBe('existing');
    expect(await counted()).toBe(3);
    await expect(by.enqueue(campaign(1))).rejects.toMatchObject({
      limit: 'recipientsPerDay',
      owner: 'key',
      left: 0,
      resetsAt: new Date((Math.floor(Date.now() / DAY) + 1) * DAY).toISOString(),
    });
  });

  test('counts nothing for an import that is refused or discarded, and keeps what a cancelled campaign has counted', async () => {
    const { by, counted, hash } = await limited(3);
    const declined = await by.enqueue(campaign(3, { confirm: async () => false }));
    expect([declined, await counted()]).toMatchObject([{ code: 'declined' }, 0]);
    const failing = campaign(3, { confirm: () => Promise.reject(new Error('gone')) });
    await expect(by.enqueue(failing)).rejects.toThrow('gone');
    expect(await counted()).toBe(0);
    const created = await by.enqueue(campaign(2, { sendAt: Date.now() + DAY }));
    if (!('recipientCount' in created)) throw new Error(created.message);
    await by.cancel(created.id);
    expect(await counted()).toBe(2);
    await expect(by.enqueue(campaign(2))).rejects.toMatchObject({ left: 1 });
    expect((await redis.hkeys(hash)).filter((field) => field.startsWith('import:'))).toEqual([]);
  });

  test('is not exceeded by imports at the same time, and what is refused leaves room for others', async () => {
    const { by, counted } = await limited(20);
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => by.enqueue(campaign(3))));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(6);
    expect(await counted()).toBe(18);
    expect((await by.enqueue(campaign(2))).outcome).toBe('created');
  });

  test('returns what an import had reserved whose process died before the commit', async () => {
    const { volley, counted, keys, hash } = await limited(3);
    await volley.enqueue(campaign(1));
    const meta = { lane: 'main', id: 'dead', placeholders: [], priority: 'normal' };
    const session = beginImport(redis, keys, meta as never, { leaseMs: 60_000 });
    const day = { lane: { id: 'main', name: 'main' }, currency: undefined } as const;
    const limits = [
      { owner: 'key', key: KEY, who: 'API key', recipientsPerDay: 3, costPerDay: null },
      { owner: 'lane', key: '', who: 'lane main', recipientsPerDay: 9, costPerDay: null },
    ] as const;
    await session.reserveDay({ ...day, limits }, { messages: 2, micros: 0 });
    // ioredis may repeat it.
    await session.reserveDay({ ...day, limits }, { messages: 2, micros: 0 });
    expect([await counted(), await counted('')]).toEqual([2, 2]);
    await discardImport(redis, keys, 'main', 'dead', 'givenUp');
    await discardImport(redis, keys, 'main', 'dead', 'givenUp');
    expect([await counted(), await counted('')]).toEqual([0, 0]);
    expect((await redis.hkeys(hash)).filter((field) => field.startsWith('import:'))).toEqual([]);
    await expect(session.reserveDay({ ...day, limits }, { messages: 2, micros: 0 })).rejects.toThrow(
      'was discarded',
    );
    expect(await counted()).toBe(0);
    await session.discard();
  });

  test('starts anew with the next day in UTC', async () => {
    const { by, counted, hash } = await limited(2);
    await redis.hset(hash, `today:${KEY}`, `${Math.floor(Date.now() / DAY) - 1} 2 0`);
    expect((await by.enqueue(campaign(2))).outcome).toBe('created');
    expect(await counted()).toBe(2);
  });

  test('counts each message of an outbox once, however often it is put or changed', async () => {
    const { volley, by, counted } = await limited(2, { recipientsPerDay: 3 });
    const name = fresh('box');
    await volley.outboxes.create({ name, sender: 'ACME', message: 'Hi {{name}}' });
    const later = '2030-01-01T00:00:00Z';
    const put = (id: string, who: string, as = by) =>
      as.outbox(name).put({ id, to: '+447700900123', name: who, sendAt: later });
    expect((await put('a', 'Ada')).outcome).toBe('created');
    expect((await put('a', 'Ada')).outcome).toBe('unchanged');
    expect((await put('a', 'Bea')).outcome).toBe('updated');
    expect((await put('b', 'Cem')).outcome).toBe('created');
    expect([await counted(), await counted('')]).toEqual([2, 2]);
    await expect(put('c', 'Dan')).rejects.toMatchObject({ limit: 'recipientsPerDay', owner: 'key', left: 0 });
    // What is stored already may be put again when nothing is left.
    expect((await put('b', 'Cem')).outcome).toBe('unchanged');
    expect((await put('c', 'Dan', volley)).outcome).toBe('created');
    await expect(put('d', 'Eve', volley)).rejects.toMatchObject({ owner: 'lane', left: 0 });
    expect(await counted('')).toBe(3);
  });

  test('counts messages of several keys that are stored together by the limits of each', async () => {
    const { volley, counted } = await limited(0);
    const name = fresh('box');
    await volley.outboxes.create({ name, sender: 'ACME', message: 'Hi' });
    const put = (key: string, id: string) =>
      volley
        .as({ kind: 'key', id: key, name: key, limits: { recipientsPerDay: 5 } })
        .outbox(name)
        .put({ id, to: '+447700900123', sendAt: '2030-01-01T00:00:00Z' });
    const puts = Array.from({ length: 20 }, (_, at) => put(at % 2 === 0 ? 'one' : 'two', `m${at}`));
    const done = await Promise.allSettled(puts);
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect([await counted('one'), await counted('two')]).toEqual([5, 5]);
  });
});

test('A limit of the cost per day needs prices, and a price for every number', async () => {
  const { volley } = await volleyWith({}, {});
  const by = volley.as(shop({ costPerDay: '1' }));
  await expect(by.enqueue(campaign(1))).rejects.toThrow(/costPerDay.* needs prices/);
  const prices = join(dir, 'prices.csv');
  await writeFile(prices, 'prefix,price\n+44,0.5 EUR\n');
  const { volley: priced } = await volleyWith({}, { PRICE_FILE: prices });
  const limited = priced.as(shop({ costPerDay: '1' }));
  const recipients = [{ to: '+33612345678' }];
  expect(await limited.enqueue({ ...campaign(1), recipients })).toMatchObject({ code: 'noPrice' });
  await priced.outboxes.create({ name: 'box', sender: 'ACME', message: 'Hi' });
  await expect(limited.outbox('box').put({ id: 'a', to: '+33612345678' })).rejects.toThrow('has no price');
});

test('A change of an outbox is refused if its sender, or a message that waits, exceeds a limit of who makes it', async () => {
  const { volley } = await volleyWith({});
  await volley.outboxes.create({ name: 'box', sender: 'ACME', message: 'Hi {{name}}' });
  const outbox = volley.as(shop({ senders: ['ACME'], maxSegments: 1 })).outbox('box');
  const message = { id: 'a', to: '+447700900123', name: 'x'.repeat(150), sendAt: '2030-01-01T00:00:00Z' };
  await outbox.put(message);
  await expect(outbox.set({ sender: 'OTHER' })).rejects.toMatchObject({ limit: 'senders' });
  await expect(outbox.set({ message: 'Good morning, {{name}}' })).rejects.toThrow(/message of 2 segments/);
  expect((await outbox.set({ message: 'Dear {{name}}' })).changed).toEqual(['message']);
});

test('With a limit of the cost per day, a change of an outbox makes no message dearer that waits', async () => {
  const { volley } = await volleyWith({});
  await volley.outboxes.create({ name: 'box', sender: 'ACME', message: 'Hi {{name}}' });
  const outbox = volley.as(shop({ costPerDay: '1' })).outbox('box');
  await outbox.put({ id: 'a', to: '+447700900123', name: 'Ada', sendAt: '2030-01-01T00:00:00Z' });
  const dearer = { message: `${LONG} {{name}}` };
  expect((await outbox.previewSet(dearer)).unfit).toMatchObject([{ member: 'message', messageCount: 1 }]);
  await expect(outbox.set(dearer)).rejects.toThrow(/message` needs more segments/);
  expect((await outbox.set({ message: 'Dear {{name}}' })).changed).toEqual(['message']);
  expect((await volley.outbox('box').set(dearer)).changed).toEqual(['message']);
});

test('With a limit of the cost per day, a message that waits is not put again with a text for which nothing is left', async () => {
  const { volley } = await volleyWith({});
  await volley.outboxes.create({ name: 'box', sender: 'ACME', message: 'Hi {{name}}' });
  const outbox = volley.as(shop({ costPerDay: '1' })).outbox('box');
  const put = (name: string) =>
    outbox.put({ id: 'a', to: '+447700900123', name, sendAt: '2030-01-01T00:00:00Z' });
  expect((await put('Ada')).outcome).toBe('created');
  await expect(put(LONG)).rejects.toMatchObject({ limit: 'costPerDay', owner: 'key' });
  expect((await volley.outbox('box').message('a')).values).toEqual({ name: 'Ada' });
});

test('A text that is the same for all recipients is refused once, not in each row', async () => {
  const { volley } = await volleyWith({ maxSegments: 1 });
  await expect(volley.enqueue(campaign(3, { message: LONG }))).rejects.toMatchObject({
    limit: 'maxSegments',
    owner: 'lane',
    field: 'message',
  });
});

test('With `skipInvalid`, recipients in other countries are left out, with the reason', async () => {
  const { volley } = await volleyWith({ countries: ['GB'] });
  const recipients = [{ to: '+447700900123' }, { to: '+33612345678' }, { to: '+881612345678' }];
  const outcome = await volley.enqueue({ ...campaign(1), recipients, skipInvalid: true });
  if (!('recipientCount' in outcome)) throw new Error(outcome.message);
  expect([outcome.recipientCount, outcome.invalid]).toEqual([1, 2]);
  expect(outcome.errors.map(({ code, message }) => [code, message])).toEqual([
    ['notAllowed', 'It is a number of France, and lane main may text only GB.'],
    ['notAllowed', 'It is a number of no country (+881), and lane main may text only GB.'],
  ]);
});

test('LANE_LIMITS gives the single lane of the environment the limits that a lanes file has', async () => {
  const env = { REDIS_URL: url, REDIS_PREFIX: `${prefix}-single`, API_KEY: 'key', DEFAULT_COUNTRY: 'GB' };
  const MESSAGING_BASE_URL = `http://127.0.0.1:${port}`;
  const load = (more: object) => loadConfig({ ...env, MESSAGING_BASE_URL, ...more });
  const config = load({ LANE_LIMITS: '{"senders":["OTHER"],"recipientsPerDay":1}' });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  closers.push(() => volley.close());
  await expect(volley.enqueue(campaign(1))).rejects.toMatchObject({ limit: 'senders', owner: 'lane' });
  const sender = 'OTHER';
  await expect(volley.enqueue(campaign(2, { sender }))).rejects.toMatchObject({ limit: 'recipientsPerDay' });
  expect(await volley.enqueue(campaign(1, { sender }))).toMatchObject({ outcome: 'created' });
  for (const [wrong, why] of [
    ['senders', /LANE_LIMITS must be a JSON object with limits/],
    ['{"sender":["A"]}', /LANE_LIMITS .*sender/],
    ['{"recipientsPerDay":0}', /LANE_LIMITS recipientsPerDay must be a whole number from 1/],
  ] as const)
    expect(() => load({ LANE_LIMITS: wrong })).toThrow(why);
  const file = join(dir, 'lanes-1.json');
  expect(() => load({ API_KEY: '', LANES_FILE: file, LANE_LIMITS: '{}' })).toThrow(
    /LANE_LIMITS and LANES_FILE are both set: unset LANE_LIMITS, and set the limits of lanes in/,
  );
});
