import { expect, test } from 'vitest';
import { scene } from '../scene/scene.js';

const { open } = scene('shared-limits', {
  lanes: ['a', 'b', 'c'],
  settings: { SENDER_ADDRESS: 'ACME', PRICE_PER_SEGMENT: '0.5 EUR', MAX_SCHEDULE_AHEAD: '365000d' },
});
const volley = open();
const limits = { recipientsPerDay: 10 };

test('A limit per day counts all lanes of a key together, which shows what it has stored today', async () => {
  const { id } = await volley.keys.create({ name: 'shop', scopes: ['send'], ...limits });
  const by = volley.as({ kind: 'key', id, name: 'shop', limits });
  const enqueue = (lane: string, count: number) =>
    by.enqueue({
      lane,
      message: `${count} on ${lane}`,
      recipients: Array.from({ length: count }, (_, at) => ({ to: `+4477009${10_000 + at}` })),
      sendAt: '2999-01-01T00:00:00Z',
    });
  const resetsAt = new Date((Math.floor(Date.now() / 86_400_000) + 1) * 86_400_000).toISOString();
  expect((await volley.keys.get(id)).today).toEqual({
    ...{ recipientCount: 0, cost: null, resetsAt },
    ...{ recipientsLeft: 10, costLeft: null },
  });
  await enqueue('a', 3);
  await enqueue('b', 4);
  expect(await volley.keys.get(id)).toMatchObject({
    ...{ id, ...limits },
    today: { recipientCount: 7, cost: null, resetsAt },
  });
  // What the other lanes were given and did not need, this one may have.
  await expect(enqueue('c', 4)).rejects.toMatchObject({ limit: 'recipientsPerDay', owner: 'key', left: 3 });
  expect(await enqueue('c', 3)).toMatchObject({ outcome: 'created' });
  await expect(enqueue('a', 1)).rejects.toMatchObject({ left: 0 });
  const unlimited = await volley.keys.create({ name: 'shop', scopes: ['send'] });
  expect(await volley.keys.get(unlimited.id)).toMatchObject({ today: null, lastUsedAt: null });
  await volley.keys.revoke(id);
  await expect(volley.keys.get(id)).rejects.toMatchObject({ code: 'notFound' });
});
