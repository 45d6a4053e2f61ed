import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { url, prefix } = testRedis('operator-commands');

test('A held lane and a paused campaign say who stopped them, when, and why, until they are resumed', async () => {
  const volley = createVolley({
    config: loadLocalConfig({ REDIS_URL: url, REDIS_PREFIX: prefix, SENDER_ADDRESS: 'ACME' }),
    events: createEvents({ level: 'silent' }),
  });
  onTestFinished(() => volley.close());
  const blockOf = async () => (await volley.lanes())[0]?.blockedBy ?? null;
  const began = Date.now();
  const isRecent = (since: string | null | undefined): boolean => {
    const at = Date.parse(since ?? '');
    return began - 1_000 < at && at < Date.now() + 1_000;
  };
  await volley.holdLane('default', 'the price list is wrong');
  const held = await blockOf();
  expect(held?.reason).toMatch(/^held by library .*: the price list is wrong$/);
  expect(isRecent(held?.since)).toBe(true);

  const created = await volley.enqueue({ message: 'Hi', recipients: [{ to: '+447700900123' }] });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  await volley.pause(created.id);
  const { blockedBy } = await volley.status(created.id);
  expect(blockedBy?.reason).toMatch(/^paused by library /);
  expect(isRecent(blockedBy?.since)).toBe(true);

  await volley.resumeLane('default');
  expect(await blockOf()).toBeNull();
  await volley.resume(created.id);
  expect((await volley.status(created.id)).blockedBy?.since ?? null).toBeNull();
});
