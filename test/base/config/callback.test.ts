import { describe, expect, it } from 'vitest';
import { laneCallback, loadConfig, loadLocalConfig, secretsOf } from '../../../src/base/config/index.js';
import { problemsOf } from './problems.js';

const SERVICE = { API_KEY: 'the-key', MESSAGING_BASE_URL: 'https://host.example/smsmessaging/v1' };
const TOKEN = 'a-token-of-some-length';

const problems = (environment: Record<string, string>) =>
  problemsOf(() => loadConfig({ ...SERVICE, ...environment }));

describe('The callback', () => {
  it('is not used unless CALLBACK_URL is set', () => {
    expect(loadConfig(SERVICE).callback).toBeUndefined();
    expect(loadConfig({ ...SERVICE, CALLBACK_SECURITY_TOKEN: TOKEN }).callback).toBeUndefined();
  });

  it.each([
    ['https://volley.example/in/', 'https://volley.example/in'],
    ['https://volley.example', 'https://volley.example'],
    ['http://127.0.0.1:8080/in', 'http://127.0.0.1:8080/in'],
  ])('accepts the address %s', (text, url) => {
    const settings = { CALLBACK_URL: text, CALLBACK_SECURITY_TOKEN: TOKEN };
    const callback = { url, securityToken: TOKEN, proof: 'token' };
    expect(loadConfig({ ...SERVICE, ...settings }).callback).toEqual(callback);
    expect(loadLocalConfig(settings).callback).toEqual(callback);
  });

  it.each([
    ['http://volley.example/in', /an https URL that the service can reach/],
    ['volley.example', /https URL/],
    ['ftp://127.0.0.1', /https URL/],
    ['https://me:secret@volley.example', /must not contain a user/],
    ['https://volley.example/in?a=b', /must not contain a user, a password, a \?/],
    ['https://volley.example/in/*', /without \* and %2F/],
    ['https://volley.example/a%2Fb', /without \* and %2F/],
    ['https://volley.example/v1/campaigns', /not below \/v1/],
  ])('rejects the address %s and says what it must be', (text, expected) => {
    const found = problems({ CALLBACK_URL: text, CALLBACK_SECURITY_TOKEN: TOKEN });
    expect(found).toEqual([expect.stringMatching(expected)]);
    expect(found.join()).not.toContain('secret@');
  });

  it('needs a security token that is too long to guess', () => {
    const CALLBACK_URL = 'https://volley.example/in';
    expect(problems({ CALLBACK_URL })).toEqual([
      expect.stringMatching(/^CALLBACK_SECURITY_TOKEN must be set/),
    ]);
    const short = problems({ CALLBACK_URL, CALLBACK_SECURITY_TOKEN: 'hunter2' });
    expect(short).toEqual([expect.stringMatching(/^CALLBACK_SECURITY_TOKEN must be 16 to 200/)]);
    expect(short.join()).not.toContain('hunter2');
    expect(problems({ CALLBACK_URL, CALLBACK_SECURITY_TOKEN: TOKEN, CALLBACK_PROOF: 'none' })).toEqual([
      expect.stringMatching(/^CALLBACK_PROOF must be "token" or "path"/),
    ]);
  });

  it('has a security token that the log masks, along with the secrets derived from it for each lane', () => {
    const config = loadConfig({
      ...SERVICE,
      CALLBACK_URL: 'https://volley.example/in',
      CALLBACK_SECURITY_TOKEN: TOKEN,
    });
    const { callback } = config;
    if (callback === undefined) throw new Error('no callback');
    const { segment, securityToken } = laneCallback(callback, 'default');
    expect(secretsOf(config)).toEqual(expect.arrayContaining([TOKEN, segment, securityToken]));
  });
});
