import { expect, test, vi } from 'vitest';
import type { Volley } from '../../../../src/app/runtime.js';
import type { Outbox } from '../../../../src/index.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { NUMBER, SOON, workingVolley } from '../working-volley.js';

const place = testRedis('cancel-all');
const LATER = new Date(Date.now() + 86_400_000).toISOString();

const started = (HOURLY_QUOTA: string) =>
  workingVolley(place, { env: { HOURLY_QUOTA, FOLLOW_UP_FIRST_MS: '15000' } });

async function putAll(outbox: Outbox, count: number, sendAt?: string): Promise<void> {
  const messages = Array.from({ length: count }, (_, at) => ({
    id: `${sendAt === undefined ? 'now' : 'later'}-${at}`,
    to: NUMBER,
    name: `${at}`,
    sendAt,
  }));
  for await (const { outcome } of outbox.putAll(messages)) expect(outcome).toBe('created');
}

async function resultsOf(volley: Volley): Promise<string[]> {
  const results: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await volley.results({ cursor: after, limit: 10_000 });
    results.push(...page.results.map(({ message, status }) => `${message} ${status}`));
    if (!page.hasMore) return results.sort();
    after = page.nextCursor;
  }
}

test('Everything that waits in an outbox is cancelled at once, also what is planned, and is in the results', async () => {
  const { volley, simulator } = await started('20');
  await volley.outboxes.create({ name: 'codes', message: 'Hi {{name}}' });
  const outbox = volley.outbox('codes');
  await putAll(outbox, 60);
  await putAll(outbox, 1_100, LATER);
  const sent = () => [...simulator.ledger.entries()].length;
  await vi.waitFor(() => expect(sent()).toBeGreaterThan(5), SOON);
  // What is due is planned before it is claimed.
  await volley.holdLane('default');
  const { cancelled } = await outbox.cancelAll();
  await volley.resumeLane('default');
  expect(await outbox.status()).toMatchObject({
    counts: { total: 1_160, waiting: 0, cancelled },
    nextDue: null,
  });
  await vi.waitFor(async () => expect((await outbox.status()).counts.sending).toBe(0), SOON);
  expect(cancelled + sent()).toBe(1_160);
  const ended = (await resultsOf(volley)).filter((result) => result.endsWith(' cancelled'));
  expect(ended).toHaveLength(cancelled);
  expect(new Set(ended).size).toBe(cancelled);
  expect(await outbox.cancelAll()).toEqual({ cancelled: 0, inFlight: 0 });
  // It still takes messages.
  await outbox.put({ id: 'another', to: NUMBER, name: 'Ada', sendAt: LATER });
  expect((await outbox.status()).counts.waiting).toBe(1);
});

test.each([
  ['before its earlier message is final', '15000'],
  ['after that', '50'],
])('An outbox sends what is put after everything in it was cancelled, %s', async (_, FOLLOW_UP_FIRST_MS) => {
  const { volley, simulator } = await workingVolley(place, {
    env: { HOURLY_QUOTA: '100000', FOLLOW_UP_FIRST_MS },
  });
  await volley.outboxes.create({ name: 'codes', message: 'Hi {{name}}' });
  const outbox = volley.outbox('codes');
  const texts = () => [...simulator.ledger.entries()].map(({ text }) => text);
  await outbox.put({ id: 'first', to: NUMBER, name: 'Ada' });
  await vi.waitFor(() => expect(texts()).toEqual(['Hi Ada']), SOON);
  if (FOLLOW_UP_FIRST_MS === '50')
    await vi.waitFor(async () => expect((await outbox.status()).counts.deliveredToTerminal).toBe(1), SOON);
  await outbox.cancelAll();
  await outbox.put({ id: 'second', to: NUMBER, name: 'Bea' });
  await vi.waitFor(() => expect(texts()).toEqual(['Hi Ada', 'Hi Bea']), SOON);
});

test('Revoking a key empties the outboxes that only it wrote to, and lists the others', async () => {
  const { volley } = await started('100000');
  const keyed = async (name: string) => {
    const { id } = await volley.keys.create({ name, scopes: ['send'] });
    return { id, volley: volley.as({ kind: 'key', id, name }) };
  };
  const [shop, bank] = [await keyed('shop'), await keyed('bank')];
  const outboxOf = async (creator: Volley, name: string, ...writers: Volley[]): Promise<Outbox> => {
    await creator.outboxes.create({ name, message: 'Hi {{name}}' });
    for (const [at, writer] of writers.entries())
      await writer.outbox(name).put({ id: `m${at}`, to: NUMBER, name: 'Ada', sendAt: LATER });
    return volley.outbox(name);
  };
  const outboxes = [
    await outboxOf(bank.volley, 'only-shop', shop.volley),
    await outboxOf(shop.volley, 'both', shop.volley, bank.volley),
    await outboxOf(shop.volley, 'with-the-command-line', shop.volley, volley),
    await outboxOf(shop.volley, 'only-bank', bank.volley),
  ];
  await putAll(shop.volley.outbox('only-shop'), 1_100, LATER);
  expect(await volley.keys.revoke(shop.id, { cancelCampaigns: true })).toEqual({
    cancelled: [],
    emptied: [{ name: 'only-shop', lane: 'default', cancelled: 1_101 }],
    shared: ['both', 'with-the-command-line'].map((name) => ({ name, lane: 'default' })),
  });
  const waiting = await Promise.all(outboxes.map(async (outbox) => (await outbox.status()).counts.waiting));
  expect(waiting).toEqual([0, 2, 2, 1]);
});

test('Revoking the creator of an outbox cancels nothing that others have put', async () => {
  const { volley, simulator } = await started('20');
  const { id } = await volley.keys.create({ name: 'shop', scopes: ['send'] });
  await volley
    .as({ kind: 'key', id, name: 'shop' })
    .outboxes.create({ name: 'codes', message: 'Hi {{name}}' });
  await putAll(volley.outbox('codes'), 60);
  await vi.waitFor(() => expect([...simulator.ledger.entries()].length).toBeGreaterThan(5), SOON);
  expect(await volley.keys.revoke(id, { cancelCampaigns: true })).toEqual({
    cancelled: [],
    emptied: [],
    shared: [],
  });
  expect(await volley.outbox('codes').status()).toMatchObject({ counts: { total: 60, cancelled: 0 } });
});
