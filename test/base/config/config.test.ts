import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  assertLoopback,
  type Config,
  ConfigError,
  type ConfigOptions,
  configHints,
  type Environment,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
  secretsOf,
  sharedSettings,
} from '../../../src/base/config/index.js';

const SERVICE = { API_KEY: 'the-key', MESSAGING_BASE_URL: 'https://host.example/smsmessaging/v1' };
/** Beside the key of {@link SERVICE}. */
const BOTH = {
  ACCOUNT_USERNAME: 'ann',
  ACCOUNT_PASSWORD: 'pw',
  AUTHORIZATION_HEADER: 'apiKey',
  X_AUTHORIZATION_HEADER: 'accessToken',
};

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

function problems(environment: Environment, options?: ConfigOptions): readonly string[] {
  return problemsOf(() => loadConfig({ ...SERVICE, ...environment }, options));
}

/** The only problem of an environment. */
function problem(environment: Environment): string {
  const found = problems(environment);
  expect(found).toHaveLength(1);
  return found[0] ?? '';
}

describe('The configuration of a single lane', () => {
  it('needs only an API key and an address, and has a default for everything else', () => {
    expect(loadConfig(SERVICE)).toEqual({
      redisUrl: undefined,
      records: {
        contractFile: undefined,
        client: { id: undefined, secret: undefined },
        inFlight: 1,
        simulatorOrigin: undefined,
      },
      redisPrefix: 'volley',
      redisMayLoseMs: 'auto',
      stateFile: undefined,
      webhookAllow: undefined,
      messagingBaseUrl: 'https://host.example/smsmessaging/v1',
      accountBaseUrl: 'https://host.example',
      httpsProxy: undefined,
      noProxy: '',
      serviceCa: undefined,
      tokenUrl: undefined,
      storedLanes: {
        v1: 'https://host.example/smsmessaging/v1',
        v3: 'https://host.example/smsmessaging/v1',
        tokenUrl: undefined,
      },
      lanes: [
        {
          name: 'default',
          credentials: { kind: 'apiKey', apiKey: 'the-key' },
          hourlyQuota: 'auto',
          pollShare: 0.2,
          pacing: 'burst',
          maxRecipientsPerRequest: 1,
          unknownOutcome: { action: 'hold' },
          clientCorrelator: 'off',
          profile: 'v1',
        },
      ],
      quotaWindowMs: 3_600_000,
      requestTimeoutMs: 30_000,
      followUpFirstMs: 15_000,
      followUpDeadlineMs: 72 * 3_600_000,
      followUpPastMaxAgeMs: 72 * 3_600_000,
      retentionMs: 30 * 86_400_000,
      auditRetentionMs: 365 * 86_400_000,
      maxCampaignAgeMs: 90 * 86_400_000,
      maxScheduleAheadMs: 365 * 86_400_000,
      senderAddress: undefined,
      senderName: undefined,
      defaultCountry: undefined,
      numberKinds: 'any',
      prices: undefined,
      secretsKey: undefined,
      previousSecretsKey: undefined,
      allowInsecure: [],
      callback: undefined,
      metrics: undefined,
      keyBytes: 256_000_000,
      logLevel: 'info',
      http: {
        host: '127.0.0.1',
        port: 8080,
        requestsPerMinute: 600,
        bytesPerMinute: 1_000_000_000,
        consoleUrl: undefined,
        trustedProxies: undefined,
        maxUploadBytes: 1_000_000_000,
        listMemoryBytes: 256_000_000,
      },
      replies: {
        stopWords: [
          'stop',
          'stopall',
          'unsubscribe',
          'cancel',
          'end',
          'quit',
          'revoke',
          'opt out',
          'arret',
          'stopp',
        ],
        startWords: ['start', 'unstop'],
        stopScope: 'lane',
        stopReply: undefined,
      },
      lanesWithoutCredentials: { names: [], problems: [] },
    } satisfies Config);
  });

  it('follows requests up until their campaign ends if FOLLOW_UP_DEADLINE is never', () => {
    const config = loadConfig({
      ...SERVICE,
      API_KEY: 'k',
      FOLLOW_UP_DEADLINE: 'never',
      MAX_CAMPAIGN_AGE: '20d',
    });
    expect([config.followUpDeadlineMs, config.followUpPastMaxAgeMs]).toEqual([20 * 86_400_000, 0]);
    expect(sharedSettings(config)).toMatchObject({ FOLLOW_UP_DEADLINE: 'never', MAX_CAMPAIGN_AGE: '20d' });
    const tooShort = { FOLLOW_UP_DEADLINE: 'never', MAX_CAMPAIGN_AGE: '1h', FOLLOW_UP_FIRST_MS: '7200000' };
    expect(() => loadConfig({ ...SERVICE, API_KEY: 'k', ...tooShort })).toThrow(
      /MAX_CAMPAIGN_AGE must be longer than FOLLOW_UP_FIRST_MS/,
    );
  });

  it('reads every setting from the environment', () => {
    const config = loadConfig({
      ...SERVICE,
      REDIS_URL: 'rediss://user:pass%2Fword@redis.example:6380/2',
      REDIS_PREFIX: 'acme',
      ACCOUNT_BASE_URL: 'https://accounts.example/',
      HOURLY_QUOTA: '5000',
      SENDER_ADDRESS: '+447700900123',
      SENDER_NAME: 'Acme Ltd',
      DEFAULT_COUNTRY: 'gb',
      NUMBER_KINDS: 'mobile',
      QUOTA_WINDOW_MS: '10000',
      MAX_RECIPIENTS_PER_REQUEST: '50',
      REQUEST_TIMEOUT_MS: '1000',
      FOLLOW_UP_FIRST_MS: '500',
      FOLLOW_UP_DEADLINE: '90s',
      RETENTION: '15m',
      SECRETS_KEY: 'b'.repeat(64),
      LOG_LEVEL: 'debug',
    });
    expect(config).toMatchObject({
      redisUrl: 'rediss://user:pass%2Fword@redis.example:6380/2',
      redisPrefix: 'acme',
      accountBaseUrl: 'https://accounts.example',
      senderAddress: '+447700900123',
      senderName: 'Acme Ltd',
      defaultCountry: 'GB',
      numberKinds: 'mobile',
      quotaWindowMs: 10_000,
      requestTimeoutMs: 1_000,
      followUpFirstMs: 500,
      followUpDeadlineMs: 90_000,
      followUpPastMaxAgeMs: 90_000,
      retentionMs: 900_000,
      secretsKey: 'b'.repeat(64),
      previousSecretsKey: undefined,
      logLevel: 'debug',
    });
    expect(config.lanes).toMatchObject([{ hourlyQuota: 5_000, maxRecipientsPerRequest: 50 }]);
  });

  it('uses an account if no API key is set', () => {
    const account = { ACCOUNT_USERNAME: 'ann', ACCOUNT_PASSWORD: ' a b ', ACCOUNT_TARGET_ID: '77' };
    expect(loadConfig({ ...SERVICE, API_KEY: '', ...account }).lanes[0]?.credentials).toEqual({
      kind: 'account',
      username: 'ann',
      password: ' a b ',
      targetAccountId: '77',
    });
  });

  it('carries a key and an access token, each in the header that the settings name', () => {
    const [lane] = loadConfig({ ...SERVICE, ...BOTH }).lanes;
    expect(lane?.credentials).toEqual({
      kind: 'apiKey',
      apiKey: 'the-key',
      account: { username: 'ann', password: 'pw' },
      xAuthorization: 'accessToken',
    });
    const twice = { API_KEY: '', AUTHORIZATION_HEADER: '' };
    expect(loadConfig({ ...SERVICE, ...BOTH, ...twice }).lanes[0]?.credentials).toEqual({
      kind: 'account',
      username: 'ann',
      password: 'pw',
      xAuthorization: 'accessToken',
    });
  });

  it('ignores empty settings, and spaces around values', () => {
    expect(loadConfig({ ...SERVICE, HOURLY_QUOTA: '', RETENTION: '  ', API_KEY: ' the-key\n' })).toEqual(
      loadConfig(SERVICE),
    );
  });
});

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

describe('The configuration of a command that only uses Redis', () => {
  it('needs no settings', () => {
    const { lanes } = loadLocalConfig({});
    expect(lanes).toMatchObject([{ name: 'default', hourlyQuota: 'auto' }]);
    expect(lanes[0]).not.toHaveProperty('credentials');
  });

  it('contains the lanes of the file without their credentials', () => {
    const readFile = (): string => '[{"name":"a","apiKeyEnv":"NOT_HERE","hourlyQuota":9}]';
    expect(loadLocalConfig({ LANES_FILE: 'lanes.json' }, { readFile }).lanes).toMatchObject([
      { name: 'a', hourlyQuota: 9 },
    ]);
  });

  it('is checked as strictly as the whole configuration', () => {
    expect(problemsOf(() => loadLocalConfig({ REDIS_URL: 'nowhere', RETENTION: '7' }))).toHaveLength(2);
  });
});

describe('A simulator in place of the service', () => {
  const simulator = { messagingBaseUrl: 'http://127.0.0.1:8080/v1', accountBaseUrl: 'http://127.0.0.1:8080' };

  it('needs no credentials, and replaces the configured address', () => {
    expect(loadConfig({}, { simulator })).toMatchObject({
      ...simulator,
      lanes: [{ credentials: { kind: 'apiKey', apiKey: 'simulator' } }],
    });
    expect(loadConfig(SERVICE, { simulator }).messagingBaseUrl).toBe(simulator.messagingBaseUrl);
  });

  it('must be on this machine', () => {
    const elsewhere = { ...simulator, accountBaseUrl: 'https://host.example' };
    expect(problemsOf(() => loadConfig({}, { simulator: elsewhere }))[0]).toMatch(
      /only a base URL on this machine/,
    );
  });
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

describe('secretsOf', () => {
  const config = loadConfig(
    {
      MESSAGING_BASE_URL: 'https://host.example',
      REDIS_URL: 'redis://me:redis-secret@redis.example:6379',
      SECRETS_KEY: 'c'.repeat(64),
      LANES_FILE: 'lanes.json',
    },
    {
      readFile: () =>
        '[{"name":"a","apiKey":"key-secret"},{"name":"b","account":{"username":"ann","password":"pw-secret"}}]',
    },
  );

  it('lists every secret, for the log to mask', () => {
    expect(secretsOf(config).sort()).toEqual(['c'.repeat(64), 'key-secret', 'pw-secret', 'redis-secret']);
  });
});

describe('.env', () => {
  const directory = mkdtempSync(join(tmpdir(), 'volley-env-'));
  afterEach(() => rmSync(join(directory, '.env'), { force: true, recursive: true }));
  afterAll(() => rmSync(directory, { recursive: true }));

  it('does not override or change the real environment', () => {
    writeFileSync(join(directory, '.env'), 'API_KEY="from the file"\nRETENTION=7d # a week\n');
    const real = { API_KEY: 'real' };
    expect(loadDotEnv(directory, real)).toEqual({ API_KEY: 'real', RETENTION: '7d' });
    expect(real).toEqual({ API_KEY: 'real' });
    loadDotEnv(directory);
    expect(process.env['RETENTION']).toBeUndefined();
  });

  it('that cannot be read is an error', () => {
    mkdirSync(join(directory, '.env'));
    expect(problemsOf(() => loadDotEnv(directory))[0]).toMatch(
      /\.env is a folder, not a file; make it a file/,
    );
  });

  it('may be missing', () => {
    expect(loadDotEnv(directory, { API_KEY: 'real' })).toEqual({ API_KEY: 'real' });
  });
});
