import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { KeyFullError } from '../../../src/index.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis, url } = testRedis('schedule-key-bytes');

test('The schedules of a key count up to its limit on each lane, those of others do not, and one that is removed is returned', async () => {
  const lanes = join(mkdtempSync(join(tmpdir(), 'volley-lanes-')), 'lanes.json');
  writeFileSync(
    lanes,
    JSON.stringify(['default', 'second'].map((name) => ({ name, apiKey: `key-${name}` }))),
  );
  const volley = createVolley({
    config: loadLocalConfig({
      REDIS_URL: url,
      REDIS_PREFIX: prefix,
      SENDER_ADDRESS: 'ACME',
      KEY_MEMORY_MB: '1',
      LANES_FILE: lanes,
    }),
    events: createEvents({ level: 'silent' }),
    actor: { kind: 'cli', id: null, name: 'anna' },
  });
  onTestFinished(() => volley.close());
  const schedule = (id: string) => ({
    id,
    cron: '0 9 * * 1',
    zone: 'UTC',
    message: 'Hi {{name}}',
    recipients: Array.from({ length: 2_000 }, (_, at) => ({
      to: `+4477${10_000_000 + at}`,
      name: 'x'.repeat(100),
    })),
  });
  const shop = volley.as({ kind: 'key', id: 'shop', name: 'shop' }).schedules;
  const used = async (): Promise<number> =>
    Number(await redis.hget(keyNames(prefix).schedules.keyBytes, 'used:default shop'));
  const ids: string[] = [];
  let refusal: unknown;
  while (refusal === undefined && ids.length < 10) {
    const id = `s${ids.length}`;
    try {
      await shop.add(schedule(id));
      ids.push(id);
    } catch (error) {
      refusal = error;
    }
  }
  expect(refusal).toBeInstanceOf(KeyFullError);
  expect(ids.length).toBeGreaterThan(1);
  expect(await used()).toBeLessThanOrEqual(1_000_000);
  expect(String(refusal)).toContain('on lane default');
  const before = await used();
  expect((await shop.add(schedule('s0'))).outcome).toBe('existing');
  expect(await used()).toBe(before);
  const other = volley.as({ kind: 'key', id: 'other', name: 'other' }).schedules;
  expect((await other.add(schedule('other'))).outcome).toBe('created');
  expect((await volley.schedules.add(schedule('own'))).outcome).toBe('created');
  expect((await shop.add({ ...schedule('elsewhere'), lane: 'second' })).outcome).toBe('created');
  await volley.schedules.remove('s0');
  expect((await shop.add(schedule('again'))).outcome).toBe('created');
  for (const id of [...ids.slice(1), 'again', 'other', 'elsewhere']) await volley.schedules.remove(id);
  expect(await redis.exists(keyNames(prefix).schedules.keyBytes)).toBe(0);
});
