import { expect, test } from 'vitest';
import { readExposition, sumOf } from '../metrics/exposition.js';
import { testRedis } from '../redis/test-redis.js';
import { served } from './api.js';

const { url, prefix } = testRedis('http-metrics');
const { origin } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix });

async function scrape() {
  const reply = await fetch(`${origin}/metrics`);
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  return readExposition(await reply.text());
}

test('The API shows the fleet and itself, each name once', async () => {
  const metrics = await scrape();
  const names = metrics.map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  expect(sumOf(metrics, 'volley_fleet_up')).toBe(1);
  expect(sumOf(metrics, 'volley_lane_state', { lane: 'default', state: 'open' })).toBe(1);
  expect(sumOf(metrics, 'volley_info', { role: 'http' })).toBe(1);
});

test('Answers are counted by the pattern of their address, never by the address', async () => {
  await fetch(`${origin}/healthz`);
  await fetch(`${origin}/nothing/+447700900123`);
  const metrics = await scrape();
  expect(sumOf(metrics, 'volley_http_requests_total', { route: '/healthz', status: '200' })).toBe(1);
  expect(sumOf(metrics, 'volley_http_requests_total', { route: 'none', status: '404' })).toBe(1);
  expect(sumOf(metrics, 'volley_http_request_duration_seconds', { route: '/healthz' })).toBeGreaterThan(0);
  expect(JSON.stringify(metrics)).not.toContain('447700900123');
});
