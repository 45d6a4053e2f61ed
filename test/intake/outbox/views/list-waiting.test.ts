import { expect, test } from 'vitest';
import { testRedis } from '../../../base/redis/test-redis.js';
import { NUMBER, workingVolley } from '../working-volley.js';

const place = testRedis('list-waiting');
const DAY_MS = 86_400_000;
const DUE = Date.now() + DAY_MS;

async function filled(count: number) {
  const { volley } = await workingVolley(place);
  await volley.outboxes.create({ name: 'visits', message: 'Hi {{name}}' });
  const outbox = volley.outbox('visits');
  const messages = Array.from({ length: count }, (_, at) => ({
    ...{ id: `m${at}`, to: NUMBER, name: 'Ada', sendAt: DUE + at * 1_000 },
    ...(at === count - 1 ? { reference: 'last' } : {}),
  }));
  for await (const { outcome } of outbox.putAll(messages)) expect(outcome).toBe('created');
  return outbox;
}

test('The next page begins where the one before ended, although its last message is gone', async () => {
  const outbox = await filled(5);
  const first = await outbox.waiting({ limit: 2 });
  expect(first.messages.map(({ id }) => id)).toEqual(['m0', 'm1']);
  await outbox.cancel('m1');
  const second = await outbox.waiting({ limit: 3, cursor: first.nextCursor ?? undefined });
  expect(second.messages.map(({ id }) => id)).toEqual(['m2', 'm3', 'm4']);
  const end = await outbox.waiting({ limit: 3, cursor: second.nextCursor ?? undefined });
  expect(end).toEqual({ messages: [], nextCursor: null });
});

test('A filter finds a message behind thousands of others, and a position of another list is refused', async () => {
  const outbox = await filled(2_100);
  const { messages, nextCursor } = await outbox.waiting({ reference: 'last' });
  expect([messages.map(({ id }) => id), nextCursor]).toEqual([['m2099'], null]);
  for (const cursor of ['x', '1025', ''])
    await expect(outbox.waiting({ cursor })).rejects.toMatchObject({ field: 'cursor' });
});
