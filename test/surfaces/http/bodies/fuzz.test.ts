import { expect, test } from 'vitest';
import { NIGHTLY } from '../../../base/parts.js';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';
import { fuzz } from './fuzz.js';
import { SECRETS } from './malformed.js';

const { call, key, log, origin } = await scene('http-fuzz').api({
  HTTP_REQUESTS_PER_MINUTE: '1000000',
  PRICE_PER_SEGMENT: '0.042 EUR',
});

const SEED = 4;
/** The nightly checks send more. */
const COUNT = NIGHTLY ? 10_000 : 1_000;

test(`${COUNT} malformed requests cause no crash, no server error, and no secret in the log`, async () => {
  const { json } = await call('POST', '/v1/campaigns', {
    form: campaignForm({ message: 'Hi', sendAt: '2999-01-01T00:00:00Z' }, 'phone\n+447700900123\n'),
  });
  const keys = [await key(), await key(), await key(['read']), await key(['send'], ['default'])];
  const ids = [(json as { id: string }).id];
  const { statuses, wrong } = await fuzz({ origin, keys, ids, seed: SEED, count: COUNT });
  expect(wrong.map((one) => one.slice(0, 500)).slice(0, 20)).toEqual([]);
  // Some pass authentication and validation, and the numbers of some lists are read: all are valid (201), or not (422).
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 415]));
  expect((statuses.get(201) ?? 0) + (statuses.get(422) ?? 0)).toBeGreaterThan(0);
  expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBe(COUNT);
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);

  const lines = log.join('');
  expect(lines).not.toContain('http.failed');
  expect(lines).toContain('campaign.imported');
  for (const secret of [...SECRETS, ...keys, ...keys.map((one) => one.replace(/^vk_[^_]*_/, ''))]) {
    expect(lines).not.toContain(secret);
  }
  expect(
    // Ids of keys are hexadecimal and may consist of digits.
    lines.replace(
      /"(?:time|pid|campaign)":"?[^",]*|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{12}\b/g,
      '',
    ),
  ).not.toMatch(/\+?\d{9,}/);
});
