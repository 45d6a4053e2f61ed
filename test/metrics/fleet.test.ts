import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { createMetrics } from '../../src/metrics/index.js';
import { createVolley } from '../../src/runtime.js';
import { privateRedis } from '../redis/private-redis.js';
import { readExposition, sumOf } from './exposition.js';

const redis = await privateRedis();

test('Without Redis the metrics say so and nothing else of the fleet, and come back with it', {
  timeout: 60_000,
}, async () => {
  const config = loadConfig({
    API_KEY: 'key',
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    REDIS_URL: redis.url,
  });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  onTestFinished(() => volley.close());
  const metrics = createMetrics({ volley, lanes: ['default'], role: 'test' });
  onTestFinished(() => metrics.close());
  const fleet = async () => readExposition(await metrics.fleet());
  const own = async () => readExposition(await metrics.process());

  expect(sumOf(await fleet(), 'volley_fleet_up')).toBe(1);
  const [lost, restored] = [volley.events.next('redis.lost'), volley.events.next('redis.restored')];
  await redis.kill();
  await lost;
  expect((await fleet()).map(({ name }) => name)).toEqual(['volley_fleet_up']);
  expect(sumOf(await fleet(), 'volley_fleet_up')).toBe(0);
  expect([sumOf(await own(), 'volley_redis_up'), sumOf(await own(), 'volley_redis_lost_total')]).toEqual([
    0, 1,
  ]);

  await redis.restart();
  await restored;
  expect(sumOf(await own(), 'volley_redis_up')).toBe(1);
  expect(sumOf(await own(), 'volley_redis_restored_total')).toBe(1);
  expect(sumOf(await own(), 'volley_redis_down_seconds_total')).toBeGreaterThan(0);
  await expect.poll(async () => sumOf(await fleet(), 'volley_fleet_up'), { timeout: 20_000 }).toBe(1);
  expect((await fleet()).length).toBeGreaterThan(10);
});

test('A lane that is not known to have a limit shows none, rather than nought', async () => {
  const config = loadConfig({
    API_KEY: 'key',
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    REDIS_URL: redis.url,
    REDIS_PREFIX: 'unknown',
  });
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  onTestFinished(() => volley.close());
  const metrics = createMetrics({ volley, lanes: ['default'], role: 'test' });
  onTestFinished(() => metrics.close());
  const fleet = readExposition(await metrics.fleet());
  const samplesOf = (name: string) => fleet.find((one) => one.name === name)?.samples;
  for (const name of ['quota_limit', 'quota_learned', 'permits']) {
    expect(samplesOf(`volley_lane_${name}`), name).toEqual([]);
  }
  expect(samplesOf('volley_lane_in_flight')).toMatchObject([{ value: 0 }]);
  // Nobody has ever swept, which no number of seconds says.
  expect(sumOf(fleet, 'volley_sweep_age_seconds')).toBe(Number.POSITIVE_INFINITY);
});
