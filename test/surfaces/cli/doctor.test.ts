import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkCountries, checkKeys, checkRestoredKeys } from '../../../src/app/doctor/api-keys.js';
import { checkLane } from '../../../src/app/doctor/lanes.js';
import { checkRedis } from '../../../src/app/doctor/redis.js';
import { checkWorkers } from '../../../src/app/doctor/workers.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import type { LaneStatus } from '../../../src/campaign/views.js';
import { DATA_FORMAT } from '../../../src/engine/recovery/heartbeats.js';
import { checkProtection } from '../../../src/surfaces/cli/doctor/protection.js';
import { renderLane } from '../../../src/surfaces/cli/lane.js';
import { NOON } from './campaign-status.js';

const lane: LaneStatus = {
  name: 'main',
  id: 'main',
  targetAccount: null,
  state: 'open',
  quota: {
    configured: 100,
    learned: null,
    limit: 100,
    span: '1h',
    used: { send: 0, poll: 0 },
    inFlight: 0,
    keptForPolls: 0,
    nextPermitAt: null,
    nextPermits: 0,
    permitsToCome: [],
  },
  blockedBy: null,
  turnFailures: [],
  zone: null,
  window: null,
  throttled: 0,
  campaigns: { running: 0, waiting: 0, scheduled: 0 },
  awaitingReports: 0,
  unknownOutcomes: 0,
  maxRecipients: 1,
};
const reason = 'the service does not accept the API key of lane main (401)';

test.each([
  ['open', {}, ['ok']],
  [
    'backing off',
    {
      state: 'backingOff',
      blockedBy: {
        code: 'throttled',
        state: 'backingOff',
        reason: 'the service answered 429',
        since: null,
        until: null,
      },
    },
    ['ok'],
  ],
  ['probing', { state: 'probing', blockedBy: null }, ['ok']],
  [
    'without a token',
    {
      state: 'noToken',
      blockedBy: { code: 'noToken', state: 'noToken', reason: 'a timeout', since: null, until: null },
    },
    ['warn'],
  ],
  [
    'held',
    {
      state: 'held',
      blockedBy: { code: 'held', state: 'held', reason: 'held by an operator', since: null, until: null },
    },
    ['warn'],
  ],
  [
    'stopped',
    { state: 'stopped', blockedBy: { code: 'stopped', state: 'stopped', reason, since: null, until: null } },
    ['fail'],
  ],
  [
    'failing',
    { turnFailures: [{ kind: 'send', since: new Date(0).toISOString(), error: 'broken' }] },
    ['ok', 'fail'],
  ],
  ['open, with unknown outcomes', { unknownOutcomes: 2 }, ['ok', 'warn']],
] as const)('The doctor checks a lane that is %s', (_, change, levels) => {
  const checks = checkLane({ ...lane, ...change }, 0);
  expect(checks.map(({ state }) => state)).toEqual(levels);
  for (const { state, advice } of checks) if (state !== 'ok') expect(advice).toMatch(/volley/i);
});

test('The doctor shows why a lane is stopped and the command that resumes it', () => {
  const [check] = checkLane(
    {
      ...lane,
      state: 'stopped',
      blockedBy: { code: 'stopped', state: 'stopped', reason, since: null, until: null },
    },
    0,
  );
  expect(check).toMatchObject({
    message: `stopped: ${reason}`,
    advice: 'Fix the reason, then: volley lane resume main',
  });
});

test('A reason that ends with a full stop is followed by one full stop only', () => {
  const stopped: LaneStatus = {
    ...lane,
    state: 'stopped',
    blockedBy: { code: 'stopped', state: 'stopped', reason: 'Replace the key.', since: null, until: null },
  };
  const lines = renderLane(stopped, 0, (_ink, text) => text);
  expect(lines.join('\n')).toContain('Replace the key. To resume it: volley lane resume main');
});

test('A lane without a token shows why, and when it tries again', () => {
  const blockedBy = {
    code: 'noToken' as const,
    state: 'noToken' as const,
    reason: 'api.example refuses connections',
    since: null,
    until: new Date(90_000).toISOString(),
  };
  const lines = renderLane({ ...lane, state: 'noToken', blockedBy }, 0, (_ink, text) => text).join('\n');
  expect(lines).toContain('main  waits for an access token');
  expect(lines).toMatch(
    /reason +api\.example refuses connections \(next attempt \d\d:\d\d:\d\d \S+ \(in 1m 30s\)\)/,
  );
});

test('A lane shows when it may send more requests, and how many requests await reports', () => {
  const permitsToCome = [{ at: new Date(90_000).toISOString(), permits: 5 }];
  const waiting: LaneStatus = { ...lane, awaitingReports: 1, quota: { ...lane.quota, permitsToCome } };
  const lines = renderLane(waiting, 0, (_ink, text) => text).join('\n');
  expect(lines).toMatch(/next +5 requests at \d\d:\d\d:\d\d \S+ \(in 1m 30s\)/);
  expect(lines).toContain('1 request awaits reports');
});

test.each([
  [null, null, /quota +0 used; the quota is not known yet/],
  [5, null, /0 of 5 used .*; configured: auto, not known yet$/m],
  [5, 5, /0 of 5 used .*; configured: auto, 5 learned$/m],
] as const)(
  'A lane with a limit of %s, of which it has learned %s, says whether the quota is known',
  (...row) => {
    const [limit, learned, said] = row;
    const learning: LaneStatus = { ...lane, quota: { ...lane.quota, configured: 'auto', limit, learned } };
    expect(renderLane(learning, 0, (_ink, text) => text).join('\n')).toMatch(said);
  },
);

test('A lane whose turns fail shows since when, and the error', () => {
  const failure = { kind: 'poll', since: new Date(NOON).toISOString(), error: 'broken' } as const;
  const lines = renderLane({ ...lane, turnFailures: [failure] }, NOON, (_ink, text) => text);
  expect(lines[1]).toBe('  failing   asking for delivery statuses has failed since 12:00:00 UTC: broken');
});

const worker = (pid: number, settings: Record<string, string> = {}) =>
  ({ roles: ['send', 'follow-up'], settings, host: 'a', pid, format: DATA_FORMAT }) as const;

test('The doctor warns if no worker is running, or none for a role', () => {
  expect(checkWorkers([], 'To start one: volley work', false)).toMatchObject([
    { state: 'warn', message: expect.stringContaining('none is running') },
  ]);
  expect(checkWorkers([{ ...worker(1), roles: ['send'] }], 'To start one: volley work', false)).toMatchObject(
    [{ state: 'warn', advice: 'To start one: volley work' }],
  );
});

test('Workers whose data have another format fail the check', () => {
  expect(
    checkWorkers([worker(1), { ...worker(2), format: 1 }], 'To start one: volley work', false)[1],
  ).toMatchObject({
    name: 'versions of workers',
    state: 'fail',
    message: expect.stringContaining('a 2'),
  });
});

test('The doctor accepts workers with the same settings', () => {
  const settings = { version: '1.0.0', RETENTION: '30d' };
  expect(
    checkWorkers([worker(1, settings), worker(2, settings)], 'To start one: volley work', false),
  ).toMatchObject([{ state: 'ok', message: '2 processes' }]);
});

test('The doctor names settings that differ between workers, and the processes with each value', () => {
  const [old, recent] = [
    { version: '1.0.0', RETENTION: '30d' },
    { version: '1.1.0', RETENTION: '30d' },
  ];
  const workers = [worker(1, old), worker(2, recent), worker(3, old), worker(4, old), worker(5, old)];
  expect(checkWorkers(workers, 'To start one: volley work', false)[1]).toMatchObject({
    state: 'warn',
    message: 'they differ: version: 1.0.0 in a 1 and a 3 and a 4 and 1 more, 1.1.0 in a 2',
    advice: expect.stringContaining('Restart'),
  });
});

test('For a worker too old to report its settings, the doctor names only its version', () => {
  expect(
    checkWorkers(
      [worker(1), worker(2, { version: '1.1.0', RETENTION: '30d' })],
      'To start one: volley work',
      false,
    )[1],
  ).toMatchObject({
    message: 'they differ: version: older in a 1, 1.1.0 in a 2',
  });
});

const FACTS = {
  version: '7.0.15',
  appendonly: 'yes',
  appendfsync: 'always',
  eviction: 'noeviction',
  usedMemory: 1,
  maxMemory: 0,
  skewMs: 0,
  movingSlots: [],
  isOpen: false,
  hasPassword: true,
};
const DURABLE = {
  appendonly: 'yes',
  appendfsync: 'always',
  replicas: 0,
  minReplicas: 0,
  maxLagSeconds: 10,
  isCluster: false,
  nodeTimeoutMs: 15_000,
  isWatched: false,
};

test.each([
  ['no replica', {}, 'auto', 'ok', /no replica: nothing is lost/],
  ['a replica', { replicas: 1 }, 'auto', 'fail', /min-replicas-to-write is 0.*workers do not start/],
  ['a replica and a setting', { replicas: 1 }, 20_000, 'warn', /REDIS_MAY_LOSE is 20s, but min-replicas/],
  [
    'a needed replica',
    { replicas: 1, minReplicas: 1 },
    'auto',
    'ok',
    /the last 15s \(min-replicas-max-lag\)/,
  ],
  ['too short a setting', { minReplicas: 1 }, 2_000, 'warn', /REDIS_MAY_LOSE is 2s, but it may lose 15s/],
  ['more replicas than it needs', { replicas: 2, minReplicas: 1 }, 'auto', 'warn', /together with 1 of them/],
  ['hidden settings', { minReplicas: undefined }, 'auto', 'fail', /cannot be ruled out/],
  ['hidden settings and REDIS_MAY_LOSE', { minReplicas: undefined }, 0, 'ok', /REDIS_MAY_LOSE is 0/],
  [
    'a replica and REDIS_MAY_LOSE for a server without one',
    { minReplicas: undefined, replicas: 1 },
    0,
    'fail',
    /holds only without a replica.*workers do not send/,
  ],
] as const)(
  'The doctor explains what a failover of a Redis with %s may lose',
  (_, change, setting, level, found) => {
    const facts = { ...FACTS, durability: { ...DURABLE, ...change } };
    const check = checkRedis([facts], setting).find(({ name }) => name === 'Redis failover');
    expect(check).toMatchObject({ state: level, message: expect.stringMatching(found) });
  },
);

test.each([
  ['needs a password', { isOpen: false }, 'ok'],
  ['is open although Volley uses a password', { isOpen: true }, 'fail'],
  ['is open to all, Volley included', { isOpen: true, hasPassword: false }, 'warn'],
])('The doctor says whether the default user of Redis %s', (_, change, level) => {
  const facts = { ...FACTS, ...change, durability: DURABLE };
  expect(checkRedis([facts], 'auto').find(({ name }) => name === 'Redis default user')?.state).toBe(level);
});

test('The doctor fails where no certificate is checked', () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  expect(checkProtection(SAFE, env)).toMatchObject([{ state: 'fail', name: 'certificates' }]);
  expect(checkProtection(SAFE, { NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toEqual([]);
});

const KEY = {
  id: '0123456789ab',
  name: 'shop',
  state: 'active',
  expiresAt: null,
  needsPreviousKey: false,
} as const;
const SAFE = { redisUrl: 'redis://127.0.0.1:6379', allowInsecure: [], previousSecretsKey: undefined };
test.each([
  ['nothing', SAFE, [KEY], []],
  ['a remote Redis without TLS', { ...SAFE, redisUrl: 'redis://:p@redis.example' }, [], [/no TLS/]],
  ['a remote Redis with TLS', { ...SAFE, redisUrl: 'rediss://:p@redis.example' }, [], []],
  ['ALLOW_INSECURE', { ...SAFE, allowInsecure: ['redis', 'keys'] as const }, [], [/allows redis, keys/]],
  [
    'a key that does not work',
    SAFE,
    [{ ...KEY, state: 'invalid' }, KEY],
    [/do not work.*: 0123456789ab \(shop\)$/],
  ],
  [
    'a key that expires soon',
    SAFE,
    [{ ...KEY, expiresAt: new Date(NOON + 86_400_000).toISOString() }],
    [/14 days/],
  ],
  ['a previous SECRETS_KEY', { ...SAFE, previousSecretsKey: 'k' }, [KEY], [/no API key needs it/]],
  [
    'a previous SECRETS_KEY that is needed',
    { ...SAFE, previousSecretsKey: 'k' },
    [{ ...KEY, needsPreviousKey: true }],
    [/need it: 0123456789ab \(shop\)$/],
  ],
  ['a key that expires later', SAFE, [{ ...KEY, expiresAt: new Date(NOON + 9e9).toISOString() }], []],
] as const)('The doctor warns about what is unprotected: %s', (_, config, keys, found) => {
  const checks = [...checkProtection(config), ...checkKeys(keys, config, NOON)];
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

test('The doctor makes every check that its files define', () => {
  const folders = ['src/app/doctor', 'src/surfaces/cli/doctor'];
  const files = folders.flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`));
  const source = [...files, 'src/surfaces/cli/doctor.ts']
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
    .replaceAll(/^import .*?;$/gms, '');
  const defined = [...source.matchAll(/^export (?:async )?function (check\w+)/gm)].map(
    ([, name = '']) => name,
  );
  expect(defined.length).toBeGreaterThan(10);
  const unused = defined.filter((name) => (source.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length < 2);
  expect(unused).toEqual([]);
});

test('Doctor names the keys that may text any country, unless their lanes limit the countries', () => {
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
