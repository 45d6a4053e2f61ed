import { expect, test } from 'vitest';
import { defineConfig, loadConfig, type VolleySettings } from '../../../src/base/config/index.js';
import { ConfigError } from '../../../src/index.js';

const SERVICE = { redis: 'redis://127.0.0.1:6379', messagingBaseUrl: 'https://host.example/v1' };
const ENVIRONMENT = { REDIS_URL: 'redis://127.0.0.1:6379', MESSAGING_BASE_URL: 'https://host.example/v1' };

test('A configuration in code is that of an environment with the same settings', () => {
  const inCode = defineConfig({
    ...SERVICE,
    apiKey: 'k',
    retention: '30d',
    hourlyQuota: 500,
    followUpFirstMs: 200,
    stopWords: ['STOP', 'ENDE'],
    laneLimits: { countries: ['GB'] },
    senderAddress: undefined,
  });
  const environment = {
    ...ENVIRONMENT,
    API_KEY: 'k',
    RETENTION: '30d',
    HOURLY_QUOTA: '500',
    FOLLOW_UP_FIRST_MS: '200',
    STOP_WORDS: 'STOP,ENDE',
    LANE_LIMITS: '{"countries":["GB"]}',
  };
  expect(inCode).toEqual(loadConfig(environment));
});

test('Lanes in code are those of a lanes file, with their credentials', () => {
  const lanes = [
    { name: 'a', apiKey: 'key-a', hourlyQuota: 300 },
    {
      name: 'b',
      account: { username: 'u', password: 'p' },
      window: { hours: '09:00-20:00' },
      zone: 'Europe/Paris',
    },
  ];
  const file = { readFile: () => JSON.stringify(lanes) };
  expect(defineConfig({ ...SERVICE, lanes })).toEqual(
    loadConfig({ ...ENVIRONMENT, LANES_FILE: 'lanes.json' }, file),
  );
});

/** The problems of settings that are not valid. */
function problemsOf(settings: object): readonly string[] {
  try {
    defineConfig({ ...SERVICE, ...settings } as VolleySettings);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('What is wrong with a configuration in code has the names that the settings have there', () => {
  expect(problemsOf({})).toEqual([
    expect.stringMatching(/^apiKey must be set, or accountUsername and accountPassword, or lanes:/),
  ]);
  expect(problemsOf({ apiKey: 'k', retention: 'soon' })).toEqual([
    expect.stringMatching(/^retention must be .*"soon"$/),
  ]);
  expect(problemsOf({ apiKey: 'k', retenton: '30d' })).toEqual([
    'retenton is no setting; did you mean retention?',
  ]);
  expect(problemsOf({ lanes: [{ name: 'a', apiKey: 'k', hourlyQuota: 0 }] })).toEqual([
    expect.stringMatching(/^lane "a": hourlyQuota /),
  ]);
  expect(problemsOf({ lanes: [{ name: 'a', apiKey: 'k' }], apiKey: 'k' })).toEqual([
    expect.stringMatching(/^apiKey and lanes are both set: unset one/),
  ]);
});

test('Settings that are none, or are missing, are named before anything else', () => {
  const bare = (settings: object) => problemsOf({ ...SERVICE, redis: undefined, ...settings });
  expect(bare({})).toEqual(['redis must be set, such as redis://127.0.0.1:6379']);
  expect(bare({ redisUrl: SERVICE.redis })).toEqual(['redisUrl is no setting; did you mean redis?']);
  expect(bare({ ...ENVIRONMENT, PATH: '/bin' })).toEqual([
    'MESSAGING_BASE_URL is a variable: for those of the environment, give config: loadConfig(process.env)',
  ]);
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`OTHER_${at}`, '1']));
  expect(bare(many)).toHaveLength(5);
});

test('A value that JSON would drop or empty is refused, with the name of its setting or field', () => {
  const secret = Promise.resolve('a password that is not awaited');
  for (const value of [secret, () => 'p', new Map(), Symbol('p'), [Symbol('p')], { p: 1 }])
    expect(problemsOf({ accountUsername: 'u', accountPassword: value })).toEqual([
      'accountPassword must be a text, a number, or a list of them',
    ]);
  const ofLane = (lane: object) => problemsOf({ lanes: [{ name: 'a', apiKey: 'k', ...lane }] });
  for (const hourlyQuota of [() => 10, 10n, Symbol('10')])
    expect(ofLane({ hourlyQuota })).toEqual([expect.stringMatching(/^lane "a": hourlyQuota must be /)]);
  for (const limits of [new Map([['maxSegments', 1]]), Promise.resolve({ maxSegments: 1 })]) {
    expect(ofLane({ limits })).toEqual(['lane "a": limits must be an object with limits']);
    expect(problemsOf({ apiKey: 'k', laneLimits: limits })).toEqual([
      expect.stringMatching(/^laneLimits must be an object with limits/),
    ]);
  }
  expect(ofLane({ account: { username: 'u', password: secret } })).toEqual(
    expect.arrayContaining([expect.stringMatching(/^lane "a": account\.password must be /)]),
  );
  for (const lanes of [() => [], new Set(), null])
    expect(problemsOf({ lanes })).toEqual([expect.stringMatching(/^lanes: must be a list of at least one/)]);
});

test('Without settings, with none for Redis, or with a whole configuration, the error says what to give', () => {
  const define = (...given: unknown[]) => Reflect.apply(defineConfig, undefined, given);
  for (const given of [undefined, null, 5, [], { apiKey: 'k', redis: null }, { apiKey: 'k', redis: '' }])
    expect(() => define(given)).toThrow('redis must be set, such as redis://127.0.0.1:6379');
  expect(() => define(loadConfig({ ...ENVIRONMENT, API_KEY: 'k' }))).toThrow(
    'these are not settings, but what loadConfig has made of them: give createVolley { config }',
  );
  expect(() => define({ ...SERVICE, apiKey: 'k' }, null)).toThrow('`options` must be an object; it is null');
});

test('Problems of settings in code show values and lanes as code has them', () => {
  expect(problemsOf({ messagingBaseUrl: 'http://192.0.2.1/v1', lanes: [{ name: 'a' }] })).toEqual([
    'lane "a": the lane has no credentials: set apiKey, or account',
    expect.stringMatching(/^messagingBaseUrl must be an https URL.*set allowInsecure: 'service'$/),
  ]);
});

test('Each setting in code has its type', () => {
  const settings = [
    { retention: '30d', hourlyQuota: 500, httpPort: '8080', numberKinds: 'mobile', keyMemoryMb: 256 },
    { hourlyQuota: 'auto', stopWords: ['STOP'], startWords: 'start', allowInsecure: ['redis'] },
    { laneLimits: { countries: ['GB'], maxSegments: 3 }, defaultCountry: 'GB' },
  ] satisfies Partial<VolleySettings>[];
  expect(settings.flatMap((each) => problemsOf({ apiKey: 'k', ...each }))).toEqual([]);
  // @ts-expect-error: a duration is a text with its unit.
  ({ retention: 30 }) satisfies Partial<VolleySettings>;
  // @ts-expect-error: a misspelled setting.
  ({ retenton: '30d' }) satisfies Partial<VolleySettings>;
  // @ts-expect-error: none of its words.
  ({ logLevel: 'loud' }) satisfies Partial<VolleySettings>;
  // @ts-expect-error: a number is no list of words.
  ({ stopWords: 7 }) satisfies Partial<VolleySettings>;
  // @ts-expect-error: only the limits of a lane are an object.
  ({ senderAddress: { name: 'ACME' } }) satisfies Partial<VolleySettings>;
  // @ts-expect-error: a lane has no such limit.
  ({ laneLimits: { perDay: 5 } }) satisfies Partial<VolleySettings>;
});
