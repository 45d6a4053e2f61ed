import { describe, expect, it } from 'vitest';
import { configHints, type Environment, loadConfig } from '../../../src/base/config/index.js';
import { problemsOf } from './problems.js';

const SERVICE = { API_KEY: 'the-key', MESSAGING_BASE_URL: 'https://host.example/smsmessaging/v1' };
/** Beside the key of {@link SERVICE}. */
const BOTH = {
  ACCOUNT_USERNAME: 'ann',
  ACCOUNT_PASSWORD: 'pw',
  AUTHORIZATION_HEADER: 'apiKey',
  X_AUTHORIZATION_HEADER: 'accessToken',
};

const problems = (environment: Environment): readonly string[] =>
  problemsOf(() => loadConfig({ ...SERVICE, ...environment }));

/** The only problem of an environment. */
function problem(environment: Environment): string {
  const found = problems(environment);
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

describe('Configuration errors', () => {
  it('are reported together', () => {
    expect(
      problemsOf(() =>
        loadConfig({
          REDIS_URL: 'localhost',
          HOURLY_QUOTA: 'many',
          RETENTION: 'forever',
          FOLLOW_UP_FIRST_MS: '200000',
          FOLLOW_UP_DEADLINE: '2m',
        }),
      ).map((text) => text.split(' ')[0]),
    ).toEqual([
      'HOURLY_QUOTA',
      'REDIS_URL',
      'RETENTION',
      'FOLLOW_UP_DEADLINE',
      'API_KEY',
      'MESSAGING_BASE_URL',
    ]);
  });

  it.each([
    ['HOURLY_QUOTA', '12k', /whole number of requests an hour from 1 to 10000000, or "auto"; it is "12k"/],
    ['HOURLY_QUOTA', '0', /from 1 to/],
    ['HOURLY_QUOTA', '1.5', /whole number/],
    ['HOURLY_QUOTA', '-1', /whole number/],
    ['HOURLY_QUOTA', '10000001', /from 1 to 10000000/],
    ['QUOTA_WINDOW_MS', '1h', /without a unit: 3600000/],
    ['QUOTA_WINDOW_MS', '999', /from 1000 to 86400000/],
    ['REQUEST_TIMEOUT_MS', '30s', /without a unit: 30000/],
    ['FOLLOW_UP_DEADLINE', 'ever', /a duration from 1s to 30d.*, or "never"; it is "ever"/],
    [
      'FOLLOW_UP_DEADLINE',
      '72',
      /a whole number and a unit .* such as 90s, 15m, 72h or 30d, or "never"; it is "72"/,
    ],
    ['FOLLOW_UP_DEADLINE', '31d', /from 1s to 30d/],
    ['RETENTION', '1.5d', /a whole number and a unit/],
    ['RETENTION', '-1d', /a whole number and a unit/],
    ['MAX_RECIPIENTS_PER_REQUEST', '1001', /from 1 to 1000/],
    [
      'SENDER_ADDRESS',
      'toolongsendername',
      /up to 11 characters: The sender has 17 characters: a name may have at most 11; it is/,
    ],
    [
      'SENDER_ADDRESS',
      '+12 34 56 78 90',
      /Write a phone number as digits only, with or without a plus; it is/,
    ],
    ['DEFAULT_COUNTRY', 'UK', /ISO 3166 .* the United Kingdom is GB/],
    ['DEFAULT_COUNTRY', 'Denmark', /ISO 3166/],
    [
      'LOG_LEVEL',
      'loud',
      /must be "fatal", "error", "warn", "info", "debug", "trace" or "silent"; it is "loud"/,
    ],
    ['REDIS_PREFIX', '{a}', /letters, digits/],
    ['HTTP_TRUSTED_PROXIES', '10.0.0.0/33', /networks separated by commas/],
    ['HTTP_TRUSTED_PROXIES', '127.0.0.1, proxy.example', /networks separated by commas/],
    ['SECRETS_KEY', 'correct horse battery staple', /32 random bytes .* `openssl rand -base64 32`/],
    ['API_KEY', 'two words', /without spaces/],
    ['MESSAGING_BASE_URL', 'host.example/v1', /http\(s\) URL, the part before \/outbound/],
    ['MESSAGING_BASE_URL', 'ftp://host.example', /http\(s\) URL/],
    ['MESSAGING_BASE_URL', 'https://host.example/v1?a=b', /must not contain a \? or # part/],
    [
      'MESSAGING_BASE_URL',
      'https://host.example/v1/outbound/ACME/requests',
      /only the part before \/outbound: https:\/\/host\.example\/v1$/,
    ],
    ['ACCOUNT_BASE_URL', 'accounts', /part before \/api\/login/],
    ['REDIS_URL', 'redis://127.0.0.1:6379/main', /a Redis URL: redis:\/\/host:6379/],
    ['REDIS_URL', 'redis://127.0.0.1:99999', /a Redis URL: redis:\/\/host:6379/],
    ['SENDER_ADDRESS', '"ACME"', /^SENDER_ADDRESS must not be in quotes$/],
    ['API_KEY', "'the-key'", /^API_KEY must not be in quotes$/],
  ])('in %s (%s) say what it must be', (name, value, right) => {
    const found = problem({ [name]: value });
    expect(found).toMatch(right);
    expect(found.startsWith(`${name} must`)).toBe(true);
  });

  it.each([
    ['REDIS_URL', 'redis://:hunter2@secret%zz@'],
    ['REDIS_URL', 'redis://:hunter2@redis.example:6379/zero/one?x'],
    ['API_KEY', 'hunter2 with a space'],
    ['SECRETS_KEY', 'hunter2'],
    ['MESSAGING_BASE_URL', 'https://me:hunter2@host.example'],
    ['LOG_LEVEL', 'a-long-key-pasted-into-the-wrong-line-hunter2'],
  ])('in %s never contain the secret in its value', (name, value) => {
    expect(problem({ [name]: value })).not.toContain('hunter2');
  });

  it.each([
    'https://host.example/v1/',
    'https://host.example/v1/outbound',
    'https://host.example/v1/outbound/',
    'https://HOST.example/v1//',
  ])('do not occur for %s, which has one possible meaning', (url) => {
    expect(loadConfig({ ...SERVICE, MESSAGING_BASE_URL: url }).messagingBaseUrl).toBe(
      'https://host.example/v1',
    );
  });

  it('name the longest timeout that a quota window allows', () => {
    expect(problem({ QUOTA_WINDOW_MS: '10000' })).toMatch(
      /^REQUEST_TIMEOUT_MS must be at most a tenth of QUOTA_WINDOW_MS \(1000\)/,
    );
    expect(problems({ QUOTA_WINDOW_MS: '10000', REQUEST_TIMEOUT_MS: '1000' })).toEqual([]);
  });

  it('in one setting do not cause errors in the settings that it is compared with', () => {
    expect(problem({ QUOTA_WINDOW_MS: '10000', REQUEST_TIMEOUT_MS: 'soon' })).toMatch(/^REQUEST_TIMEOUT_MS/);
  });

  it.each([
    [
      { ACCOUNT_USERNAME: 'ann', ACCOUNT_PASSWORD: 'pw' },
      /^API_KEY and ACCOUNT_USERNAME are both set: say what each header carries, with AUTHORIZATION_HEADER \("apiKey" or/,
    ],
    [
      { ...BOTH, AUTHORIZATION_HEADER: 'accessToken' },
      /^AUTHORIZATION_HEADER is "accessToken", so API_KEY is never sent: unset it, or set AUTHORIZATION_HEADER to "apiKey"/,
    ],
    [
      { X_AUTHORIZATION_HEADER: 'accessToken' },
      /^X_AUTHORIZATION_HEADER is "accessToken", but there is no account/,
    ],
    [
      { AUTHORIZATION_HEADER: 'accessToken' },
      /^AUTHORIZATION_HEADER is "accessToken", but there is no account/,
    ],
    [{ ...BOTH, API_KEY: '' }, /^AUTHORIZATION_HEADER is "apiKey", but there is no key: set API_KEY/],
    [{ ACCOUNT_USERNAME: 'ann' }, /^ACCOUNT_PASSWORD must be set together with ACCOUNT_USERNAME/],
    [{ API_KEY: '', ACCOUNT_USERNAME: 'ann' }, /^ACCOUNT_PASSWORD must be set/],
    [{ API_KEY: '', ACCOUNT_PASSWORD: 'pw' }, /^ACCOUNT_USERNAME must be set/],
    [{ API_KEY: '' }, /^API_KEY must be set, or ACCOUNT_USERNAME and ACCOUNT_PASSWORD, or LANES_FILE/],
  ])('in credentials name the missing or contradictory settings (%o)', (environment, message) => {
    expect(problem(environment)).toMatch(message);
  });
});

describe('A misspelled setting', () => {
  it.each([
    ['HOURLY_QOUTA', 'HOURLY_QUOTA'],
    ['MESSAGING_BASEURL', 'MESSAGING_BASE_URL'],
    ['REDIS_URI', 'REDIS_URL'],
    ['LANE_FILE', 'LANES_FILE'],
    ['hourlyQuota', 'HOURLY_QUOTA'],
  ])('gets a hint: %s is probably %s', (misspelled, setting) => {
    expect(configHints({ [misspelled]: 'x' })).toEqual([
      `${misspelled} is set but is not a Volley setting; did you mean ${setting}?`,
    ]);
  });

  it.each([
    'PATH',
    'HTTP_PROXY',
    'https_proxy',
    'API_KEY_ACME',
    'REDIS_URL_2',
    'HOURLY_QUOTA',
    'LOGNAME',
    'SENDER',
  ])('is not suspected in %s', (name) => {
    expect(configHints({ [name]: 'x' })).toEqual([]);
  });

  it('is an error, next to the one that it may have caused', () => {
    expect(problems({ HOURLY_QOUTA: '5' })).toEqual([expect.stringMatching(/did you mean HOURLY_QUOTA\?/)]);
    const [missing, hint] = problems({ MESSAGING_BASE_URL: '', MESSAGING_BASEURL: 'https://host.example' });
    expect(missing).toMatch(/^MESSAGING_BASE_URL must be set/);
    expect(hint).toMatch(/^MESSAGING_BASEURL is set/);
  });
});
