import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test, vi } from 'vitest';
import { SOON } from '../../../base/soon.js';
import { scene } from '../../../scene/scene.js';

const { api, lanesFile, open, prefix, startSimulator } = scene('http-test-keys');
const simulator = await startSimulator({ keys: [{ key: 'sandbox' }, { key: 'schedules' }] });
// On this machine as well, and it answers everything, but does not say that it is a simulator.
const real = createServer((_, response) => void response.end('{"ok":true}')).listen(0, '127.0.0.1');
await once(real, 'listening');
const realUrl = `http://127.0.0.1:${(real.address() as AddressInfo).port}/v1`;
afterAll(() => void real.close());
const LANES_FILE = lanesFile([
  { name: 'real', apiKey: 'real', baseUrl: realUrl },
  { name: 'sandbox', apiKey: 'sandbox', baseUrl: simulator.messagingBaseUrl },
  { name: 'tls', apiKey: 'tls', baseUrl: 'https://api.example/v1' },
]);
const { volley, call } = await api({ LANES_FILE, DEFAULT_COUNTRY: 'GB' });
const scopes = ['read', 'send', 'operate', 'inbound'] as const;
const { key, id, ...made } = await volley.keys.create({ name: 'shop', scopes, test: true });

const recipients = [{ to: '+447700900123' }];
const weekly = { cron: '0 9 * * 1', zone: 'UTC', message: 'Hi', recipients };

test('A test key says that it is one, in its text and in what is shown of it', async () => {
  expect(key).toMatch(/^vk_test_[0-9a-f]{12}_[\w-]{43}$/);
  expect(made.test).toBe(true);
  expect(await volley.keys.list()).toContainEqual(expect.objectContaining({ id, test: true }));
  expect(await volley.keys.check(key.replace('vk_test_', 'vk_'))).toBeNull();
  const live = await volley.keys.create({ name: 'shop', scopes });
  expect(live).toMatchObject({ test: false, key: expect.stringMatching(/^vk_[0-9a-f]{12}_/) });
  expect(await volley.keys.check(live.key.replace('vk_', 'vk_test_'))).toBeNull();
});

test('A test key may not use an address with TLS, or what may be on any lane', async () => {
  await volley.outboxes.create({ name: 'box', lane: 'sandbox', message: 'Hi' });
  const body = { message: 'Hi', lane: 'tls', recipients };
  expect((await call('POST', '/v1/preview', { key, body })).json).toMatchObject({ limit: 'test' });
  const anywhere = await call('PUT', '/v1/outboxes/box', { key, body: { message: 'Hello' } });
  expect(anywhere.json).toMatchObject({ limit: 'test' });
});

test('A test key sends to the results of a campaign only on a lane with a simulator', async () => {
  for (const [lane, answer] of [
    ['real', { status: 403, json: { code: 'overLimit', limit: 'test' } }],
    ['sandbox', { status: 201 }],
  ] as const) {
    const campaign = { message: 'Hi', lane, sendAt: Date.parse('2999-01-01'), again: true };
    const outcome = await volley.enqueue({ ...campaign, recipients });
    const source = 'id' in outcome ? outcome.id : '';
    await volley.cancel(source);
    const body = { ...campaign, toResultsOf: { campaign: source, status: ['cancelled'] } };
    const sendAt = '2999-01-01T00:00:00Z';
    expect(await call('POST', '/v1/campaigns', { key, body: { ...body, sendAt } })).toMatchObject(answer);
  }
});

test('An occurrence of a schedule of a test key fails once its lane has another service than a simulator', async () => {
  // Workers that know another address than the process at which the schedule was added.
  const working = open({
    REDIS_PREFIX: `${prefix}-occurrence`,
    API_KEY: 'schedules',
    MESSAGING_BASE_URL: realUrl,
    SENDER_ADDRESS: 'ACME',
  });
  const acting = working.as({ kind: 'key', id, name: 'shop', limits: { test: true } });
  await acting.schedules.add({ id: 'weekly', ...weekly });
  const workers = working.work();
  await acting.schedules.run('weekly');
  const [occurrence] = await vi.waitFor(async () => {
    const { latest } = await working.schedules.get('weekly');
    expect(latest).toHaveLength(1);
    return latest;
  }, SOON);
  await workers.drain();
  expect(occurrence).toMatchObject({
    outcome: 'failed',
    reason: expect.stringContaining('is not a simulator'),
  });
});
