import { expect, test } from 'vitest';
import { KeyFullError } from '../../../src/campaign/errors/errors.js';
import type { Actor } from '../../../src/campaign/states/actor.js';
import type { Operator } from '../../../src/campaign/states/audit.js';
import { usedBytes } from '../../../src/engine/recipients/key-bytes.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { type ImportDeps, importCampaign } from '../../../src/intake/import/import-campaign.js';
import { beginImport, discardImport } from '../../../src/intake/import/import-session.js';
import { OPERATOR } from '../../app/access/operator.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { draft } from '../../scene/draft.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('key-bytes');
const { deps, keys, config, lane, stored } = importFixture(redis, prefix);

const LIMIT = 30_000;
const used = (key: string): Promise<number> => usedBytes(redis, keys, lane, key);
const fields = async (): Promise<string[]> => Object.keys(await stored.keyBytes());

/** What a key imports with, and how much it may store. */
function depsOf(actor: Actor, keyBytes = LIMIT): ImportDeps {
  const by: Operator = { ...OPERATOR, actor };
  return { ...deps, by, config: { ...config, keyBytes } };
}
const keyActor = (id: string): Actor => ({ kind: 'key', id, name: 'shop' });

let texts = 0;
/** A campaign with a name for each recipient, whose rows do not compress well. All with as many recipients take as much. */
async function create(of: ImportDeps, recipients: number): Promise<string> {
  texts += 1;
  const outcome = await importCampaign(of, {
    message: `Hello {{name}}, this is text ${texts}`,
    recipients: Array.from({ length: recipients }, (_, at) => ({
      to: mobile(at),
      name: `${Math.abs(Math.sin(at + 1))}`.slice(2),
    })),
  });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
}

async function remove(ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await stored.changeState(id, { state: 'completed', endedAt: 5 });
    await removeCampaign(redis, keys, lane, id);
    await removeCampaign(redis, keys, lane, id);
  }
}

/** Creates campaigns in so many imports at a time, until each of them is refused. */
async function fill(of: ImportDeps, recipients: number, atOnce: number): Promise<string[]> {
  const created: string[] = [];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (;;) {
        try {
          created.push(await create(of, recipients));
        } catch (error) {
          expect(error).toBeInstanceOf(KeyFullError);
          return;
        }
      }
    }),
  );
  return created;
}

test('Eight imports at the same time fill a key up to its limit and not beyond it, and what is removed is returned', async () => {
  const shop = depsOf(keyActor('shop'));
  const together = await fill(shop, 40, 8);
  expect(await used('shop')).toBeLessThanOrEqual(LIMIT);
  // Those that are refused hold room for a moment.
  const created = [...together, ...(await fill(shop, 40, 1))];
  const most = await used('shop');
  expect(most).toBeLessThanOrEqual(LIMIT);
  expect(created.length).toBeGreaterThan(5);
  // No further campaign of this size fits, and nothing of those that were refused is left.
  expect(most + most / created.length).toBeGreaterThan(LIMIT);
  expect((await fields()).filter((field) => field.startsWith('campaign:'))).toHaveLength(created.length);
  expect(await stored.campaigns()).toHaveLength(created.length);
  const kept = await keysOf(redis, prefix);
  expect(kept.filter((key) => /:campaign:[^:]+$/.test(key))).toHaveLength(created.length);

  const [first = '', ...others] = created;
  await remove([first]);
  expect(await used('shop')).toBeLessThan(most);
  const again = await create(shop, 40);
  await remove([...others, again]);
  expect(await fields()).toEqual([]);
});

test('A campaign that fits exactly is stored, and with one byte less it is not', async () => {
  const input = { message: 'Hi', recipients: [{ to: mobile(1) }], again: true };
  const stored = async (limit: number): Promise<string> => {
    const outcome = await importCampaign(depsOf(keyActor('exact'), limit), input);
    return outcome.outcome === 'created' ? outcome.id : outcome.outcome;
  };
  let [tooFew, enough] = [0, LIMIT];
  while (enough - tooFew > 1) {
    const limit = Math.floor((tooFew + enough) / 2);
    try {
      const id = await stored(limit);
      expect(await used('exact')).toBeLessThanOrEqual(limit);
      await remove([id]);
      enough = limit;
    } catch (error) {
      expect(error).toMatchObject({ name: 'KeyFullError', limit });
      tooFew = limit;
    }
    expect(await fields()).toEqual([]);
  }
  expect(enough).toBeGreaterThan(1_024);
});

test('A key that is full stops neither another key of its lane nor operators', async () => {
  const created = await fill(depsOf(keyActor('full')), 100, 8);
  const others = [
    await create(depsOf(keyActor('other')), 500),
    await create(depsOf({ kind: 'cli', id: null, name: 'anna' }), 5_000),
    await create(depsOf({ kind: 'library', id: null, name: 'app' }), 5_000),
  ];
  expect((await fields()).filter((field) => field.startsWith('used:')).sort()).toEqual([
    'used:full',
    'used:other',
  ]);
  await remove([...created, ...others]);
  expect(await fields()).toEqual([]);
});

test('An import is refused while its list is read, and what it has stored is returned', async () => {
  const refused = create(depsOf(keyActor('long'), 100_000), 50_000);
  await expect(refused).rejects.toMatchObject({
    name: 'KeyFullError',
    limit: 100_000,
    message: expect.stringMatching(
      /^API key long has no room left: it uses 0\.\d of 0\.1 MB \(KEY_MEMORY_MB\)/,
    ),
  });
  await expect(refused).rejects.toHaveProperty('used', expect.any(Number));
  expect(await fields()).toEqual([]);
  expect(await keysOf(redis, prefix).then((all) => all.filter((key) => key.includes(':campaign:')))).toEqual(
    [],
  );
});

test('The campaign of a schedule is paid for by the key that created the schedule', async () => {
  const due = { ...depsOf({ kind: 'schedule', id: 'weekly', name: 'weekly' }), paidBy: keyActor('planner') };
  const created = await create(due, 10);
  expect(await used('planner')).toBeGreaterThan(1_024);
  await remove([created]);
  expect(await fields()).toEqual([]);
});

test('An idempotency key that a refused campaign asked for is free again', async () => {
  const shop = depsOf(keyActor('idem'), 10);
  const input = { message: 'Hi', recipients: [{ to: mobile(1) }], idempotencyKey: 'order-1' };
  await expect(importCampaign(shop, input)).rejects.toBeInstanceOf(KeyFullError);
  expect(await redis.keys(`${prefix}:idempotency:lane:*`)).toEqual([]);
});

test('The import of a process that died returns what it has stored', async () => {
  const meta = draft('dead', { lane });
  const session = beginImport(redis, keys, meta, { payer: { key: meta.id, limit: LIMIT } });
  for (let at = 0; at < 256; at += 1) session.recipients.add({ number: mobile(at), values: [] });
  await session.recipients.flushed();
  await session.recipients.rest();
  expect(await used('dead')).toBeGreaterThan(1_024);
  await stored.expireImport('dead');
  expect(await discardImport(redis, keys, lane, 'dead')).toBe(true);
  expect(await fields()).toEqual([]);
  await session.discard();
  expect(await readState(redis, keys, lane, 'dead')).toBeNull();
  expect(await fields()).toEqual([]);
});

test('A beginning, a write, and a commit that are repeated are paid for once', async () => {
  const meta = draft('twice', { lane });
  const repeated = (name: string) => (/^eval/.test(name) ? 2 : 1);
  // Each command goes out twice, as when a connection breaks before the reply.
  const twice = new Proxy(redis, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        let reply: unknown;
        for (let at = 0; at < repeated(String(name)); at += 1)
          reply = await Reflect.apply(member, target, args);
        return reply;
      };
    },
  });
  const amounts: number[] = [];
  for (const connection of [redis, twice]) {
    const session = beginImport(connection, keys, meta, { payer: { key: meta.id, limit: LIMIT } });
    for (let at = 0; at < 300; at += 1) session.recipients.add({ number: mobile(at), values: [] });
    await session.recipients.flushed();
    await session.commit(meta);
    amounts.push(await used('twice'));
    await remove(['twice']);
    expect(await fields()).toEqual([]);
  }
  expect(amounts[1]).toBe(amounts[0]);
  expect(amounts[0]).toBeGreaterThan(1_024);
});
