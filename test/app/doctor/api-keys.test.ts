import { expect, test } from 'vitest';
import { checkCountries, checkKeys, checkRestoredKeys } from '../../../src/app/doctor/api-keys.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';

const NOON = Date.UTC(2030, 4, 1, 12);

const KEY = {
  id: '0123456789ab',
  name: 'shop',
  state: 'active',
  expiresAt: null,
  needsPreviousKey: false,
} as const;

test.each([
  ['that all work', undefined, [KEY], []],
  [
    'of which one does not work',
    undefined,
    [{ ...KEY, state: 'invalid' }, KEY],
    [/do not work.*: 0123456789ab \(shop\)$/],
  ],
  [
    'of which one expires soon',
    undefined,
    [{ ...KEY, expiresAt: new Date(NOON + 86_400_000).toISOString() }],
    [/14 days/],
  ],
  ['of which one expires later', undefined, [{ ...KEY, expiresAt: new Date(NOON + 9e9).toISOString() }], []],
  ['and a previous SECRETS_KEY', 'k', [KEY], [/no API key needs it/]],
  [
    'and a previous SECRETS_KEY that one needs',
    'k',
    [{ ...KEY, needsPreviousKey: true }],
    [/need it: 0123456789ab \(shop\)$/],
  ],
] as const)('The doctor checks API keys %s', (_, previousSecretsKey, keys, found) => {
  const checks = checkKeys(keys, { previousSecretsKey }, NOON);
  expect(checks.map(({ state }) => state)).toEqual(found.map(() => 'warn'));
  expect(checks.map((check) => check.message)).toEqual(found.map((text) => expect.stringMatching(text)));
});

test('After a restore, the doctor lists the API keys that work, with what to do about each', () => {
  const shop = {
    id: 'abc',
    name: 'shop',
    state: 'active',
    scopes: ['read', 'send'],
    lanes: null,
    createdAt: new Date(NOON).toISOString(),
    lastUsedAt: null,
  } as const;
  const keys = [
    shop,
    { ...shop, id: 'old', state: 'expired' },
    { ...shop, id: 'lost', state: 'invalid' },
  ] as const;
  expect(checkRestoredKeys(keys, NOON)).toMatchObject([
    {
      state: 'warn',
      message: expect.stringMatching(/^abc \(shop\) works: read, send on all lanes, .*last used never$/),
      advice: expect.stringContaining('volley keys revoke abc'),
    },
  ]);
  expect(checkRestoredKeys([], NOON)).toMatchObject([{ state: 'ok' }]);
});

test('The doctor names the keys that may text any country, unless their lanes limit the countries', () => {
  const key = { ...KEY, state: 'active', scopes: ['send'], lanes: null, countries: null } as const;
  const { lanes } = loadLocalConfig({ API_KEY: 'key' });
  const limited = lanes.map((lane) => ({ ...lane, limits: { countries: ['GB'] } }));
  expect(checkCountries([key], { lanes })).toMatchObject([
    { state: 'ok', message: expect.stringContaining(key.id) },
  ]);
  expect(checkCountries([{ ...key, countries: ['GB'] }], { lanes })).toEqual([]);
  expect(checkCountries([{ ...key, scopes: ['read'] }], { lanes })).toEqual([]);
  expect(checkCountries([{ ...key, lanes: ['other'] }], { lanes })).toEqual([]);
  expect(checkCountries([key], { lanes: limited })).toEqual([]);
});
