import { expect, test } from 'vitest';
import { keyNames } from '../../src/base/redis/keys.js';
import { removeCampaign } from '../../src/engine/recovery/retention.js';
import { testRedis } from '../base/redis/test-redis.js';
import { workingVolley } from '../intake/outbox/working-volley.js';

const server = testRedis('deleted-campaign');
const RECIPIENTS = [{ to: '+447700900123' }, { to: '+447700900124' }];

test.each([
  ['with its idempotency key', 'spring', 'conflict', 'which was deleted'],
  ['without one', undefined, 'repeated', 'of the last 24 hours'],
])('A request %s that is repeated after its campaign was deleted sends nothing again', async (...given) => {
  const [, idempotencyKey, code, message] = given;
  const { volley, texts } = await workingVolley(server);
  const request = { message: 'Hello', recipients: RECIPIENTS, idempotencyKey };
  const first = await volley.enqueue(request);
  const id = 'id' in first ? first.id : '';
  await volley.finished(id);
  expect(await volley.delete(id)).toEqual({ recipientCount: 2 });
  expect(await volley.list()).toEqual([]);
  const { refusal } = await volley.preview(request);
  expect(refusal).toEqual(idempotencyKey === undefined ? { code, campaign: id } : null);
  expect(await volley.enqueue(request)).toMatchObject({
    ...{ outcome: 'refused', code, campaign: id, message: expect.stringContaining(message) },
  });
  expect(texts()).toHaveLength(2);
});

test('The idempotency key of a deleted campaign is free when its retention ends', async () => {
  const { volley, prefix } = await workingVolley(server, { env: { RETENTION: '3h' } });
  const request = { message: 'Hello', recipients: RECIPIENTS, idempotencyKey: 'spring' };
  const first = await volley.enqueue(request);
  const id = 'id' in first ? first.id : '';
  await volley.finished(id);
  await volley.delete(id);
  const keys = keyNames(prefix);
  const [reserved = ''] = await server.redis.keys(`${prefix}:idempotency:lane:*`);
  expect(await server.redis.pttl(reserved)).toBeLessThanOrEqual(3 * 3_600_000);
  expect(await server.redis.pttl(reserved)).toBeGreaterThan(2 * 3_600_000);
  // What the sweep does then.
  await removeCampaign(server.redis, keys, 'default', id);
  expect(await volley.enqueue(request)).toMatchObject({ outcome: 'created' });
});

test('Deleting a campaign leaves an idempotency key alone that another campaign holds', async () => {
  const { volley, prefix } = await workingVolley(server);
  const first = await volley.enqueue({ message: 'Hello', recipients: RECIPIENTS, idempotencyKey: 'spring' });
  const id = 'id' in first ? first.id : '';
  await volley.finished(id);
  const [reserved = ''] = await server.redis.keys(`${prefix}:idempotency:lane:*`);
  expect(await server.redis.get(reserved)).toBe(`${id} default`);
  await server.redis.set(reserved, 'another default');
  await volley.delete(id);
  expect(await server.redis.pttl(reserved)).toBe(-1);
});
