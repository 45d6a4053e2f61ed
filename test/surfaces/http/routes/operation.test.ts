import { once } from 'node:events';
import { get } from 'node:http';
import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';
import { readExposition, sumOf } from '../../metrics/exposition.js';

const { origin, volley } = await scene('http-metrics').api();
const { key } = await volley.keys.create({ name: 'prometheus', scopes: ['read'] });

async function scrape() {
  const reply = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${key}` } });
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  return readExposition(await reply.text());
}

test('/metrics returns the metrics of the fleet and of the process, each name once', async () => {
  const metrics = await scrape();
  const names = metrics.map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  expect(sumOf(metrics, 'volley_fleet_up')).toBe(1);
  expect(sumOf(metrics, 'volley_lane_state', { lane: 'default', state: 'open' })).toBe(1);
  expect(sumOf(metrics, 'volley_info', { role: 'http' })).toBe(1);
});

test('/metrics requires a key with the scope metrics or read for all lanes', async () => {
  const status = async (authorization?: string) =>
    (await fetch(`${origin}/metrics`, { headers: authorization === undefined ? {} : { authorization } }))
      .status;
  expect(await status()).toBe(401);
  const sender = await volley.keys.create({ name: 'shop', scopes: ['send'] });
  expect(await status(`Bearer ${sender.key}`)).toBe(403);
  const limited = await volley.keys.create({ name: 'shop', scopes: ['read'], lanes: ['default'] });
  expect(await status(`Bearer ${limited.key}`)).toBe(403);
  expect(await status(`Bearer ${key}`)).toBe(200);
  const metrics = await volley.keys.create({ name: 'prometheus', scopes: ['metrics'] });
  expect(await status(`Bearer ${metrics.key}`)).toBe(200);
});

test('Requests are counted by the pattern of their route, never by their address', async () => {
  await fetch(`${origin}/healthz`);
  await fetch(`${origin}/nothing/+447700900123`);
  const metrics = await scrape();
  expect(sumOf(metrics, 'volley_http_requests_total', { route: '/healthz', status: '200' })).toBe(1);
  expect(sumOf(metrics, 'volley_http_requests_total', { route: 'none', status: '404' })).toBe(1);
  expect(sumOf(metrics, 'volley_http_request_duration_seconds', { route: '/healthz' })).toBeGreaterThan(0);
  expect(JSON.stringify(metrics)).not.toContain('447700900123');
});

test('An event stream counts as a request in flight until the client disconnects', async () => {
  const open = async () => sumOf(await scrape(), 'volley_http_requests_in_flight', { route: '/v1/events' });
  const following = get(`${origin}/v1/events`, { agent: false, headers: { authorization: `Bearer ${key}` } });
  const [reply] = await once(following, 'response');
  expect(reply.statusCode).toBe(200);
  expect(await open()).toBe(1);
  reply.destroy();
  await expect.poll(open).toBe(0);
  expect(sumOf(await scrape(), 'volley_http_requests_total', { route: '/v1/events', status: '200' })).toBe(1);
});
