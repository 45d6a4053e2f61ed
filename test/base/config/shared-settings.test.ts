import { expect, test } from 'vitest';
import { type Environment, loadConfig, sharedSettings } from '../../../src/base/config/index.js';

const SECRETS = { API_KEY: 'the-api-key', CALLBACK_SECURITY_TOKEN: 'a-token-of-some-length' };
const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');
const settingsOf = (changes: Environment = {}) =>
  sharedSettings(
    loadConfig({
      MESSAGING_BASE_URL: 'https://service.example/smsmessaging/v1',
      CALLBACK_URL: 'https://volley.example/in',
      SECRETS_KEY,
      ...SECRETS,
      ...changes,
    }),
  );

test('The settings that workers share contain no secret', () => {
  const shared = JSON.stringify(settingsOf());
  for (const secret of [...Object.values(SECRETS), SECRETS_KEY]) expect(shared).not.toContain(secret);
  expect(settingsOf({ API_KEY: 'another' })).toEqual(settingsOf());
});

test.each([
  ['HOURLY_QUOTA', '500', 'lanes and their rules'],
  ['MAX_RECIPIENTS_PER_REQUEST', '7', 'lanes and their rules'],
  ['REQUEST_TIMEOUT_MS', '10000', 'REQUEST_TIMEOUT_MS'],
  ['RETENTION', '3d', 'RETENTION'],
  ['CALLBACK_PROOF', 'path', 'CALLBACK_PROOF'],
])('A different %s changes exactly one shared setting', (setting, value, name) => {
  const [one, other] = [settingsOf(), settingsOf({ [setting]: value })];
  const differing = Object.keys(one).filter((key) => one[key] !== other[key]);
  expect(differing).toEqual([name]);
});
