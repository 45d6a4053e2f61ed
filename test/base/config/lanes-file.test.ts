import { describe, expect, it } from 'vitest';
import { type Environment, loadConfig } from '../../../src/base/config/index.js';
import { problemsOf } from './problems.js';

const SERVICE = { API_KEY: 'the-key', MESSAGING_BASE_URL: 'https://host.example/smsmessaging/v1' };

describe('A lanes file', () => {
  const lanesOf = (json: string, environment: Environment = {}) =>
    loadConfig(
      { MESSAGING_BASE_URL: 'https://host.example', LANES_FILE: 'lanes.json', ...environment },
      { readFile: () => json },
    ).lanes;
  const problemsIn = (json: string, environment?: Environment) =>
    problemsOf(() => lanesOf(json, environment));

  it('defines the credentials and rules of each lane; the environment supplies the defaults', () => {
    const json = `\uFEFF{ "lanes": [
      { "name": "acme", "apiKeyEnv": "ACME_KEY", "hourlyQuota": 500, "pollShare": 0.5, "pacing": "smooth",
        "maxRecipientsPerRequest": 7, "unknownOutcome": "abandon after 24h", "clientCorrelator": "deduplicates: 24h" },
      { "name": "child", "account": { "usernameEnv": "USER_A", "passwordEnv": "PASS_A", "targetAccountId": "77" },
        "unknownOutcome": { "action": "resend", "after": "2h" } }
    ]}`;
    const environment = {
      ACME_KEY: 'k1',
      USER_A: 'ann',
      PASS_A: 'pw',
      HOURLY_QUOTA: '60',
      MAX_RECIPIENTS_PER_REQUEST: '3',
    };
    expect(lanesOf(json, environment)).toEqual([
      {
        name: 'acme',
        credentials: { kind: 'apiKey', apiKey: 'k1' },
        hourlyQuota: 500,
        pollShare: 0.5,
        pacing: 'smooth',
        maxRecipientsPerRequest: 7,
        unknownOutcome: { action: 'abandon', afterMs: 86_400_000 },
        clientCorrelator: { deduplicatesForMs: 86_400_000 },
        profile: 'v1',
      },
      {
        name: 'child',
        targetAccountId: '77',
        credentials: { kind: 'account', username: 'ann', password: 'pw', targetAccountId: '77' },
        hourlyQuota: 60,
        pollShare: 0.2,
        pacing: 'burst',
        maxRecipientsPerRequest: 3,
        unknownOutcome: { action: 'resend', afterMs: 7_200_000 },
        clientCorrelator: 'off',
        profile: 'v1',
      },
    ]);
  });

  describe('with a lane of profile v3', () => {
    const client = '"client": { "idEnv": "ID", "secret": "s3cret", "product": "sms-a2p-marketing" }';
    const env = { ID: 'c-1', TOKEN_URL: 'https://idm.example/auth/token' };

    it('has a client with the scopes of its product, and correlators that deduplicate for 24 hours', () => {
      const json = `[{ "name": "a", "profile": "v3", "baseUrl": "https://api.example/sms/v3/", ${client} },
        { "name": "b", "apiKey": "k" }]`;
      const { lanes, tokenUrl } = loadConfig(
        { MESSAGING_BASE_URL: 'https://host.example', LANES_FILE: 'lanes.json', ...env },
        { readFile: () => json },
      );
      expect(tokenUrl).toBe('https://idm.example/auth/token');
      expect(lanes).toEqual([
        expect.objectContaining({
          profile: 'v3',
          baseUrl: 'https://api.example/sms/v3',
          clientCorrelator: { deduplicatesForMs: 86_400_000 },
          credentials: {
            kind: 'account',
            username: 'c-1',
            password: 's3cret',
            scope: 'sms sms-a2p-marketing',
          },
        }),
        expect.objectContaining({ profile: 'v1', clientCorrelator: 'off' }),
      ]);
    });

    it.each([
      [
        '"apiKey": "k"',
        /^lanes\.json, line 1, lane "a": apiKey is not used by this profile: set client instead/,
      ],
      [`${client}, "account": { "username": "u", "password": "p" }`, /account is not used by this profile/],
      [`${client}, "authorization": "accessToken"`, /authorization is not used by this profile: remove it/],
      [`${client}, "clientCorrelator": "off"`, /clientCorrelator is determined by profile v3: remove it/],
      [
        '"client": { "id": "i", "secret": "s", "product": "sms a" }',
        /client\.product must be the name of one product/,
      ],
      [
        '"client": { "id": "i", "product": "p" }',
        /client\.secret must be given as either secret or secretEnv/,
      ],
      [
        '"client": { "id": "i", "secrets": "s", "product": "p" }',
        /client\.secrets is not a field; did you mean secret\?/,
      ],
      ['"hourlyQuota": 5', /has no credentials: set client/],
    ])('is an error: %s', (fields, message) => {
      const [problem] = problemsIn(`[{ "name": "a", "profile": "v3", ${fields} }]`, env);
      expect(problem).toMatch(message);
    });

    it('requires the profile for a client, and the address of its tokens', () => {
      expect(problemsIn(`[{ "name": "a", ${client} }]`, env)).toEqual([
        expect.stringMatching(/client is only used by profile "v3": set profile/),
      ]);
      expect(problemsIn(`[{ "name": "a", "profile": "v3", ${client} }]`, { ID: 'c-1' })).toEqual([
        expect.stringMatching(/^TOKEN_URL must be set/),
      ]);
    });

    it('may not send its secret over http to another machine', () => {
      const json = `[{ "name": "a", "profile": "v3", "baseUrl": "http://api.example", ${client} }]`;
      expect(problemsIn(json, { ...env, TOKEN_URL: 'http://idm.example/token' })).toEqual([
        expect.stringMatching(/^TOKEN_URL must be an https URL/),
        expect.stringMatching(/^LANES_FILE, lane "a": baseUrl must be an https URL/),
      ]);
    });

    it('has one quota per client, whatever the product', () => {
      const other = client.replace('marketing', 'business');
      const json = `[{ "name": "a", "profile": "v3", ${client} }, { "name": "b", "profile": "v3", ${other} }]`;
      expect(problemsIn(json, env)).toEqual([
        'LANES_FILE: lanes "a" and "b" use the same client and its one quota; make them one lane',
      ]);
    });
  });

  it('can be a plain list', () => {
    expect(lanesOf('[{ "name": "a", "apiKey": "k" }]')).toHaveLength(1);
  });

  it('with a syntax error is reported by line, without its contents', () => {
    expect(problemsIn('[\n  { "name": "a",\n    "apiKey" "hunter2" }\n]')).toEqual([
      'lanes.json, line 3: not valid JSON (colon expected)',
    ]);
  });

  it.each(['', '[]', '{}', '{"lanes":[]}', '7', 'null', '"lanes"'])(
    'without a lane is an error: %s',
    (json) => {
      expect(problemsIn(json)).toHaveLength(1);
    },
  );

  it('that cannot be read is reported with the system error', () => {
    expect(
      problemsOf(() => loadConfig({ ...SERVICE, API_KEY: '', LANES_FILE: '/nowhere/lanes.json' })),
    ).toEqual(['LANES_FILE must be a file that you can read. There is no file /nowhere/lanes.json']);
  });

  it('with a lane whose variable is missing leaves the other lanes as they are', () => {
    const json = '[{ "name": "a", "apiKeyEnv": "A_KEY" },\n{ "name": "b", "apiKeyEnv": "B_KEY" }]';
    const load = (variables: Environment) =>
      loadConfig(
        { ...SERVICE, API_KEY: '', ...variables, LANES_FILE: 'lanes.json' },
        { readFile: () => json },
      );
    const { lanes, lanesWithoutCredentials } = load({ A_KEY: 'k' });
    expect(lanes.map(({ name }) => name)).toEqual(['a']);
    const missing =
      'lanes.json, line 2, lane "b": apiKeyEnv names B_KEY, which is not set (needed as apiKey)';
    expect(lanesWithoutCredentials).toEqual({ names: ['b'], problems: [missing] });
    expect(problemsOf(() => load({}))).toHaveLength(2);
  });

  it('with errors has all of them reported, each by line, lane, and field', () => {
    const json = `[
      { "name": "a", "apiKey": "k1", "hourlyQouta": 3 },
      { "name": "b", "apiKeyEnv": "NOPE", "pollShare": 1,
        "pacing": "fast" },
      { "name": "c d", "apiKey": "k2", "hourlyQuota": "lots" },
      { "apiKey": "k3", "maxRecipientsPerRequest": 0 },
      { "name": "e" },
      { "name": "f", "apiKey": "k4", "apiKeyEnv": "NOPE" },
      { "name": "g", "account": { "username": "ann", "pasword": "hunter2" } },
      { "name": "h", "account": { "username": "bob", "password": "hunter2", "passwordEnv": "NOPE" } },
      { "name": "i", "apiKey": "k5", "unknownOutcome": "abandon after lunch" },
      { "name": "i", "apiKey": "k6", "unknownOutcome": { "action": "resend" } },
      { "name": "i", "apiKey": "k7" },
      { "name": "j", "apiKey": "k8" },
      { "name": "j", "apiKey": "k9" },
      12
    ]`;
    const reported = problemsIn(json);
    expect(
      reported.map((text) => text.replace(/^lanes\.json, line (\d+), lane (\S+( d")?): /, '$1 $2 ')),
    ).toEqual([
      '2 "a" hourlyQouta is not a field; did you mean hourlyQuota?',
      '3 "b" pollShare must be a share from 0 to 0.9, such as 0.2',
      '4 "b" pacing must be "burst" or "smooth"',
      '3 "b" apiKeyEnv names NOPE, which is not set (needed as apiKey)',
      '5 "c d" name must be up to 40 letters, digits and _ . -, starting with a letter or digit',
      '5 "c d" hourlyQuota must be a whole number of requests an hour from 1 to 10000000, or "auto"',
      '6 4 name must be up to 40 letters, digits and _ . -, starting with a letter or digit',
      '6 4 maxRecipientsPerRequest must be a whole number from 1 to 1000',
      '7 "e" the lane has no credentials: set apiKeyEnv (the name of a variable), apiKey, or account',
      '8 "f" apiKey must be given as either apiKey or apiKeyEnv',
      '9 "g" account.pasword is not a field; did you mean password?',
      '10 "h" account.password must be given as either password or passwordEnv',
      '11 "i" unknownOutcome must be "hold", "abandon after 24h" or "resend after 24h", with a duration such as 90m, 24h or 3d',
      '12 "i" unknownOutcome must be "hold", "abandon after 24h" or "resend after 24h", with a duration such as 90m, 24h or 3d',
      '15 "j" name is already used by a lane above: each lane needs its own name',
      '16 14 must be an object with a name and credentials',
    ]);
    expect(reported.join()).not.toMatch(/hunter2|k[1-9]/);
  });

  it('cannot give two lanes the same key or account, because they would share its quota', () => {
    const keys = problemsIn('[{"name":"a","apiKeyEnv":"X"},{"name":"b","apiKeyEnv":"Y"}]', {
      X: 'k-77',
      Y: 'k-77',
    });
    expect(keys).toEqual([
      'LANES_FILE: lanes "a" and "b" use the same API key and its one quota; make them one lane',
    ]);
    const account = (target: string) => `{"username":"u","password":"p","targetAccountId":"${target}"}`;
    const two = (one: string, other: string) =>
      problemsIn(`[{"name":"a","account":${account(one)}},{"name":"b","account":${account(other)}}]`);
    expect(two('1', '1')[0]).toMatch(/lanes "a" and "b" use the same account/);
    expect(two('1', '2')).toEqual([]);
  });

  it('cannot be combined with API_KEY, unless one of its lanes names that variable', () => {
    expect(problemsIn('[{"name":"a","apiKey":"k"}]', { API_KEY: 'other' })).toEqual([
      'API_KEY and LANES_FILE are both set: unset one, or name API_KEY in a lane of lanes.json',
    ]);
    expect(problemsIn('[{"name":"a","apiKeyEnv":"API_KEY"}]', { API_KEY: 'other' })).toEqual([]);
  });

  it('must say for how long the service remembers a correlator that it deduplicates', () => {
    const lane = (clientCorrelator: unknown) =>
      JSON.stringify([{ name: 'a', apiKey: 'k', clientCorrelator }]);
    expect(problemsIn(lane('deduplicates'))).toEqual([
      expect.stringContaining(
        'clientCorrelator must say for how long the service remembers a correlator, such as "deduplicates: 24h"',
      ),
    ]);
    expect(problemsIn(lane('deduplicates: 1 day'))).toEqual([
      expect.stringContaining('clientCorrelator must be "off", "send" or "deduplicates: 24h"'),
    ]);
    expect(problemsIn(lane('deduplicates: 90s'))).toEqual([
      expect.stringContaining('must deduplicate for longer than three times REQUEST_TIMEOUT_MS (30s)'),
    ]);
    for (const same of ['deduplicates: 24h', 'deduplicates:24h', { deduplicates: '24h' }]) {
      expect(lanesOf(lane(same))).toMatchObject([{ clientCorrelator: { deduplicatesForMs: 86_400_000 } }]);
    }
  });

  it('cannot abandon an unknown outcome while a response may still arrive', () => {
    const json = '[{"name":"a","apiKey":"k","unknownOutcome":"abandon after 30s"}]';
    expect(problemsIn(json)[0]).toMatch(
      /lane "a": unknownOutcome must wait longer than REQUEST_TIMEOUT_MS \(30s\)/,
    );
    expect(problemsIn(json, { REQUEST_TIMEOUT_MS: '10000' })).toEqual([]);
  });
});
