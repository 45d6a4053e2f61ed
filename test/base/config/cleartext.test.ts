import { describe, expect, it, test } from 'vitest';
import {
  assertLoopback,
  ConfigError,
  type Environment,
  isThisMachine,
  loadConfig,
  loadLocalConfig,
} from '../../../src/base/config/index.js';
import { problemsOf } from './problems.js';

const SERVICE = { MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1', API_KEY: 'key' };
const ACCOUNT = { ACCOUNT_USERNAME: 'anna', ACCOUNT_PASSWORD: 'secret', API_KEY: '' };
const REMOTE = 'redis://:password@redis.example:6379';

const problems = (environment: Record<string, string>, load: (from: Environment) => unknown = loadConfig) =>
  problemsOf(() => load({ ...SERVICE, ...environment }));

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
  const found = problems(environment);
  expect(found).toEqual([expect.stringMatching(message)]);
  expect(found[0]).toContain(`ALLOW_INSECURE=${word}`);
  expect(found[0]).not.toContain('example');
  expect(problems({ ...environment, ALLOW_INSECURE: word })).toEqual([]);
  const others = ['service', 'redis', 'tokens', 'keys'].filter((other) => other !== word).join(', ');
  expect(problems({ ...environment, ALLOW_INSECURE: others })).toEqual(found);
});

test.each([
  { MESSAGING_BASE_URL: 'http://127.0.0.1:8080/v1', ACCOUNT_BASE_URL: 'http://localhost:8080' },
  { REDIS_URL: 'redis://127.0.0.1:6379', ...ACCOUNT },
  { REDIS_URL: 'redis://[::1]:6379' },
  { REDIS_URL: 'redis://localhost' },
  { REDIS_URL: REMOTE },
  { REDIS_URL: REMOTE, ...ACCOUNT, SECRETS_KEY: 'a'.repeat(64) },
])('%j is accepted', (environment) => {
  expect(problems(environment)).toEqual([]);
});

test('A command that only uses Redis also refuses one without a password, and needs no key for tokens', () => {
  const bare = { REDIS_URL: 'redis://redis.example:6379' };
  expect(problems(bare, loadLocalConfig)).toEqual([
    expect.stringMatching(/^REDIS_URL must contain a password/),
  ]);
  expect(problems({ ...bare, ALLOW_INSECURE: 'redis' }, loadLocalConfig)).toEqual([]);
  const rest = { REDIS_URL: REMOTE, MESSAGING_BASE_URL: 'http://sms.example', ...ACCOUNT };
  expect(problems(rest, loadLocalConfig)).toEqual([]);
});

test('ALLOW_INSECURE accepts only its own words', () => {
  expect(problems({ ALLOW_INSECURE: 'service,everything' })).toEqual([
    'ALLOW_INSECURE must be some of service, redis, tokens, keys, separated by commas; it is "service,everything"',
  ]);
  expect(loadConfig({ ...SERVICE, ALLOW_INSECURE: ' keys , redis ' }).allowInsecure).toEqual([
    'redis',
    'keys',
  ]);
});

test.each([
  ['::1', true],
  ['[::1]', true],
  ['localhost', true],
  ['::', false],
  ['redis', false],
])('%s is this machine: %s', (host, expected) => {
  expect(isThisMachine(host)).toBe(expected);
});

describe('assertLoopback', () => {
  it.each([
    'http://127.0.0.1:1',
    'http://127.8.9.10',
    'https://localhost/x',
    'http://[::1]:80/',
    'http://127.1',
  ])('accepts %s', (url) => {
    expect(() => assertLoopback(url)).not.toThrow();
  });

  it.each([
    'https://host.example',
    'http://128.0.0.1',
    'http://localhost.example',
    'http://127.0.0.1.example',
    'http://127.0.0.1@host.example',
    'http://0.0.0.0',
    'http://[::2]',
    'http://10.0.0.1',
    'redis://127.0.0.1',
    '127.0.0.1',
    '',
  ])('rejects %j', (url) => {
    expect(() => assertLoopback(url)).toThrow(ConfigError);
  });
});
