import { expect, test } from 'vitest';
import type { Outbox } from '../../../../src/index.js';
import type { MessagePageOptions } from '../../../../src/intake/outbox/views/list-messages.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { workingVolley } from '../working-volley.js';

const place = testRedis('list-messages');
const LATER = new Date(Date.now() + 86_400_000).toISOString();
const numberOf = (at: number): string => `+4477009${String(at).padStart(5, '0')}`;

/** An outbox in which so many messages wait. */
async function filled(count: number, more: (at: number) => object = () => ({})): Promise<Outbox> {
  const { volley } = await workingVolley(place);
  await volley.outboxes.create({ name: 'visits', message: 'Hi {{name}}' });
  const outbox = volley.outbox('visits');
  const messages = Array.from({ length: count }, (_, at) => ({
    ...{ id: `m${at}`, to: numberOf(at), name: 'Ada', reference: `r/${at % 7}`, sendAt: LATER },
    ...more(at),
  }));
  for await (const { outcome, errors } of outbox.putAll(messages))
    expect([outcome, errors]).toEqual(['created', []]);
  return outbox;
}

/** The ids in all pages, with how many pages there were. `between` runs after the first page. */
async function listed(outbox: Outbox, options: MessagePageOptions, between = async () => {}) {
  const ids: string[] = [];
  let pages = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await outbox.messages({ ...options, cursor });
    expect(page.messages.length).toBeLessThanOrEqual(options.limit ?? 50);
    ids.push(...page.messages.map(({ id }) => id));
    pages += 1;
    if (pages === 1) await between();
    if (page.nextCursor === null) return { ids, pages };
    cursor = page.nextCursor;
  }
}

test.each([
  [3, 1],
  [90, 20],
  [400, 1],
  [2_000, 7],
  [2_000, 500],
])('Each of %i messages is in one of the pages of at most %i', async (count, limit) => {
  const outbox = await filled(count, (at) =>
    at % 2 === 0 ? {} : { name: 'A name of more than 64 bytes '.repeat(3) },
  );
  const { ids, pages } = await listed(outbox, { limit });
  expect(ids.sort()).toEqual(Array.from({ length: count }, (_, at) => `m${at}`).sort());
  expect(pages).toBeLessThanOrEqual(Math.ceil(count / limit) * 2 + 2);
});

test('A message that is there all the time is listed although others come and go meanwhile', async () => {
  const outbox = await filled(300);
  const change = async (): Promise<void> => {
    for (let at = 0; at < 100; at += 1) await outbox.cancel(`m${at}`);
    const more = Array.from({ length: 3_000 }, (_, at) => ({ id: `x${at}`, to: numberOf(at), name: 'Ada' }));
    for await (const { outcome } of outbox.putAll(more.map((each) => ({ ...each, sendAt: LATER }))))
      expect(outcome).toBe('created');
  };
  const { ids } = await listed(outbox, { limit: 10 }, change);
  expect(new Set(ids.filter((id) => id.startsWith('m'))).size).toBe(300);
});

test('Messages are listed by state, number, reference, and tag', async () => {
  const outbox = await filled(1_500, (at) => ({ tag: `shop-${at % 3}` }));
  await outbox.cancel('m5');
  const idsOf = async (filter: MessagePageOptions) => (await listed(outbox, filter)).ids.sort();
  expect(await idsOf({ state: 'cancelled' })).toEqual(['m5']);
  expect(await idsOf({ state: 'waiting', limit: 100 })).toHaveLength(1_499);
  expect(await idsOf({ to: '+44 7700 900017' })).toEqual(['m17']);
  expect(await idsOf({ to: numberOf(17) })).toEqual(['m17']);
  expect(await idsOf({ reference: 'r/3', limit: 500 })).toHaveLength(214);
  expect(await idsOf({ reference: 'r/' })).toEqual([]);
  expect(await idsOf({ tag: 'shop-1', reference: 'r/3', limit: 500 })).toHaveLength(71);
  const [one] = (await outbox.messages({ to: numberOf(4) })).messages;
  expect(one).toMatchObject({ id: 'm4', state: 'waiting', reference: 'r/4', tag: 'shop-1' });
  const ofAnotherList = (await outbox.waiting({ limit: 1 })).nextCursor ?? '';
  expect(ofAnotherList).toMatch(/ m\d+$/);
  for (const cursor of ['x', '-1', '', '99999999999999999999', ofAnotherList])
    await expect(outbox.messages({ cursor })).rejects.toMatchObject({ field: 'cursor' });
  await expect(outbox.messages({ limit: 501 })).rejects.toMatchObject({ field: 'limit' });
});
