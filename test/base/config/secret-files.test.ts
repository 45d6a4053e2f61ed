import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type Environment, loadConfig, loadLocalConfig, secretsOf } from '../../../src/base/config/index.js';
import { SETTING_NAMES, SETTINGS, secretsInFiles } from '../../../src/base/config/settings.js';
import { parseRedisUrl } from '../../../src/base/redis/redis-url.js';
import { problemsOf } from './problems.js';

const folder = mkdtempSync(join(tmpdir(), 'volley-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const SERVICE = { MESSAGING_BASE_URL: 'https://host.example/v1' };

const problems = (environment: Environment, load: (from: Environment) => unknown = loadConfig) =>
  problemsOf(() => load({ ...SERVICE, ...environment }));

test('Every secret setting can be read from a file', () => {
  const secret = SETTING_NAMES.filter((name) => SETTINGS.shape[name].unwrap().meta()?.['secret'] === true);
  // Addresses are secret in error messages only, because people put passwords into them by mistake.
  expect(secretsInFiles('all')).toEqual(
    expect.arrayContaining(secret.filter((name) => !/_BASE_URL$|^TOKEN_URL$|^CALLBACK_URL$/.test(name))),
  );
  const token = 't'.repeat(20);
  const config = loadConfig({
    ...SERVICE,
    REDIS_URL_FILE: file('redis_url', 'redis://redis:6379\n'),
    REDIS_PASSWORD_FILE: file('redis_password', 'p@ss/word:1\n'),
    ACCOUNT_USERNAME_FILE: file('username', 'ann\n'),
    ACCOUNT_PASSWORD_FILE: file('password', ' a b \r\n'),
    SECRETS_KEY_FILE: file('secrets_key', `${'b'.repeat(64)}\n`),
    HTTPS_PROXY_FILE: file('proxy', 'http://user:pw@proxy.example:3128'),
    CALLBACK_URL: 'https://volley.example/callbacks',
    CALLBACK_SECURITY_TOKEN_FILE: file('token', token),
  });
  expect(config.lanes[0]?.credentials).toMatchObject({ kind: 'account', username: 'ann', password: ' a b ' });
  expect(parseRedisUrl(config.redisUrl ?? '')).toMatchObject({
    password: 'p@ss/word:1',
    username: undefined,
  });
  expect(config).toMatchObject({
    secretsKey: 'b'.repeat(64),
    callback: { securityToken: token },
    httpsProxy: 'http://user:pw@proxy.example:3128',
  });
  expect(secretsOf(config)).toEqual(expect.arrayContaining([' a b ', token, 'p@ss/word:1']));
  const key = { ...SERVICE, API_KEY_FILE: file('api_key', 'the-key\n') };
  expect(loadConfig(key).lanes[0]?.credentials).toEqual({ kind: 'apiKey', apiKey: 'the-key' });
});

test('The variables that a lanes file names can be read from files', () => {
  const lanes = JSON.stringify([{ name: 'main', apiKeyEnv: 'MAIN_KEY' }]);
  const LANES_FILE = file('lanes.json', lanes);
  const config = loadConfig({ ...SERVICE, LANES_FILE, MAIN_KEY_FILE: file('main_key', 'k1\n') });
  expect(config.lanes[0]?.credentials).toEqual({ kind: 'apiKey', apiKey: 'k1' });
  expect(problems({ LANES_FILE, MAIN_KEY_FILE: join(folder, 'none') })).toEqual([
    `${LANES_FILE}, line 1, lane "main": apiKeyEnv names MAIN_KEY, but MAIN_KEY_FILE must be a file that you can read. There is no file ${join(folder, 'none')}`,
  ]);
});

test.each<[string, (path: string) => Environment, string]>([
  [
    'is missing',
    () => ({ API_KEY_FILE: join(folder, 'none') }),
    'API_KEY_FILE must be a file that you can read. There is no file FOLDER/none',
  ],
  [
    'is a folder',
    () => ({ API_KEY_FILE: folder }),
    'API_KEY_FILE must be a file that you can read. The path FOLDER is a folder, not a file',
  ],
  ['is empty', () => ({ API_KEY_FILE: file('empty', '\n') }), 'API_KEY_FILE: FOLDER/empty is empty'],
  [
    'is given twice',
    () => ({ API_KEY: 'k', API_KEY_FILE: file('k', 'k') }),
    'API_KEY and API_KEY_FILE are both set: unset one',
  ],
  [
    'has an invalid value',
    () => ({ API_KEY: 'k', SECRETS_KEY_FILE: file('short', 'secret-but-short') }),
    'SECRETS_KEY must be 32 random bytes in base64 or hex; generate them with `openssl rand -base64 32` (read from SECRETS_KEY_FILE, FOLDER/short)',
  ],
])('The error names the setting and the file if a secret file %s', (_, environment, expected) => {
  const [problem = ''] = problems(environment(folder));
  expect(problem.replaceAll(folder, 'FOLDER')).toBe(expected);
});

test('A process that does not call the service does not read its credentials', () => {
  expect(problems({ API_KEY_FILE: join(folder, 'none') }, loadLocalConfig)).toEqual([]);
  expect(problems({ REDIS_URL_FILE: join(folder, 'none') }, loadLocalConfig)).toHaveLength(1);
});

test('REDIS_PASSWORD belongs to REDIS_URL, which then contains none', () => {
  const key = { API_KEY: 'k' };
  expect(problems({ ...key, REDIS_PASSWORD: 'p' })).toEqual([
    'REDIS_URL must be set together with REDIS_PASSWORD',
  ]);
  expect(problems({ ...key, REDIS_PASSWORD: 'p', REDIS_URL: 'redis://:q@redis' })).toEqual([
    'REDIS_PASSWORD and a password in REDIS_URL are both set: remove one',
  ]);
  const urls = ['redis://redis:6379/2', 'rediss://volley@redis', 'redis+cluster://volley:@a:1,b:2'];
  expect(urls.map((REDIS_URL) => loadLocalConfig({ REDIS_URL, REDIS_PASSWORD: 'a@b' }).redisUrl)).toEqual([
    'redis://:a%40b@redis:6379/2',
    'rediss://volley:a%40b@redis',
    'redis+cluster://volley:a%40b@a:1,b:2',
  ]);
});
