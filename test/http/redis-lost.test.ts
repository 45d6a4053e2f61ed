import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { loadLocalConfig } from '../../src/config/index.js';
import { createEvents } from '../../src/events/events.js';
import { connect } from '../../src/redis/connection.js';
import { createVolley } from '../../src/runtime.js';
import { privateRedis } from '../redis/private-redis.js';
import { formOf, served } from './api.js';

const redis = await privateRedis();
const settings = { REDIS_URL: redis.url };
const { ask, key, log, origin } = await served(settings);
const own = await key();
const order = { message: 'Hi', at: '2999-01-01T00:00:00Z' };
const routes = [
  () => ask('GET', '/v1/lanes', { key: own }),
  () => ask('GET', '/v1/campaigns', { key: own }),
  () => ask('POST', '/v1/campaigns', { key: own, body: { ...order, recipients: [{ to: '+447700900123' }] } }),
  () => ask('POST', '/v1/campaigns', { key: own, form: formOf(order, 'phone\n+447700900123\n') }),
];

test('While Redis is gone every request is told to come back, and then it is served', {
  timeout: 60_000,
}, async () => {
  const stream = await fetch(`${origin}/v1/events`, { headers: { authorization: `Bearer ${own}` } });
  await redis.kill();
  for (const route of routes) {
    const { status, headers, said } = await route();
    expect([status, said]).toMatchObject([503, { code: 'unavailable' }]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await fetch(`${origin}/readyz`)).status).toBe(503);
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);

  await redis.restart();
  await expect.poll(async () => (await fetch(`${origin}/readyz`)).status, { timeout: 15_000 }).toBe(200);
  const made = await ask('POST', '/v1/campaigns', {
    key: own,
    form: formOf(order, 'phone\n+447700900123\n'),
  });
  expect(made.status).toBe(201);

  // Whoever followed events all the while hears of it.
  let told = '';
  const decoder = new TextDecoder();
  for await (const piece of stream.body ?? []) {
    told += decoder.decode(piece, { stream: true });
    if (told.includes('campaign.imported')) break;
  }
  expect(told).toContain((made.said as { id: string }).id);
  expect(log.join('')).not.toContain('http.failed');
});

test('A Redis that is full is told as one that does not answer where something would be written, and can be read', async () => {
  const recipients = [{ to: '+447700900123' }];
  const made = await ask('POST', '/v1/campaigns', {
    key: own,
    body: { ...order, message: 'Full', recipients },
  });
  const { id } = made.said as { id: string };
  const other = connect(redis.url);
  onTestFinished(async () => {
    await other.config('SET', 'maxmemory', '0');
    other.disconnect();
  });
  await other.config('SET', 'maxmemory', '1');
  for (const asked of [
    ask('POST', `/v1/campaigns/${id}/resume`, { key: own }),
    ask('POST', '/v1/campaigns', { key: own, form: formOf(order, 'phone\n+447700900123\n') }),
  ]) {
    const { status, said } = await asked;
    expect([status, said]).toMatchObject([503, { code: 'unavailable' }]);
  }
  const report = await ask('GET', `/v1/campaigns/${id}/report`, { key: own });
  expect([report.status, String(report.said)]).toEqual([200, expect.stringContaining('+447700900123')]);
  const found = await ask('POST', '/v1/find', { key: own, body: { number: '+447700900123' } });
  expect([found.status, JSON.stringify(found.said)]).toEqual([200, expect.stringContaining(id)]);
  expect((await ask('GET', `/v1/campaigns/${id}`, { key: own })).status).toBe(200);
});

test('A Redis that says nothing keeps nobody waiting for long', async () => {
  const other = connect(redis.url);
  onTestFinished(() => other.disconnect());
  await other.call('CLIENT', 'PAUSE', 8_000, 'ALL');
  const { status, said } = await ask('GET', '/v1/lanes', { key: own });
  expect([status, said]).toMatchObject([503, { code: 'unavailable' }]);
});

test('What happens while an event cannot be told happens all the same', async () => {
  const volley = createVolley({
    config: loadLocalConfig({ API_KEY: 'key', ...settings }),
    events: createEvents({ level: 'silent' }),
  });
  onTestFinished(() => volley.close());
  await redis.kill();
  expect(() => volley.events.emit({ type: 'campaign.resumed', lane: 'a', campaign: 'b' })).not.toThrow();
  await redis.restart();
});

test('A stream that is let in while the server ends does not keep it', async () => {
  const ending = await served(settings);
  const last = await ending.key();
  const other = connect(redis.url);
  onTestFinished(() => other.disconnect());
  await other.call('CLIENT', 'PAUSE', 1_000, 'ALL');
  const asked = fetch(`${ending.origin}/v1/events`, { headers: { authorization: `Bearer ${last}` } });
  await once(ending.app.server, 'request');
  await ending.app.close();
  expect((await asked).status).toBe(503);
});
