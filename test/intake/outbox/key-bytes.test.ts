import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import type { Actor } from '../../../src/campaign/states/actor.js';
import { KeyFullError } from '../../../src/index.js';
import { editionOf } from '../../../src/intake/outbox/definition/settings.js';
import { paidBytes } from '../../../src/intake/outbox/definition/stored-message.js';
import { outboxStore, type PutReply } from '../../../src/intake/outbox/messages/store.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../../engine/lane/lane-fixture.js';
import { NOW, OPEN_FOR_MS, outboxFixture } from './outbox-fixture.js';

const { prefix, redis, url } = testRedis('outbox-key-bytes');
const LATER = Math.ceil(Date.now() / 1_000) + 3_600;
/** That of an outbox that was never changed. */
const EDITION = editionOf({ created: START, revision: 0 });

type Fixture = Awaited<ReturnType<typeof outboxFixture>>;
const usedOf = async ({ stored }: Fixture): Promise<Record<string, number>> => {
  const used = Object.entries(await stored.keyBytes()).filter(([field]) => field.startsWith('used:'));
  return Object.fromEntries(used.map(([field, bytes]) => [field.slice(5), Number(bytes)]));
};
const outcomes = ({ replies }: { replies: readonly PutReply[] }): string[] =>
  replies.map((one) => one.outcome);
const entry = (id: string, key: string, more: Partial<typeof NOW> = {}) => ({
  id,
  message: { ...NOW, due: LATER, ...more },
  key,
});

test('A message counts once, for the key that stored it last, and for no key when an operator did', async () => {
  const own = await outboxFixture(redis, prefix);
  const store = outboxStore(own.laneStore, own.name, { edition: EDITION, limit: 10_000 });
  const bytes = paidBytes('a', NOW);
  expect(outcomes(await store.put([entry('a', 'k1')]))).toEqual(['created']);
  expect(outcomes(await store.put([entry('a', 'k1')]))).toEqual(['unchanged']);
  expect(await usedOf(own)).toEqual({ k1: bytes });
  expect(outcomes(await store.put([entry('a', 'k2')]))).toEqual(['unchanged']);
  expect(await usedOf(own)).toEqual({ k1: bytes });
  const longer = { values: ['Ada, Countess of Lovelace'], version: 2 };
  expect(outcomes(await store.put([entry('a', 'k2', longer)]))).toEqual(['updated']);
  expect(await usedOf(own)).toEqual({ k2: paidBytes('a', { ...NOW, ...longer }) });
  expect(await store.find('a')).toMatchObject({ state: 'planned', due: LATER, ...longer });
  expect(outcomes(await store.put([entry('a', '', { version: 3 })]))).toEqual(['updated']);
  expect(await usedOf(own)).toEqual({});
});

test('A full key can change a message to a shorter one and cancel it, and stores nothing more', async () => {
  const own = await outboxFixture(redis, prefix);
  const bytes = paidBytes('a', NOW);
  const store = outboxStore(own.laneStore, own.name, { edition: EDITION, limit: 2 * bytes });
  expect(outcomes(await store.put(['a', 'b', 'c'].map((id) => entry(id, 'k'))))).toEqual([
    'created',
    'created',
    'full',
  ]);
  expect(await store.find('c')).toBeNull();
  expect(await own.counts()).toMatchObject({ waiting: 2, stored: 2 });
  const long = { values: ['Ada '.repeat(50)] };
  expect(outcomes(await store.put([entry('a', 'k', long)]))).toEqual(['full']);
  expect(await store.find('a')).toMatchObject({ values: ['Ada'] });
  expect(outcomes(await store.put([entry('a', 'k', { values: ['Al'] })]))).toEqual(['updated']);
  expect(outcomes(await store.put([entry('c', 'other')]))).toEqual(['created']);
  expect(outcomes(await store.put([entry('d', '', long)]))).toEqual(['created']);
  const cancel = async (id: string, key = '') => {
    const options = { version: 5, key, time: own.now() };
    return (await store.cancel(id, options)).outcome;
  };
  expect(await cancel('unknown', 'k')).toBe('full');
  expect(await cancel('a', 'k')).toBe('cancelled');
  expect(await cancel('unknown')).toBe('cancelled');
});

test('A message that is due at once is paid for until it is forgotten, and one that does not fit is not stored', async () => {
  const own = await outboxFixture(redis, prefix);
  await own.put('first');
  await own.settle(await own.claim(), 'accepted');
  const bytes = paidBytes('a', NOW);
  const store = outboxStore(own.laneStore, own.name, { edition: EDITION, limit: 2 * bytes });
  const put = async (...entries: readonly (readonly [id: string, key: string])[]) => {
    const messages = entries.map(([id, key]) => entry(id, key, { due: 0 }));
    return outcomes(await store.put(messages, own.now()));
  };
  expect(await put(['a', 'k'], ['b', 'k'])).toEqual(['created', 'created']);
  expect(await usedOf(own)).toEqual({ k: 2 * bytes });
  expect(await put(['c', 'k'], ['e', ''])).toEqual(['full', 'created']);
  expect(await usedOf(own)).toEqual({ k: 2 * bytes });
  const claims = await own.claim();
  expect(await own.idsOf(claims)).toEqual(['a', 'b', 'e']);
  await own.settle(claims, 'accepted');
  expect(await usedOf(own)).toEqual({ k: 2 * bytes });
  await forgetAll(own);
  expect(await usedOf(own)).toEqual({});
});

test('Moving a message costs nothing, however often', async () => {
  const own = await outboxFixture(redis, prefix);
  const bytes = paidBytes('a', NOW);
  const store = outboxStore(own.laneStore, own.name, { edition: EDITION, limit: bytes });
  for (let at = 0; at < 50; at += 1)
    expect(outcomes(await store.put([entry('a', 'k', { due: LATER + at })]))).not.toContain('full');
  expect(await usedOf(own)).toEqual({ k: bytes });
});

/** Lets time pass until everything has ended, and is forgotten. */
async function forgetAll(own: Fixture): Promise<void> {
  for (let rounds = 0; rounds < 4; rounds += 1) {
    own.advance(OPEN_FOR_MS);
    await own.tend();
  }
}

const KEYS = ['', 'k1', 'k2'];
const IDS = ['a', 'b', 'c', 'd'];
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      id: fc.constantFrom(...IDS),
      key: fc.constantFrom(...KEYS),
      inMs: fc.constantFrom(undefined, 5_000, 90_000),
      name: fc.constantFrom('Ada', 'Grace Hopper', 'x'.repeat(200)),
      version: fc.option(fc.integer({ min: 0, max: 9 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('cancel' as const),
      id: fc.constantFrom(...IDS),
      key: fc.constantFrom(...KEYS),
      version: fc.option(fc.integer({ min: 0, max: 9 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1_000, 10_000, 200_000, OPEN_FOR_MS),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'send' as const }) },
);

test('After any puts, cancels, sends, and lapses, no key exceeds its limit, and forgetting everything returns everything', async () => {
  const LIMIT = 400;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const own = await outboxFixture(redis, prefix);
      const store = outboxStore(own.laneStore, own.name, { edition: EDITION, limit: LIMIT });
      for (const one of steps) {
        if (one.kind === 'put') {
          const { id, key, inMs, name, version } = one;
          const message = {
            ...NOW,
            due: inMs === undefined ? 0 : Math.ceil((own.now() + inMs) / 1_000),
            values: [name],
            version,
          };
          await store.put([{ id, message, key }], own.now());
        } else if (one.kind === 'cancel')
          await store.cancel(one.id, { version: one.version, key: one.key, time: own.now() });
        else if (one.kind === 'send') await own.settle(await own.claim(), 'accepted');
        else {
          own.advance(one.ms);
          await own.tend();
        }
        for (const bytes of Object.values(await usedOf(own))) {
          expect(bytes).toBeGreaterThan(0);
          expect(bytes).toBeLessThanOrEqual(LIMIT);
        }
      }
      // What waits lapses, and everything is forgotten after its retention.
      await forgetAll(own);
      expect((await own.counts()).stored).toBe(0);
      expect(await usedOf(own)).toEqual({});
    }),
    { numRuns: NIGHTLY ? 60 : 15 },
  );
});

test('The library refuses a full key with its limit, for a message, a list, and an outbox', async () => {
  const volley = createVolley({
    config: loadLocalConfig({
      REDIS_URL: url,
      REDIS_PREFIX: `${prefix}-library`,
      SENDER_ADDRESS: 'ACME',
      KEY_MEMORY_MB: '1',
    }),
    events: createEvents({ level: 'silent' }),
    actor: { kind: 'cli', id: null, name: 'anna' },
  });
  try {
    const shop: Actor = { kind: 'key', id: 'shop', name: 'shop' };
    const by = volley.as(shop);
    await by.outboxes.create({ name: 'box', message: 'Hi {{name}}' });
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const long = { to: '+447700900123', sendAt, name: 'x'.repeat(1_000) };
    const messages = Array.from({ length: 1_500 }, (_, n) => ({ id: `m${n}`, ...long }));
    const stored = (async () => {
      for await (const { outcome } of by.outbox('box').putAll(messages)) expect(outcome).toBe('created');
    })();
    await expect(stored).rejects.toBeInstanceOf(KeyFullError);
    await expect(by.outbox('box').put({ id: 'one', ...long })).rejects.toThrow(
      /^API key shop has no room left: it uses 1\.0 of 1\.0 MB \(KEY_MEMORY_MB\) on lane default\./,
    );
    const outbox = { name: 'other', message: 'y'.repeat(1_400) };
    await expect(by.outboxes.create(outbox)).rejects.toBeInstanceOf(KeyFullError);
    expect((await volley.outboxes.create(outbox)).outcome).toBe('created');
    expect((await volley.outbox('box').put({ id: 'one', ...long })).outcome).toBe('created');
  } finally {
    await volley.close();
  }
});
