import { describe, expect, test, vi } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { findLane, listCampaigns, readState } from '../../../src/engine/store/campaigns.js';
import type { CampaignInput, ImportOutcome } from '../../../src/intake/import/campaign-input.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { discardImport } from '../../../src/intake/import/import-session.js';
import type { RecipientInput } from '../../../src/intake/import/read-objects.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { SOON } from '../../base/soon.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('idempotency');
const { deps, keys, lanes, lane, stored } = importFixture(redis, prefix);

function to(first: number, count: number): RecipientInput[] {
  return Array.from({ length: count }, (_, at) => ({ to: mobile(first + at) }));
}

function enqueue(change: Partial<CampaignInput>): Promise<ImportOutcome> {
  return importCampaign(deps, { recipients: to(0, 3), message: 'Hello', ...change });
}

function idOf(outcome: ImportOutcome): string {
  const id = outcome.outcome === 'refused' ? outcome.campaign : outcome.id;
  if (id === null) throw new Error('there is no id');
  return id;
}

async function campaigns(): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of listCampaigns(redis, keys)) ids.push(id);
  return ids;
}

/** A list that yields two recipients, and the last one when `go` is called. */
function halting(first: number) {
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  async function* recipients() {
    yield* to(first, 2);
    await gate;
    yield* to(first + 2, 1);
  }
  return { recipients: recipients(), go: () => go() };
}

async function importing(): Promise<string> {
  return vi.waitFor(async () => {
    const [id] = Object.keys(await stored.importing());
    if (id === undefined) throw new Error('nothing is being imported');
    return id;
  }, SOON);
}

describe('An idempotency key', () => {
  test('with the same content returns the campaign that it created', async () => {
    const change = { message: 'Same', idempotencyKey: 'same', recipients: to(10, 3) };
    const first = await enqueue(change);
    expect(first).toMatchObject({ outcome: 'created', recipientCount: 3 });
    const before = await campaigns();
    const { preview } = first;
    expect(await enqueue(change)).toMatchObject({
      outcome: 'existing',
      id: idOf(first),
      recipientCount: 3,
      preview,
    });
    expect(await campaigns()).toEqual(before);
  });

  test('returns its campaign after the time at which that began, and creates none in the past', async () => {
    const soon = { sendAt: Date.now() + 86_400_000, idempotencyKey: 'past', recipients: to(40, 3) };
    const later = { ...deps, clock: () => soon.sendAt + 1 };
    const campaign = { message: 'Past', ...soon };
    const first = await importCampaign(deps, campaign);
    expect(await importCampaign(later, campaign)).toMatchObject({ outcome: 'existing', id: idOf(first) });
    const before = await campaigns();
    for (const idempotencyKey of ['another', undefined])
      await expect(importCampaign(later, { ...campaign, idempotencyKey })).rejects.toMatchObject({
        name: 'InputError',
        field: 'sendAt',
        message: 'the time is in the past: leave it out to start sending now',
      });
    expect(await campaigns()).toEqual(before);
  });

  test.each([
    ['other recipients', 'list', { recipients: to(20, 2) }],
    ['another text', 'text', { message: 'Other' }],
    ['another sender', 'sender', { sender: '54321' }],
    ['another time', 'time', { sendAt: Date.now() + 86_400_000 }],
    ['another end', 'validity', { validFor: '1h' }],
    ['another priority', 'priority', { priority: 'high' as const }],
    ['other tags', 'set of tags', { tags: ['spring'] }],
  ])('with %s is a conflict that says so, and creates nothing', async (what, differing, change) => {
    const request = { message: `Conflict: ${what}`, idempotencyKey: what, recipients: to(20, 3) };
    const id = idOf(await enqueue(request));
    const before = await campaigns();
    expect(await enqueue({ ...request, ...change })).toMatchObject({
      outcome: 'refused',
      code: 'conflict',
      message: `the idempotency key belongs to a campaign with another ${differing}`,
      campaign: id,
    });
    expect(await campaigns()).toEqual(before);
  });

  test('with the same tags in another order returns the campaign that it created', async () => {
    const change = { message: 'Tagged', idempotencyKey: 'tagged', recipients: to(30, 3) };
    const id = idOf(await enqueue({ ...change, tags: ['vip', 'spring'] }));
    expect(await enqueue({ ...change, tags: ['spring', 'vip', 'spring'] })).toMatchObject({
      outcome: 'existing',
      id,
    });
    expect(await enqueue({ ...change, tags: [] })).toMatchObject({
      outcome: 'refused',
      code: 'conflict',
      campaign: id,
    });
  });

  test.each([
    ['no tags first', {}, { tags: [] }],
    ['an empty list first', { tags: [] }, {}],
  ])('with an empty list of tags is the same as without tags: %s', async (what, first, second) => {
    const request = { message: 'No tags', idempotencyKey: what, recipients: to(35, 1), again: true };
    const id = idOf(await enqueue({ ...request, ...first }));
    expect(await enqueue({ ...request, ...second })).toMatchObject({ outcome: 'existing', id });
  });

  test('with another name for people still returns the campaign that it created', async () => {
    const change = { message: 'Named', idempotencyKey: 'named', recipients: to(90, 1) };
    const id = idOf(await enqueue(change));
    expect(await enqueue({ ...change, name: 'spring' })).toMatchObject({ outcome: 'existing', id });
  });

  test('is released if the reply to its reservation was lost', async () => {
    const losingReplies: Redis = new Proxy(redis, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'set') return typeof value === 'function' ? value.bind(target) : value;
        return async (...args: Parameters<typeof redis.set>) => {
          await target.set(...args);
          throw new Error('Connection is closed.');
        };
      },
    });
    const change = { message: 'Unheard', idempotencyKey: 'unheard', recipients: to(95, 1) };
    await expect(importCampaign({ ...deps, redis: losingReplies }, change)).rejects.toThrow(
      'Connection is closed',
    );
    expect(await enqueue(change)).toMatchObject({ outcome: 'created' });
  });

  test('used by several imports at the same time creates one campaign', async () => {
    const before = (await campaigns()).length;
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () =>
        enqueue({ message: 'At once', idempotencyKey: 'at once', recipients: to(30, 600) }),
      ),
    );
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['created', ...Array(5).fill('existing')]);
    expect(new Set(outcomes.map(idOf)).size).toBe(1);
    expect(await campaigns()).toHaveLength(before + 1);
  });

  test('waits for the import that holds it, and is released if that import is declined', async () => {
    const slow = halting(1_000);
    const change = { message: 'Slow', idempotencyKey: 'slow' };
    const first = enqueue({ ...change, ...slow, confirm: async () => false });
    const id = await importing();
    const reads = vi.spyOn(redis, 'hget');
    let isAnswered = false;
    const second = enqueue({ ...change, recipients: to(1_000, 3) }).finally(() => {
      isAnswered = true;
    });
    await vi.waitFor(() => {
      expect(reads.mock.calls.filter(([, field]) => field === id).length).toBeGreaterThan(2);
    }, SOON);
    expect(isAnswered).toBe(false);
    slow.go();
    expect(await first).toMatchObject({ outcome: 'refused', code: 'declined' });
    expect(await second).toMatchObject({ outcome: 'created' });
  });

  test('held by an import whose process died is released once the lease expires', async () => {
    const slow = halting(2_000);
    const change = { message: 'Dead', idempotencyKey: 'dead' };
    // As if its process were stopped: it does not renew its lease during the test, and then continues.
    const dead = importCampaign(
      { ...deps, importLeaseMs: 100_000 },
      { ...change, recipients: slow.recipients, again: true },
    );
    const lost = expect(dead).rejects.toThrow('was discarded');
    const id = await importing();
    await stored.expireImport(id);
    const outcome = await enqueue({ ...change, recipients: to(2_000, 3) });
    expect(outcome.outcome).toBe('created');
    expect(idOf(outcome)).not.toBe(id);
    slow.go();
    await lost;
    expect(await readState(redis, keys, lane, id)).toBeNull();
    expect(await redis.keys(`*campaign:${id}*`)).toEqual([]);
    expect(await enqueue({ ...change, recipients: to(2_000, 3) })).toMatchObject({
      outcome: 'existing',
      id: idOf(outcome),
    });
  });
});

describe('The same content', () => {
  test('is not sent again within 24 hours, except with `again`', async () => {
    const change = { message: 'Repeated', recipients: to(40, 3) };
    const id = idOf(await enqueue(change));
    const before = await campaigns();
    expect(await enqueue(change)).toMatchObject({ outcome: 'refused', code: 'repeated', campaign: id });
    expect(await campaigns()).toEqual(before);
    const again = await enqueue({ ...change, again: true });
    expect(again.outcome).toBe('created');
    expect(await enqueue(change)).toMatchObject({
      outcome: 'refused',
      code: 'repeated',
      campaign: idOf(again),
    });
  });

  test.each(['cancelled', 'declined'])(
    'that was sent stays protected when a campaign that repeats it is %s',
    async (how) => {
      const change = { message: `Repeated, ${how}`, recipients: to(950, 1) };
      const first = idOf(await enqueue(change));
      await stored.changeState(first, { state: 'completed', counts: { deliveredToTerminal: 1 } });
      for (let time = 0; time < 2; time += 1) {
        const confirm = async (): Promise<boolean> => how === 'cancelled';
        const again = await enqueue({ ...change, again: true, confirm });
        if (how === 'cancelled') await lanes.get(lane)?.commands.campaign('cancel', idOf(again));
        else expect(again).toMatchObject({ outcome: 'refused', code: 'declined' });
      }
      expect(await enqueue(change)).toMatchObject({ outcome: 'refused', code: 'repeated', campaign: first });
      expect(await enqueue(change)).toMatchObject({ outcome: 'refused', code: 'repeated', campaign: first });
    },
  );

  test('can be sent again with a new idempotency key, which states that it is meant', async () => {
    const change = { message: 'Meant', recipients: to(45, 3) };
    const id = idOf(await enqueue(change));
    const second = await enqueue({ ...change, idempotencyKey: 'meant' });
    expect(second.outcome).toBe('created');
    expect(idOf(second)).not.toBe(id);
    expect(await enqueue({ ...change, idempotencyKey: 'meant' })).toMatchObject({
      outcome: 'existing',
      id: idOf(second),
    });
    expect(await enqueue({ ...change, idempotencyKey: 'meant again' })).toMatchObject({ outcome: 'created' });
    expect(await enqueue(change)).toMatchObject({ outcome: 'refused', code: 'repeated' });
  });

  test('does not wait for another import of it with a key of its own', async () => {
    const slow = halting(3_000);
    const change = { message: 'Not waited for', recipients: to(3_000, 3) };
    let ask = (): void => {};
    const asked = new Promise<void>((resolve) => {
      ask = resolve;
    });
    const first = enqueue({
      ...change,
      idempotencyKey: 'asks',
      confirm: async () => {
        ask();
        for await (const _ of slow.recipients);
        return true;
      },
    });
    await asked;
    expect(await enqueue({ ...change, idempotencyKey: 'does not ask' })).toMatchObject({
      outcome: 'created',
    });
    slow.go();
    expect(await first).toMatchObject({ outcome: 'created' });
  });

  test('is free again once its campaign is cancelled, if that sent nothing', async () => {
    const change = { message: 'Cancelled', recipients: to(47, 3) };
    const unsent = idOf(await enqueue(change));
    const cancelled = await lanes.get(lane)?.commands.campaign('cancel', unsent);
    expect(cancelled).toMatchObject({ outcome: 'done' });
    const sent = idOf(await enqueue(change));
    expect(sent).not.toBe(unsent);

    for (const state of ['unknown', 'abandoned', 'deliveredToTerminal', 'unconfirmed', 'sending'] as const) {
      const counts = { cancelled: 2, [state]: 1 };
      await stored.changeState(sent, { state: 'cancelled', counts });
      expect(await enqueue(change)).toMatchObject({ outcome: 'refused', code: 'repeated', campaign: sent });
    }
    const counts = { cancelled: 1, suppressed: 1, rejected: 1 };
    await stored.changeState(sent, { state: 'cancelled', counts });
    expect(await enqueue(change)).toMatchObject({ outcome: 'created' });
  });

  test('of two imports at the same time is sent by one of them', async () => {
    const outcomes = await Promise.all(
      [1, 2].map(() => enqueue({ message: 'Twice', recipients: to(50, 600) })),
    );
    expect(outcomes.map((one) => (one.outcome === 'refused' ? one.code : one.outcome)).sort()).toEqual([
      'created',
      'repeated',
    ]);
    expect(new Set(outcomes.map(idOf)).size).toBe(1);
  });

  test('does not include messages that differ only in where one value ends and the next begins', async () => {
    const message = 'Hi {{a}} {{b}}';
    for (const separator of [',', ':', ',:', ':,']) {
      const first = await enqueue({ message, recipients: [{ to: mobile(60), a: `x${separator}y`, b: 'z' }] });
      const second = await enqueue({
        message,
        recipients: [{ to: mobile(60), a: 'x', b: `y${separator}z` }],
      });
      expect([first.outcome, second.outcome]).toEqual(['created', 'created']);
    }
  });

  test('may differ in columns that the message does not use', async () => {
    const message = 'Hi {{a}}';
    const id = idOf(await enqueue({ message, recipients: [{ to: mobile(61), a: 'x', note: '1' }] }));
    const outcome = await enqueue({ message, recipients: [{ to: mobile(61), a: 'x', note: '2' }] });
    expect(outcome).toMatchObject({ outcome: 'refused', code: 'repeated', campaign: id });
  });

  test('can be sent again once its campaign is gone', async () => {
    const change = { message: 'Gone', recipients: to(70, 3) };
    const id = idOf(await enqueue(change));
    await stored.removeState(id);
    expect(await enqueue(change)).toMatchObject({ outcome: 'created' });
  });
});

test('An import whose process is alive, or that is committed, cannot be discarded as expired', async () => {
  const slow = halting(3_000);
  const alive = enqueue({ message: 'Alive', recipients: slow.recipients });
  const id = await importing();
  expect(await discardImport(redis, keys, lane, id)).toBe(false);
  slow.go();
  expect(await alive).toMatchObject({ outcome: 'created', id });
  await stored.expireImport(id);
  expect(await discardImport(redis, keys, lane, id)).toBe(false);
  expect(await findLane(redis, keys, id)).toBe(lane);
  expect(await stored.importing()).toEqual({});
});
