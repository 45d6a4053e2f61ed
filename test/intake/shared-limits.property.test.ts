import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createVolley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { limitsFor } from '../../src/campaign/limits/check-limits.js';
import type { SomeLimits } from '../../src/campaign/states/limit-values.js';
import { beginImport, discardImport } from '../../src/intake/import/import-session.js';
import { NIGHTLY } from '../base/parts.js';
import { testRedis } from '../base/redis/test-redis.js';
import { storedLane } from '../scene/stored.js';

const { url, prefix, redis } = testRedis('shared-limits');
const LANES = ['a', 'b', 'c', 'd'];
const dir = await mkdtemp(join(tmpdir(), 'volley-shared-limits-'));
const lanesFile = join(dir, 'lanes.json');
await writeFile(lanesFile, JSON.stringify(LANES.map((name) => ({ name, apiKey: name }))));
const service = createServer((socket) => void socket.on('error', () => {}).end());
service.listen(0, '127.0.0.1');
await once(service, 'listening');
const { port } = service.address() as AddressInfo;
const config = loadConfig({
  REDIS_URL: url,
  REDIS_PREFIX: prefix,
  LANES_FILE: lanesFile,
  MESSAGING_BASE_URL: `http://127.0.0.1:${port}`,
  SENDER_ADDRESS: 'ACME',
  PRICE_PER_SEGMENT: '0.5 EUR',
  MAX_SCHEDULE_AHEAD: '365000d',
});
const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
const keys = keyNames(prefix);
for (const lane of LANES) await volley.outboxes.create({ name: 'box', lane, message: 'Hi' });
afterAll(async () => {
  await volley.close();
  service.close();
  await rm(dir, { recursive: true });
});

let made = 0;
const fresh = (name: string): string => {
  made += 1;
  return `${name}${made}`;
};
const later = '2030-01-01T00:00:00Z';
const list = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `+4477009${String(at).padStart(5, '0')}` }));

/** What a client does on a lane with some messages. Resolves to how many messages were stored. */
const ACTIONS: Readonly<
  Record<string, (key: string, limits: SomeLimits, lane: string, count: number) => Promise<number>>
> = {
  async 'creates a campaign'(key, limits, lane, count) {
    const outcome = await acting(key, limits).enqueue(campaign(lane, count));
    return 'recipientCount' in outcome ? outcome.recipientCount : 0;
  },
  async 'creates a campaign twice, with an idempotency key'(key, limits, lane, count) {
    const once = { ...campaign(lane, count), idempotencyKey: fresh('key') };
    const by = acting(key, limits);
    // The second may get the key when the first was refused.
    const outcomes = await Promise.allSettled([by.enqueue(once), by.enqueue(once)]);
    for (const { status } of outcomes) if (status === 'fulfilled') return count;
    return 0;
  },
  async 'does not confirm a campaign'(key, limits, lane, count) {
    const declined = { ...campaign(lane, count), confirm: async () => false };
    await acting(key, limits).enqueue(declined);
    return 0;
  },
  async 'dies before the commit of an import'(key, limits, lane, count) {
    const meta = { lane, id: fresh('dead'), placeholders: [], priority: 'normal' };
    const session = beginImport(redis, keys, meta as never, { leaseMs: 60_000 });
    const { daily } = limitsFor({ name: lane }, { actor: actorOf(key), limits }, 'EUR');
    const day = { lane: { id: lane, name: lane }, currency: 'EUR', limits: daily };
    try {
      await session.reserveDay(day, { messages: count, micros: count * 500_000 });
    } finally {
      // As a worker does when the lease is over.
      await discardImport(redis, keys, lane, meta.id, 'givenUp');
      await session.discard();
    }
    return 0;
  },
  async 'puts messages into an outbox'(key, limits, lane, count) {
    const box = acting(key, limits).outbox('box', { lanes: [lane] });
    const messages = list(count).map((to) => ({ id: fresh('m'), ...to, sendAt: later }));
    for (let times = 0; times < 2; times += 1)
      try {
        for await (const { outcome } of box.putAll(messages)) expect(outcome).not.toBe('refused');
      } catch (error) {
        // Those that fit are stored.
        expect(error).toMatchObject({ code: 'overLimit', owner: 'key' });
      }
    const stored = await Promise.all(messages.map(({ id }) => box.message(id).catch(() => null)));
    return stored.filter((message) => message !== null).length;
  },
  async 'puts a message into an outbox twice'(key, limits, lane) {
    const box = acting(key, limits).outbox('box', { lanes: [lane] });
    const message = { id: fresh('m'), to: '+447700900123', sendAt: later };
    await box.put(message);
    await box.put(message);
    return 1;
  },
};
const actorOf = (id: string) => ({ kind: 'key', id, name: 'shop' }) as const;
const acting = (key: string, limits: SomeLimits) => volley.as({ ...actorOf(key), limits });
const campaign = (lane: string, count: number) => ({
  lane,
  message: fresh('Hello '),
  recipients: list(count),
  sendAt: later,
});

/** What is counted for a key today on all lanes. */
const counted = async (key: string): Promise<number> => {
  const counts = await Promise.all(LANES.map((id) => storedLane({ redis, keys, id }).storedToday(key)));
  return counts.reduce((sum, { messages }) => sum + messages, 0);
};

const action = fc.record({
  name: fc.constantFrom(...Object.keys(ACTIONS)),
  lane: fc.constantFrom(...LANES),
  count: fc.integer({ min: 1, max: 12 }),
});

test('A key never stores more in a day than its limit on all of its lanes together, and always all of it', async () => {
  const limit = fc.record({ most: fc.integer({ min: 1, max: 60 }), isCost: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(limit, fc.array(action, { minLength: 4, maxLength: 20 }), async (given, actions) => {
      const { most, isCost } = given;
      const limits: SomeLimits = isCost ? { costPerDay: String(most / 2) } : { recipientsPerDay: most };
      const key = fresh('k');
      const results = await Promise.allSettled(
        actions.map(({ name, lane, count }) => ACTIONS[name]?.(key, limits, lane, count)),
      );
      let stored = 0;
      for (const result of results) {
        if (result.status === 'fulfilled') stored += result.value ?? 0;
        else expect(result.reason).toMatchObject({ code: 'overLimit', owner: 'key' });
      }
      expect(stored).toBeLessThanOrEqual(most);
      expect(await counted(key)).toBe(stored);
      // Whatever lanes were given and did not need, each of them may still have.
      const rest = most - stored;
      const [lane = ''] = fc.sample(fc.constantFrom(...LANES), { numRuns: 1, seed: made });
      const enqueue = (count: number) => acting(key, limits).enqueue(campaign(lane, count));
      await expect(enqueue(rest + 1)).rejects.toMatchObject({
        left: isCost ? `${(rest / 2).toFixed(2)} EUR` : rest,
      });
      if (rest > 0) expect(await enqueue(rest)).toMatchObject({ outcome: 'created' });
      expect(await counted(key)).toBe(most);
      for (const other of LANES)
        await expect(acting(key, limits).enqueue(campaign(other, 1))).rejects.toMatchObject({
          limit: isCost ? 'costPerDay' : 'recipientsPerDay',
        });
    }),
    { numRuns: NIGHTLY ? 60 : 8 },
  );
});

test('What a lane was given on an earlier day counts no more, and what a process did not use that has died is not lost', async () => {
  const limits = { recipientsPerDay: 10 };
  const enqueue = (lane: string, count: number) => acting('late', limits).enqueue(campaign(lane, count));
  const today = Math.floor(Date.now() / 86_400_000);
  await redis.hset(keys.apiKeysShares(today - 1), 'late', 'a:10:0:0:0:0');
  await redis.hset(keys.lane('a', 'keyBytes'), 'share:late', `${today - 1} 10 0 0 0`);
  await redis.hset(keys.lane('a', 'keyBytes'), 'today:late', `${today - 1} 10 0`);
  await enqueue('b', 4);
  // A process that dies after it has asked for a share of lane c, and before it has used it.
  await redis.hset(keys.apiKeysShares(today), 'late', 'b:4:0:0:0:0 c:6:0:0:0:0');
  await enqueue('a', 6);
  await expect(enqueue('c', 1)).rejects.toMatchObject({ left: 0 });
});

test('A key shows what it has stored today on all of its lanes, and when its limits start anew', async () => {
  const limits = { recipientsPerDay: 10 };
  const { id } = await volley.keys.create({ name: 'shop', scopes: ['send'], ...limits });
  const resetsAt = new Date((Math.floor(Date.now() / 86_400_000) + 1) * 86_400_000).toISOString();
  expect((await volley.keys.get(id)).today).toEqual({ recipientCount: 0, cost: '0.00 EUR', resetsAt });
  await acting(id, limits).enqueue(campaign('a', 3));
  await acting(id, limits).enqueue(campaign('b', 4));
  expect(await volley.keys.get(id)).toMatchObject({
    id,
    recipientsPerDay: 10,
    today: { recipientCount: 7, cost: '3.50 EUR', resetsAt },
  });
  const unlimited = await volley.keys.create({ name: 'shop', scopes: ['send'] });
  expect(await volley.keys.get(unlimited.id)).toMatchObject({ today: null, lastUsedAt: null });
  await volley.keys.revoke(id);
  await expect(volley.keys.get(id)).rejects.toMatchObject({ code: 'notFound' });
});
