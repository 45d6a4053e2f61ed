import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { SOON } from '../../base/soon.js';
import { campaignForm } from '../../scene/api.js';
import { scene } from '../../scene/scene.js';

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
const campaign = { message: 'Hi', sendAt: '2999-01-01T00:00:00Z' };
const weekly = { cron: '0 9 * * 1', zone: 'UTC', message: 'Hi', recipients };

for (const lane of ['real', 'sandbox']) {
  await volley.outboxes.create({ name: `box-${lane}`, lane, message: 'Hi' });
  await volley.schedules.add({ id: `weekly-${lane}`, lane, ...weekly });
}
const created = async (lane: string, isCancelled = false): Promise<string> => {
  const outcome = await volley.enqueue({ ...campaign, lane, recipients, again: true });
  const id = 'id' in outcome ? outcome.id : '';
  if (isCancelled) await volley.cancel(id);
  return id;
};
const ids: Readonly<Record<string, string>> = {
  real: await created('real'),
  sandbox: await created('sandbox'),
};
const cancelled: typeof ids = { real: await created('real', true), sandbox: await created('sandbox', true) };

type Request = readonly [method: string, path: string, body?: object | undefined, more?: object];
/** Everything that sends, or makes something send, on a lane. */
const INTAKES: Readonly<Record<string, (lane: string) => Request>> = {
  'creates a campaign': (lane) => ['POST', '/campaigns', { ...campaign, lane, recipients, again: true }],
  'uploads a campaign': (lane) => [
    'POST',
    '/campaigns/upload',
    undefined,
    { form: campaignForm({ ...campaign, lane, again: true }, 'to\n+447700900124\n') },
  ],
  'sends to the results of a campaign': (lane) => [
    'POST',
    '/campaigns',
    { ...campaign, lane, toResultsOf: { campaign: cancelled[lane], status: ['cancelled'] }, again: true },
  ],
  'previews a campaign': (lane) => ['POST', '/preview', { ...campaign, lane, recipients }],
  'creates an outbox': (lane) => ['POST', '/outboxes', { name: `new-${lane}`, lane, message: 'Hi' }],
  'changes an outbox': (lane) => ['PUT', `/outboxes/box-${lane}`, { message: 'Hello', lane }],
  'puts a message into an outbox': (lane) => [
    'PUT',
    `/outboxes/box-${lane}/messages/a`,
    { to: '+447700900123', sendAt: '2030-01-01T00:00:00Z' },
  ],
  'puts messages into an outbox': (lane) => [
    'POST',
    `/outboxes/box-${lane}/messages`,
    undefined,
    {
      text: '{"id":"b","to":"+447700900123","sendAt":"2030-01-01T00:00:00Z"}\n',
      headers: { 'content-type': 'application/x-ndjson' },
    },
  ],
  'resumes an outbox': (lane) => ['POST', `/outboxes/box-${lane}/resume`],
  'adds a schedule': (lane) => ['POST', '/schedules', { id: `new-${lane}`, lane, ...weekly }],
  'runs a schedule': (lane) => ['POST', `/schedules/weekly-${lane}/run`],
  'pauses a campaign': (lane) => ['POST', `/campaigns/${ids[lane]}/pause`],
  'resumes a campaign': (lane) => ['POST', `/campaigns/${ids[lane]}/resume`],
  'resolves unknown outcomes': (lane) => ['POST', `/campaigns/${ids[lane]}/resolve`, { as: 'resend' }],
  'resumes a lane': (lane) => ['POST', `/lanes/${lane}/resume`],
  'submits a message of a person': (lane) => [
    'POST',
    '/inbound',
    { lane, messageId: 'a', from: '+447700900125', to: 'ACME', text: 'STOP' },
  ],
};

const requested = ([method, path, body, more]: Request) =>
  call(method, `/v1${path}`, { key, ...(body !== undefined && { body }), ...more });

test('A test key says that it is one, in its text and in what is shown of it', async () => {
  expect(key).toMatch(/^vk_test_[0-9a-f]{12}_[\w-]{43}$/);
  expect(made.test).toBe(true);
  expect(await volley.keys.list()).toContainEqual(expect.objectContaining({ id, test: true }));
  expect(await volley.keys.check(key.replace('vk_test_', 'vk_'))).toBeNull();
  const live = await volley.keys.create({ name: 'shop', scopes });
  expect(live).toMatchObject({ test: false, key: expect.stringMatching(/^vk_[0-9a-f]{12}_/) });
  expect(await volley.keys.check(live.key.replace('vk_', 'vk_test_'))).toBeNull();
});

describe.each(Object.entries(INTAKES))('A test key %s', (_, request) => {
  test('only if the service of the lane is a simulator', async () => {
    const refused = await requested(request('real'));
    expect(refused.status, JSON.stringify(refused.json)).toBe(403);
    expect(refused.json).toMatchObject({ code: 'overLimit', limit: 'test', owner: 'key', left: null });
    expect(JSON.stringify(refused.json)).toContain('the service of lane real is not a simulator');
    const { status, json } = await requested(request('sandbox'));
    // There is nothing to resolve, but the key may try.
    expect([200, 201, 202, 404], JSON.stringify(json)).toContain(status);
    expect(json).not.toMatchObject({ limit: 'test' });
  });
});

test('A test key may not use an address with TLS, or what covers all lanes', async () => {
  const { json } = await requested(['POST', '/preview', { ...campaign, lane: 'tls', recipients }]);
  expect(json).toMatchObject({ limit: 'test' });
  const forgotten = await requested(['POST', '/numbers/forget', { number: '+447700900123' }]);
  expect(forgotten.json).toMatchObject({ limit: 'test' });
  // It names no lane, so it may mean any.
  const anywhere = await requested(['PUT', '/outboxes/box-sandbox', { message: 'Hello' }]);
  expect(anywhere.json).toMatchObject({ limit: 'test' });
});

test('A test key reads what is on every lane', async () => {
  for (const path of [
    `/campaigns/${ids['real']}`,
    '/campaigns',
    '/outboxes/box-real',
    '/lanes/real',
    '/schedules',
  ])
    expect((await requested(['GET', path])).status, path).toBe(200);
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
