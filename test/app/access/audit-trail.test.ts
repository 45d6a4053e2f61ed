import { expect, test, vi } from 'vitest';
import { auditTrail } from '../../../src/app/access/audit-trail.js';
import { refusedKeys } from '../../../src/app/access/refused-keys.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import type { Actor } from '../../../src/campaign/states/actor.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';

const { redis, prefix } = testRedis('audit-trail');
const HOUR_MS = 3_600_000;
const SHOP: Actor = { kind: 'key', id: '0123456789ab', name: 'shop' };
const ANNA: Actor = { kind: 'cli', id: null, name: 'anna@mail-1' };

const open = (name: string, clock = () => Date.now(), keyBytes = 1_000_000, retentionMs = HOUR_MS) => {
  const keys = keyNames(`${prefix}-${name}`);
  const finder = { nameOf: async (id: string) => `name of ${id}`, idOf: async (lane: string) => lane };
  return { keys, trail: auditTrail({ redis, keys, finder, clock, retentionMs, keyBytes }) };
};

test('An operation is recorded before it runs, with its actor, and again if it fails', async () => {
  const { trail } = open('order');
  const cancel = { action: 'campaign.cancel', lane: 'main', campaign: 'c1' } as const;
  const during = await trail.operator(SHOP).audited(cancel, async () => (await trail.audit()).entries);
  expect(during).toMatchObject([{ ...cancel, lane: 'name of main', actor: SHOP, failed: null, details: {} }]);
  const failing = trail.operator(ANNA).audited({ action: 'lane.hold', lane: 'main' }, async () => {
    throw new Error('no such thing');
  });
  await expect(failing).rejects.toThrow('no such thing');
  expect((await trail.audit()).entries).toMatchObject([
    { action: 'lane.hold', actor: ANNA, failed: 'no such thing' },
    { action: 'lane.hold', actor: ANNA, failed: null },
    { action: 'campaign.cancel', actor: SHOP },
  ]);
});

test('An operation that cannot be recorded does not run', async () => {
  const { keys, trail } = open('unwritable');
  await redis.set(keys.audit, 'not a stream');
  const run = vi.fn(async () => 1);
  await expect(trail.operator(ANNA).audited({ action: 'key.create' }, run)).rejects.toThrow('WRONGTYPE');
  expect(run).not.toHaveBeenCalled();
});

test('Entries older than the retention are not shown, and are deleted by the clock of Redis', async () => {
  const { keys, trail } = open('age', () => Date.now());
  const by = trail.operator(ANNA);
  const pause = () => by.audited({ action: 'lane.hold', lane: 'main' }, async () => 1);
  const old = JSON.stringify({ actor: ANNA, action: 'lane.hold' });
  const addOld = () => redis.xadd(keys.audit, `${Date.now() - HOUR_MS - 1_000}-0`, 'e', old);
  await addOld();
  expect((await trail.audit()).entries).toEqual([]);
  expect(await redis.xlen(keys.audit)).toBe(1);
  await trail.trim();
  expect(await redis.xlen(keys.audit)).toBe(0);
  await redis.del(keys.audit);
  await addOld();
  await pause();
  expect(await redis.xlen(keys.audit)).toBe(1);
  // A process whose clock is a day ahead deletes nothing.
  const ahead = open('age', () => Date.now() + 24 * HOUR_MS).trail;
  await ahead.operator(ANNA).audited({ action: 'lane.resume', lane: 'main' }, async () => 1);
  expect(await redis.xlen(keys.audit)).toBe(2);
});

test('Pages are contiguous, newest first, and can be limited to lanes and a campaign', async () => {
  const { trail } = open('pages');
  const by = trail.operator(ANNA);
  for (let at = 0; at < 10; at += 1) {
    const lane = at % 2 === 0 ? 'even' : 'odd';
    await by.audited({ action: 'campaign.pause', lane, campaign: `c${at}` }, async () => at);
  }
  await by.audited({ action: 'key.create' }, async () => 1);
  const all = async (options: Parameters<typeof trail.audit>[0]) => {
    const found: (string | null)[] = [];
    let after: string | null | undefined;
    do {
      const page = await trail.audit({ ...options, limit: 3, cursor: after ?? undefined });
      found.push(...page.entries.map(({ campaign }) => campaign));
      after = page.nextCursor;
    } while (after !== null);
    return found;
  };
  const names = Array.from({ length: 10 }, (_, at) => `c${9 - at}`);
  expect(await all({})).toEqual([null, ...names]);
  expect(await all({ lanes: ['even'] })).toEqual(['c8', 'c6', 'c4', 'c2', 'c0']);
  expect(await all({ campaign: 'c7' })).toEqual(['c7']);
  expect(await all({ lanes: ['even'], campaign: 'c7' })).toEqual([]);
  await expect(trail.audit({ cursor: 'x' })).rejects.toThrow('not the `nextCursor` of a page');
});

test('Refused keys are counted per address and minute, and the number of entries is bounded', async () => {
  let now = 60_000;
  const { trail } = open('refused');
  const emitted: VolleyEvent[] = [];
  const events = createEvents({ level: 'silent' });
  events.onAny((event) => emitted.push(event));
  const refused = refusedKeys(trail, events, () => now);
  for (let at = 0; at < 500; at += 1) refused.count({ address: `10.0.0.${at % 100}` });
  for (let at = 0; at < 3; at += 1) refused.count({ address: '10.0.0.1' });
  // A new minute begins.
  now += 60_000;
  refused.count({ address: '10.9.9.9' });
  await expect.poll(async () => (await trail.audit({ limit: 100 })).entries.length).toBe(21);
  await refused.close();
  const { entries } = await trail.audit({ limit: 100 });
  expect(entries).toHaveLength(22);
  expect(entries[0]).toMatchObject({
    action: 'key.refused',
    actor: null,
    details: { address: '10.9.9.9', count: 1 },
  });
  const counts = new Map(entries.slice(1).map(({ details }) => [details['address'], details['count']]));
  expect([counts.get('10.0.0.0'), counts.get('10.0.0.1')]).toEqual([5, 8]);
  expect(counts.get('other addresses')).toBe(400);
  expect(emitted.filter(({ type }) => type === 'key.refused')).toHaveLength(22);
});

test('Refused requests of a valid key are counted per key, code, and minute', async () => {
  const minutes = open('refused-requests').trail;
  let now = 1_700_000_000_000;
  const refused = refusedKeys(minutes, createEvents({ level: 'silent' }), () => now);
  const [shop, bank] = [
    { id: 'a', name: 'shop' },
    { id: 'b', name: 'bank' },
  ];
  for (const code of ['forbidden', 'tooManyRequests', 'forbidden']) refused.count({ key: shop, code });
  refused.count({ key: bank, code: 'forbidden' });
  now += 60_000;
  refused.count({ key: shop, code: 'forbidden' });
  // The minute before is still being recorded.
  await refused.close();
  const { entries } = await minutes.audit();
  expect(entries).toHaveLength(4);
  expect(entries.every(({ action }) => action === 'request.refused')).toBe(true);
  expect(entries.map(({ actor, details }) => [actor?.id, details['code'], details['count']]).sort()).toEqual([
    ['a', 'forbidden', 1],
    ['a', 'forbidden', 2],
    ['a', 'tooManyRequests', 1],
    ['b', 'forbidden', 1],
  ]);
});

test('The trail contains no phone number, whatever the names and errors are', async () => {
  const own = open('numbers').trail;
  const by = own.operator({ kind: 'library', id: null, name: 'a call to +447700900456' });
  const operation = {
    action: 'outbox.create',
    lane: 'main',
    details: { outbox: 'for +447700900456' },
  } as const;
  const failing = by.audited(operation, async () => {
    throw new Error('07700900456 is not a name');
  });
  await expect(failing).rejects.toThrow();
  const stored = JSON.stringify(await redis.xrange(keyNames(`${prefix}-numbers`).audit, '-', '+'));
  expect(stored).toContain('outbox.create');
  expect(stored).not.toMatch(/700900456/);
});

test('The entries of an API key take on each lane as much as it may, and are returned when they are deleted', async () => {
  const { keys, trail } = open('bytes', () => Date.now(), 1_000);
  const by = trail.operator(SHOP);
  const create = (lane: string) => by.audited({ action: 'campaign.create', lane }, async () => 1);
  const used = async (lane: string): Promise<number> =>
    Number(await redis.hget(keys.auditBytes, `used:${lane} ${SHOP.id}`));
  const fill = async (lane: string): Promise<number> => {
    for (let times = 0; times < 100; times += 1) if ((await create(lane).catch(() => 0)) === 0) return times;
    return 100;
  };
  const times = await fill('main');
  expect(times).toBeGreaterThan(3);
  const [taken, each] = [await used('main'), (await used('main')) / times];
  expect(taken).toBeLessThanOrEqual(1_000);
  expect(taken + each).toBeGreaterThan(1_000);
  await expect(create('main')).rejects.toThrow(/no room left in the audit trail.* lane name of main/);
  expect(await redis.xlen(keys.audit)).toBe(times);

  // Another lane, other keys, and operators are not affected; what stops something is always done and recorded.
  expect(await fill('other')).toBe(times);
  await trail
    .operator({ ...SHOP, id: 'fedcba987654' })
    .audited({ action: 'campaign.create', lane: 'main' }, async () => 1);
  await trail.operator(ANNA).audited({ action: 'campaign.create', lane: 'main' }, async () => 1);
  await by.audited({ action: 'campaign.cancel', lane: 'main', campaign: 'c1' }, async () => 1);
  expect(await used('main')).toBeGreaterThan(taken);

  // As if the retention had passed: deleting returns all of it.
  const { trail: retention } = open('bytes', () => Date.now(), 1_000, 0);
  await vi.waitFor(async () => {
    await retention.trim();
    expect(await redis.xlen(keys.audit)).toBe(0);
  }, SOON);
  expect(await redis.exists(keys.auditBytes)).toBe(0);
});

test('Deleting many old entries returns what each of them took, some at a time', async () => {
  const { keys, trail } = open('many');
  const old = Date.now() - HOUR_MS - 10_000;
  const text = '["campaign.create"]';
  for (let at = 0; at < 1_500; at += 1)
    await redis.xadd(keys.audit, `${old}-${at}`, 'e', text, 'p', 'main k');
  await redis.hset(keys.auditBytes, 'used:main k', 1_500 * (64 + text.length));
  await trail.trim();
  expect(await redis.xlen(keys.audit)).toBe(500);
  expect(Number(await redis.hget(keys.auditBytes, 'used:main k'))).toBe(500 * (64 + text.length));
  await trail.trim();
  expect([await redis.xlen(keys.audit), await redis.exists(keys.auditBytes)]).toEqual([0, 0]);
});
