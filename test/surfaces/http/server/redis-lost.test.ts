import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../../src/base/redis/connection.js';
import { privateRedis } from '../../../base/redis/servers/private-redis.js';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const redis = await privateRedis();
const { api, open } = scene('http-redis-lost', { settings: { REDIS_URL: redis.url } });
const { call, key, log, origin } = await api();
const own = await key();
const campaign = { message: 'Hi', sendAt: '2999-01-01T00:00:00Z' };
const waiting = { message: 'Wait', sendAt: '2999-01-01T00:00:00Z', recipients: [{ to: '+447700900123' }] };
const { id: stored } = Object((await call('POST', '/v1/campaigns', { key: own, body: waiting })).json) as {
  id: string;
};
const routes = [
  () => call('GET', '/v1/lanes', { key: own }),
  () => call('GET', '/v1/campaigns', { key: own }),
  () => call('GET', '/v1/lanes/default/ledger', { key: own }),
  () => call('GET', `/v1/campaigns/${stored}/progress`, { key: own }),
  () => call('GET', '/v1/live', { key: own }),
  () =>
    call('POST', '/v1/campaigns', { key: own, body: { ...campaign, recipients: [{ to: '+447700900123' }] } }),
  () => call('POST', '/v1/campaigns', { key: own, form: campaignForm(campaign, 'phone\n+447700900123\n') }),
];

test('While Redis is down, every request gets a Retry-After, and succeeds once Redis is back', async () => {
  const headers = { authorization: `Bearer ${own}` };
  const stream = await fetch(`${origin}/v1/events`, { headers });
  const live = ticksOf(await fetch(`${origin}/v1/live`, { headers }));
  expect(await live.next()).toBe('ok');
  await redis.kill();
  while ((await live.next()) !== 'unavailable');
  for (const route of routes) {
    const { status, headers, json } = await route();
    expect([status, json]).toMatchObject([503, { code: 'unavailable' }]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await fetch(`${origin}/readyz`)).status).toBe(503);
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);

  await redis.restart();
  await expect.poll(async () => (await fetch(`${origin}/readyz`)).status).toBe(200);
  while ((await live.next()) !== 'ok');
  for (const path of ['/v1/lanes/default/ledger', `/v1/campaigns/${stored}/progress`])
    expect((await call('GET', path, { key: own })).status).toBe(200);
  const created = await call('POST', '/v1/campaigns', {
    key: own,
    form: campaignForm(campaign, 'phone\n+447700900123\n'),
  });
  expect(created.status).toBe(201);

  // A stream that stayed open receives the event.
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of stream.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.includes('campaign.imported')) break;
  }
  expect(text).toContain((created.json as { id: string }).id);
  expect(log.join('')).not.toContain('http.failed');
});

test('When Redis is full, a new campaign gets 503 with the reason', async () => {
  const other = connect(redis.url);
  onTestFinished(async () => {
    await other.config('SET', 'maxmemory', '0');
    other.disconnect();
  });
  await other.config('SET', 'maxmemory', '1');
  const list = { key: own, form: campaignForm(campaign, 'phone\n+447700900123\n') };
  const { status, json, headers } = await call('POST', '/v1/campaigns', list);
  expect([status, json]).toMatchObject([
    503,
    { code: 'full', detail: expect.stringMatching(/^Redis is .*full: /) },
  ]);
  expect(headers.get('retry-after')).toBe('60');
});

test('When Redis hangs, a request fails after a short time', async () => {
  const other = connect(redis.url);
  onTestFinished(() => other.disconnect());
  await other.call('CLIENT', 'PAUSE', 8_000, 'ALL');
  const { status, json } = await call('GET', '/v1/lanes', { key: own });
  expect([status, json]).toMatchObject([503, { code: 'unavailable' }]);
});

test('Emitting an event does not throw while Redis is down', async () => {
  const volley = open();
  await redis.kill();
  expect(() =>
    volley.events.emit({ type: 'campaign.resumed', lane: 'a', campaign: 'b', actor: 'a test' }),
  ).not.toThrow();
  await redis.restart();
});

test.each(['/v1/events', '/v1/live'])(
  'A server that closes ends its streams of %s, and begins none',
  async (path) => {
    const ending = await api();
    const last = await ending.key();
    const other = connect(redis.url);
    onTestFinished(() => other.disconnect());
    const headers = { authorization: `Bearer ${last}` };
    const open = await fetch(`${ending.origin}${path}`, { headers });
    await other.call('CLIENT', 'PAUSE', 1_000, 'ALL');
    const response = fetch(`${ending.origin}${path}`, { headers });
    await once(ending.app.server, 'request');
    await ending.app.close();
    expect((await response).status).toBe(503);
    expect(open.status).toBe(200);
    for await (const _ of open.body ?? []);
  },
);

/** What each tick of a live stream says about Redis. */
function ticksOf({ body }: Response): { next(): Promise<string> } {
  const reader = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(() => reader.cancel());
  let text = '';
  return {
    async next() {
      for (;;) {
        const found = /event: tick\n(?:id: .*\n)?data: (.*)\n\n/.exec(text);
        if (found !== null) {
          text = text.slice(found.index + found[0].length);
          return JSON.parse(found[1] ?? '').redis;
        }
        const { value, done } = await reader.read();
        if (done) throw new Error('the stream has ended');
        text += value;
      }
    },
  };
}

test('While Redis may evict data, /readyz warns of it, and a worker that starts reports it', async () => {
  const ready = async (): Promise<unknown> => (await fetch(`${origin}/readyz`)).json();
  expect(await ready()).toEqual({ status: 'ok', warnings: [] });
  const admin = connect(redis.url);
  onTestFinished(() => admin.disconnect());
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  onTestFinished(async () => void (await admin.config('SET', 'maxmemory-policy', 'noeviction')));
  expect(await ready()).toEqual({
    status: 'ok',
    warnings: [expect.stringMatching(/maxmemory-policy allkeys-lru.*Set maxmemory-policy noeviction/)],
  });

  const volley = open({ MESSAGING_BASE_URL: 'http://127.0.0.1:9', API_KEY: 'k', ALLOW_INSECURE: 'service' });
  const reported = new Promise((resolve) => volley.events.on('redis.evicts', resolve));
  volley.work({ roles: ['follow-up'] });
  expect(await reported).toMatchObject({ policy: 'allkeys-lru' });
});
