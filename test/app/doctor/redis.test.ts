import { expect, test } from 'vitest';
import { checkRedis, checkReplay } from '../../../src/app/doctor/redis.js';

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

test.each([
  ['keeps everything', 'complete', 'ok', /has all rights/],
  ['may lose data', 'dropped', 'fail', /may lose data.*lacks them; workers do not start/],
  ['may lose data, if it refuses to say', 'refused', 'fail', /ACL DRYRUN/],
  ['may lose data, if it hides that', 'hidden', 'warn', /does not tell/],
] as const)('The doctor says whether a restart of Redis %s', (_, replay, level, found) => {
  const check = checkReplay(replay);
  expect(check).toMatchObject({ state: level, message: expect.stringMatching(found) });
  if (level !== 'ok') expect(check.advice).toContain('user default off resetpass ~* &* +@all');
});
