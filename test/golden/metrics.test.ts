import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../src/app/runtime.js';
import { loadLocalConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { createMetrics } from '../../src/surfaces/metrics/index.js';
import { testRedis } from '../base/redis/test-redis.js';

const { url, prefix } = testRedis('golden-metrics');

test('The names, types, and descriptions of the metrics are those in metrics.txt', async () => {
  const config = loadLocalConfig({
    REDIS_URL: url,
    REDIS_PREFIX: prefix,
    API_KEY: 'key',
    HOURLY_QUOTA: '10',
  });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  const metrics = createMetrics({ volley, lanes: ['default'], role: 'send' });
  onTestFinished(async () => {
    metrics.close();
    await volley.close();
  });
  metrics.http();
  const text = `${await metrics.process()}\n${await metrics.fleet()}`;
  const lines = text.split('\n').filter((line) => /^# (HELP|TYPE) volley_/.test(line));
  expect(lines.length).toBeGreaterThan(60);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('files/metrics.txt');
});
