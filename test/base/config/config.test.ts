import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  type Config,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
  secretsOf,
  sharedSettings,
} from '../../../src/base/config/index.js';
import { problemsOf } from './problems.js';

const SERVICE = { API_KEY: 'the-key', MESSAGING_BASE_URL: 'https://host.example/smsmessaging/v1' };
/** Beside the key of {@link SERVICE}. */
const BOTH = {
  ACCOUNT_USERNAME: 'ann',
  ACCOUNT_PASSWORD: 'pw',
  AUTHORIZATION_HEADER: 'apiKey',
  X_AUTHORIZATION_HEADER: 'accessToken',
};

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
