import { expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../../src/surfaces/metrics/index.js';
import { privateRedis } from '../../base/redis/servers/private-redis.js';
import { scene } from '../../scene/scene.js';
import { readExposition, sumOf } from './exposition.js';

const redis = await privateRedis();
const { open } = scene('metrics-fleet', {
  settings: { API_KEY: 'key', MESSAGING_BASE_URL: 'http://127.0.0.1:9', REDIS_URL: redis.url },
});

test('While Redis is down, the fleet has only volley_fleet_up 0; the other metrics return with Redis', async () => {
  const volley = open();
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
  expect([
    sumOf(await own(), 'volley_redis_up'),
    sumOf(await own(), 'volley_redis_disconnects_total'),
  ]).toEqual([0, 1]);

  await redis.restart();
  await restored;
  expect(sumOf(await own(), 'volley_redis_up')).toBe(1);
  expect(sumOf(await own(), 'volley_redis_reconnects_total')).toBe(1);
  expect(sumOf(await own(), 'volley_redis_down_seconds_total')).toBeGreaterThan(0);
  await expect.poll(async () => sumOf(await fleet(), 'volley_fleet_up')).toBe(1);
  expect((await fleet()).length).toBeGreaterThan(10);
});

test('A lane without a known limit has no limit metric, rather than 0', async () => {
  const volley = open({ REDIS_PREFIX: 'unknown' });
  const metrics = createMetrics({ volley, lanes: ['default'], role: 'test' });
  onTestFinished(() => metrics.close());
  const fleet = readExposition(await metrics.fleet());
  const samplesOf = (name: string) => fleet.find((one) => one.name === name)?.samples;
  for (const name of ['quota_limit', 'quota_learned', 'permits_available']) {
    expect(samplesOf(`volley_lane_${name}`), name).toEqual([]);
  }
  expect(samplesOf('volley_lane_in_flight')).toMatchObject([{ value: 0 }]);
  // There was no sweep yet.
  expect(sumOf(fleet, 'volley_last_sweep_age_seconds')).toBe(Number.POSITIVE_INFINITY);
});

test('The fleet shows the messages of outboxes that wait and are late, but not those of paused outboxes as late', async () => {
  const volley = open({ REDIS_PREFIX: 'outboxes', SENDER_ADDRESS: 'ACME' });
  const metrics = createMetrics({ volley, lanes: ['default'], role: 'test' });
  onTestFinished(() => metrics.close());
  await volley.outboxes.create({ name: 'codes', message: 'Code {{code}}' });
  const outbox = volley.outbox('codes');
  const to = '+447700900123';
  const at = (seconds: number): string => new Date(Date.now() + 1_000 * seconds).toISOString();
  await outbox.put({ id: 'late', to, code: 1, sendAt: at(-60) });
  await outbox.put({ id: 'later', to, code: 2, sendAt: at(3_600) });
  const fleet = readExposition(await metrics.fleet());
  expect(sumOf(fleet, 'volley_outbox_waiting')).toBe(2);
  expect(sumOf(fleet, 'volley_outbox_lapsed')).toBe(0);
  expect(sumOf(fleet, 'volley_outbox_late_seconds')).toBeGreaterThanOrEqual(59);
  await outbox.pause();
  // Counting takes at most a twentieth of the time.
  const late = async () => sumOf(readExposition(await metrics.fleet()), 'volley_outbox_late_seconds');
  await expect.poll(late).toBe(0);
});
