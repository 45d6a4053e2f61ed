import { expect, test, vi } from 'vitest';
import type { CancelledMessage, Outbox } from '../../../../src/index.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { NUMBER, SOON, workingVolley } from '../working-volley.js';

const place = testRedis('cancel-some');
const LATER = new Date(Date.now() + 86_400_000).toISOString();

async function visits() {
  const { volley, simulator } = await workingVolley(place);
  await volley.outboxes.create({ name: 'visits', message: 'Hi {{name}}' });
  const outbox = volley.outbox('visits');
  const put = (id: string, more: object = {}) =>
    outbox.put({ id, to: NUMBER, name: 'Ada', sendAt: LATER, ...more });
  return { volley, simulator, outbox, put };
}

async function cancelled(
  outbox: Outbox,
  which: Parameters<Outbox['cancelSome']>[0],
): Promise<CancelledMessage[]> {
  const results: CancelledMessage[] = [];
  for await (const result of outbox.cancelSome(which)) results.push(result);
  return results.sort((a, b) => (a.id < b.id ? -1 : 1));
}

test('Messages are cancelled by their ids with a result for each, and again with the same results', async () => {
  const { volley, outbox, put } = await visits();
  await put('a');
  await put('b');
  await put('sent', { sendAt: undefined });
  await vi.waitFor(
    async () => expect((await outbox.message('sent')).state).toBe('deliveredToTerminal'),
    SOON,
  );
  const results = [
    { id: 'a', outcome: 'cancelled', code: null },
    { id: 'none', outcome: 'refused', code: 'notFound' },
    { id: 'sent', outcome: 'refused', code: 'sent' },
  ];
  for (let times = 0; times < 2; times += 1)
    expect(await cancelled(outbox, { ids: ['a', 'none', 'sent', 'a'] })).toEqual(results);
  expect((await outbox.status()).counts).toMatchObject({ cancelled: 1, waiting: 1 });
  const { entries } = await volley.audit({ limit: 1 });
  expect(entries).toMatchObject([
    { action: 'outbox.cancel', lane: 'default', details: { outbox: 'visits', messages: 4 } },
  ]);
});

test('Messages are cancelled by their reference or tag, whatever their state, and no others', async () => {
  const { outbox, put } = await visits();
  for (const [id, reference, tag] of [
    ['a', 'B/1 "é"', 'shop-1'],
    ['b', 'B/1 "é"', 'shop-2'],
    ['c', 'B/1', 'shop-1'],
    ['d', '', ''],
    // Its reference is the tag of others.
    ['e', 'shop-1', ''],
  ])
    await put(id ?? '', { reference, tag });
  await outbox.cancel('b');
  expect(await cancelled(outbox, { reference: 'B/1 "é"' })).toEqual([
    { id: 'a', outcome: 'cancelled', code: null },
    { id: 'b', outcome: 'cancelled', code: null },
  ]);
  expect((await outbox.message('c')).state).toBe('waiting');
  expect((await cancelled(outbox, { tag: 'shop-1' })).map(({ id }) => id)).toEqual(['a', 'c']);
  expect(await cancelled(outbox, { tag: 'shop-9' })).toEqual([]);
  expect(await outbox.message('d')).toMatchObject({ state: 'waiting', tag: null });
  await expect(cancelled(outbox, {} as never)).rejects.toThrow('must have `ids`, at most 1000');
  await expect(cancelled(outbox, { ids: [''] })).rejects.toThrow('an id is empty');
});

test('All messages with a tag are cancelled, however many there are, with one result for each', async () => {
  const { outbox } = await visits();
  const messages = Array.from({ length: 2_500 }, (_, at) => ({
    ...{ id: `m${at}`, to: NUMBER, name: 'Ada', sendAt: LATER, tag: at % 5 === 0 ? 'other' : 'shop-1' },
  }));
  for await (const { outcome } of outbox.putAll(messages)) expect(outcome).toBe('created');
  const results = await cancelled(outbox, { tag: 'shop-1' });
  expect(results).toHaveLength(2_000);
  expect(new Set(results.map(({ id, outcome }) => `${outcome} ${id}`)).size).toBe(2_000);
  expect((await outbox.status()).counts).toMatchObject({ cancelled: 2_000, waiting: 500 });
});

test('A put with another tag changes the message, and one with an invalid tag is refused', async () => {
  const { outbox, put } = await visits();
  await put('a', { tag: 'shop-1', version: 1 });
  expect(await put('a', { tag: 'shop-1', version: 1 })).toMatchObject({ outcome: 'unchanged' });
  expect(await put('a', { tag: 'shop-2', version: 1 })).toMatchObject({ outcome: 'updated' });
  expect(await outbox.message('a')).toMatchObject({ tag: 'shop-2' });
  await expect(put('b', { tag: 'shop 1' })).rejects.toThrow('`tag` is not a text of 1 to 64 letters');
});
