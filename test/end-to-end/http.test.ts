import { afterAll, expect, test } from 'vitest';
import type { CampaignStatus } from '../../src/campaign/views/views.js';
import { magicNumber } from '../../src/tools/simulator/index.js';
import { scene } from '../scene/scene.js';
import { startFleet } from './fleet.js';

const { api, shell, url, prefix } = scene('end-to-end-http');
const fleet = await startFleet({
  redisUrl: url,
  prefix,
  workers: ['all'],
  simulator: { keys: [{ key: 'key' }], magicRecipients: 'first' },
});
afterAll(() => fleet.close());
const { call } = await api();

/** A campaign with one recipient whose request has an unknown outcome. Each number causes it only once. */
async function unknownCampaign(number: string): Promise<CampaignStatus> {
  const created = await call('POST', '/v1/campaigns', {
    body: { message: 'Hello', recipients: [{ to: number }] },
  });
  expect(created.status).toBe(201);
  const { id } = created.json as { id: string };
  const status = async () => (await call('GET', `/v1/campaigns/${id}`)).json as CampaignStatus;
  await expect.poll(async () => (await status()).waitingFor, { timeout: 30_000 }).toBe('resolve');
  return status();
}

test('A request with an unknown outcome can be abandoned over HTTP by the reference that the status shows', {
  timeout: 60_000,
}, async () => {
  await fleet.ready();
  const { id, counts, unknownOutcomes } = await unknownCampaign(magicNumber('resetAfter'));
  expect(counts).toMatchObject({ total: 1, unknown: 1 });
  const resolve = (body: object) => call('POST', `/v1/campaigns/${id}/resolve`, { body });
  const other = await resolve({ as: 'abandon', request: 'nothing-1' });
  expect([other.status, other.json]).toMatchObject([404, { code: 'notFound' }]);
  const done = await resolve({ as: 'abandon', request: unknownOutcomes[0]?.request });
  expect([done.status, done.json]).toEqual([200, { requests: 1, recipientCount: 1, tooEarly: null }]);
  const ended = (await call('GET', `/v1/campaigns/${id}`)).json;
  expect(ended).toMatchObject({ state: 'completed', counts: { abandoned: 1 }, unknownOutcomes: [] });
});

test('A message of an outbox with an unknown outcome is named by its outbox until it is settled over HTTP', {
  timeout: 60_000,
}, async () => {
  const { volley } = shell({ API_KEY: 'key' }, process.cwd());
  const codes = '/v1/outboxes/codes';
  expect((await call('POST', '/v1/outboxes', { body: { name: 'codes', message: 'Hi' } })).status).toBe(201);
  await call('PUT', `${codes}/messages/a`, { body: { to: magicNumber('resetAfter', '+192') } });
  const message = async () => (await call('GET', `${codes}/messages/a`)).json;
  await expect.poll(message, { timeout: 30_000 }).toMatchObject({ state: 'unknown' });
  expect((await volley('outbox', 'show', 'codes')).stdout).toContain('volley outbox resolve codes');
  expect((await call('GET', '/v1/campaigns?state=running')).json).toMatchObject({ campaigns: [] });
  const resolve = (body: object) => call('POST', `${codes}/resolve`, { body });
  expect((await resolve({ as: 'abandon', message: 'b' })).status).toBe(404);
  const done = await resolve({ as: 'abandon', message: 'a' });
  expect([done.status, done.json]).toEqual([200, { requests: 1, recipientCount: 1, tooEarly: null }]);
  expect(await message()).toMatchObject({ state: 'abandoned' });
});
