import { expect, test } from 'vitest';
import { ConfigError, isThisMachine, loadConfig, loadLocalConfig } from '../../../src/base/config/index.js';

const SERVICE = { MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1', API_KEY: 'key' };
const ACCOUNT = { ACCOUNT_USERNAME: 'anna', ACCOUNT_PASSWORD: 'secret', API_KEY: '' };
const REMOTE = 'redis://:password@redis.example:6379';

const problemsOf = (
  environment: Record<string, string>,
  load: typeof loadConfig = loadConfig,
): readonly string[] => {
  try {
    load({ ...SERVICE, ...environment });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
};

test.each([
  ['service', { MESSAGING_BASE_URL: 'http://sms.example/v1' }, /^MESSAGING_BASE_URL must be an https URL/],
  ['service', { ACCOUNT_BASE_URL: 'http://accounts.example' }, /^ACCOUNT_BASE_URL must be an https URL/],
  ['redis', { REDIS_URL: 'redis://redis.example:6379' }, /^REDIS_URL must contain a password/],
  ['redis', { REDIS_URL: 'rediss://user@redis.example:6379' }, /^REDIS_URL must contain a password/],
  [
    'redis',
    { REDIS_URL: 'redis+cluster://127.0.0.1:7000,10.0.0.1:7000' },
    /^REDIS_URL must contain a password/,
  ],
  ['redis', { REDIS_URL: 'redis://127.0.0.1.example:6379' }, /^REDIS_URL must contain a password/],
  ['tokens', { REDIS_URL: REMOTE, ...ACCOUNT }, /^SECRETS_KEY must be set, because the tokens/],
])('Without ALLOW_INSECURE=%s, %j is refused', (word, environment, message) => {
  const problems = problemsOf(environment);
  expect(problems).toEqual([expect.stringMatching(message)]);
  expect(problems[0]).toContain(`ALLOW_INSECURE=${word}`);
  expect(problems[0]).not.toContain('example');
  expect(problemsOf({ ...environment, ALLOW_INSECURE: word })).toEqual([]);
  const others = ['service', 'redis', 'tokens', 'keys'].filter((other) => other !== word).join(', ');
  expect(problemsOf({ ...environment, ALLOW_INSECURE: others })).toEqual(problems);
});

test.each([
  { MESSAGING_BASE_URL: 'http://127.0.0.1:8080/v1', ACCOUNT_BASE_URL: 'http://localhost:8080' },
  { REDIS_URL: 'redis://127.0.0.1:6379', ...ACCOUNT },
  { REDIS_URL: 'redis://[::1]:6379' },
  { REDIS_URL: 'redis://localhost' },
  { REDIS_URL: REMOTE },
  { REDIS_URL: REMOTE, ...ACCOUNT, SECRETS_KEY: 'a'.repeat(64) },
])('%j is accepted', (environment) => {
  expect(problemsOf(environment)).toEqual([]);
});

test('A command that only uses Redis also refuses one without a password, and needs no key for tokens', () => {
  const local = loadLocalConfig as typeof loadConfig;
  const bare = { REDIS_URL: 'redis://redis.example:6379' };
  expect(problemsOf(bare, local)).toEqual([expect.stringMatching(/^REDIS_URL must contain a password/)]);
  expect(problemsOf({ ...bare, ALLOW_INSECURE: 'redis' }, local)).toEqual([]);
  const rest = { REDIS_URL: REMOTE, MESSAGING_BASE_URL: 'http://sms.example', ...ACCOUNT };
  expect(problemsOf(rest, local)).toEqual([]);
});

test('ALLOW_INSECURE accepts only its own words', () => {
  expect(problemsOf({ ALLOW_INSECURE: 'service,everything' })).toEqual([
    'ALLOW_INSECURE must be some of service, redis, tokens, keys, separated by commas; it is "service,everything"',
  ]);
  expect(loadConfig({ ...SERVICE, ALLOW_INSECURE: ' keys , redis ' }).allowInsecure).toEqual([
    'redis',
    'keys',
  ]);
});

test.each([
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['[::1]', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['redis', false],
  ['127.0.0.1.example', false],
])('%s is this machine: %s', (host, expected) => {
  expect(isThisMachine(host)).toBe(expected);
});
