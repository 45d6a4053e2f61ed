import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import {
  assessLoss,
  assessStated,
  type DurabilityFacts,
  watchDurability,
} from '../../../src/base/redis/durability.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { createEvents, createVolley, InputError, loadConfig } from '../../../src/index.js';
import { laneFixture } from '../../engine/lane/lane-fixture.js';
import { SOON } from '../soon.js';

const UNBOUNDED = Number.POSITIVE_INFINITY;
const SINGLE: DurabilityFacts = {
  appendonly: 'yes',
  appendfsync: 'always',
  replicas: 0,
  minReplicas: 0,
  maxLagSeconds: 10,
  isCluster: false,
  nodeTimeoutMs: 15_000,
  isWatched: false,
};
const NODE: DurabilityFacts = { ...SINGLE, isCluster: true };

test.each([
  ['one server that writes before it answers', SINGLE, 0, UNBOUNDED],
  ['one server that writes once a second', { ...SINGLE, appendfsync: 'everysec' }, 2_000, UNBOUNDED],
  ['one server without an append-only file', { ...SINGLE, appendonly: 'no' }, 2_000, UNBOUNDED],
  ['a replica', { ...SINGLE, replicas: 1 }, UNBOUNDED, UNBOUNDED],
  ['a replica that the server needs', { ...SINGLE, replicas: 1, minReplicas: 1 }, 15_000, 15_000],
  ['a needed replica that is not connected', { ...SINGLE, minReplicas: 1 }, 15_000, 15_000],
  [
    'a needed replica of any age',
    { ...SINGLE, replicas: 1, minReplicas: 1, maxLagSeconds: 0 },
    UNBOUNDED,
    UNBOUNDED,
  ],
  [
    'a needed replica of up to a minute',
    { ...SINGLE, minReplicas: 1, maxLagSeconds: 60 },
    UNBOUNDED,
    UNBOUNDED,
  ],
  ['a server that Sentinel watches', { ...SINGLE, isWatched: true }, UNBOUNDED, UNBOUNDED],
  ['a cluster without replicas', NODE, 0, 27_500],
  ['a cluster with replicas', { ...NODE, replicas: 1 }, 27_500, 27_500],
  [
    'a cluster that notices a failure late',
    { ...NODE, replicas: 1, nodeTimeoutMs: 60_000 },
    UNBOUNDED,
    UNBOUNDED,
  ],
  ['a server that forbids CONFIG', { ...SINGLE, minReplicas: undefined }, UNBOUNDED, UNBOUNDED],
  ['a server that does not show its replicas', { ...SINGLE, replicas: undefined }, UNBOUNDED, UNBOUNDED],
  ['a cluster that hides its timeout', { ...NODE, nodeTimeoutMs: undefined }, UNBOUNDED, UNBOUNDED],
])('The data loss of %s is known, or known to be unbounded', (_, facts, ms, withReplicaMs) => {
  expect(assessLoss(facts)).toMatchObject({ ms, withReplicaMs });
});

test.each([
  ['a file', 0, { replicas: 0 }, 0, UNBOUNDED],
  ['a file, with a replica', 2_000, { replicas: 1 }, UNBOUNDED, UNBOUNDED],
  ['a file, with Sentinel', 0, { isWatched: true }, UNBOUNDED, UNBOUNDED],
  ['a file, where the server hides its replicas', 0, { replicas: undefined }, UNBOUNDED, UNBOUNDED],
  ['a failover', 3_000, { replicas: 1 }, 3_000, 3_000],
] as const)('REDIS_MAY_LOSE for %s holds, or is no bound', (_, stated, change, ms, withReplicaMs) => {
  expect(assessStated({ ...SINGLE, ...change }, stated)).toMatchObject({ ms, withReplicaMs });
});

describe.runIf((await findServer()) !== undefined)('a server of its own', async () => {
  async function started(...settings: string[]) {
    const server = await startPrivateRedis({
      appendfsync: 'always',
      password: 'secret',
      settings,
    });
    onTestFinished(() => server.stop());
    const redis = new Redis(server.url);
    redis.on('error', () => {});
    onTestFinished(() => redis.disconnect());
    return { ...server, redis };
  }

  /** Starts a replica, and waits until the server shows it. */
  async function replicaOf({ port, redis }: Awaited<ReturnType<typeof started>>) {
    const replica = await started(`replicaof 127.0.0.1 ${port}`, 'masterauth secret');
    await vi.waitUntil(async () => (await redis.info('replication')).includes('connected_slaves:1'), SOON);
    return replica;
  }

  async function found(url: string) {
    const redis = connect(url);
    const durability = watchDurability(redis);
    onTestFinished(() => {
      durability.stop();
      redis.disconnect();
    });
    return { why: await durability.unbounded, mayLose: durability.mayLose };
  }

  test('Its settings are read, with and without a replica', async () => {
    const server = await started();
    expect(await found(server.url)).toEqual({
      why: undefined,
      mayLose: { ms: 0, withReplicaMs: UNBOUNDED, why: 'no replica' },
    });
    await replicaOf(server);
    expect((await found(server.url)).why).toContain('min-replicas-to-write is 0');
    await server.redis.config('SET', 'min-replicas-to-write', '1');
    await server.redis.config('SET', 'min-replicas-max-lag', '7');
    expect(await found(server.url)).toMatchObject({ why: undefined, mayLose: { ms: 12_000 } });
  });

  test('If it forbids CONFIG, replicas cannot be ruled out', async () => {
    const server = await started();
    await server.redis.call('ACL', 'SETUSER', 'guest', 'on', '>guest', 'allkeys', '+@all', '-config');
    const url = server.url.replace(':secret@', 'guest:guest@');
    expect((await found(url)).why).toContain('cannot be ruled out');
  });

  test('Before it answers, nothing bounds the loss, but nothing is refused either', async () => {
    const server = await started();
    await server.kill();
    expect(await found(server.url)).toEqual({
      why: undefined,
      mayLose: { ms: UNBOUNDED, withReplicaMs: UNBOUNDED },
    });
  });

  test.each([
    ['refuse to start if nothing bounds what its replica lacks', 'auto', false],
    ['start if REDIS_MAY_LOSE says how much it may lose', '20s', true],
    ['refuse to start with a replica if REDIS_MAY_LOSE holds only without one', '0s', false],
  ])('Workers %s', async (_, mayLose, starts) => {
    const server = await started();
    await replicaOf(server);
    const config = loadConfig({
      MESSAGING_BASE_URL: 'https://messaging.example',
      API_KEY: 'key',
      HOURLY_QUOTA: '100',
      REDIS_URL: server.url,
      REDIS_MAY_LOSE: mayLose,
    });
    const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
    onTestFinished(() => volley.close());
    const { ready, drain } = volley.work();
    const outcome = await ready.then(
      () => 'ready',
      (error: unknown) => error,
    );
    await drain();
    if (starts) expect(outcome).toBe('ready');
    else {
      expect(outcome).toBeInstanceOf(InputError);
      expect(String(outcome)).toMatch(
        mayLose === 'auto' ? /min-replicas-to-write is 0.*set REDIS_MAY_LOSE/ : /only without a replica/,
      );
    }
  });

  test('A replica that appears stops a lane at once if nothing bounds the loss, and is not forgotten when it is cut off', async () => {
    const server = await started();
    const lane = laneFixture(server.redis, 'appears', 'default');
    await lane.campaign('c', 9);
    let turns = 0;
    const claim = (withReplicaMs: number) => {
      turns += 1;
      return lane.claims.send({
        turn: `t${turns}`,
        call: 1,
        want: 1,
        process: 'p',
        mayLoseMs: 0,
        withReplicaMs,
      });
    };
    expect((await claim(-1)).claims).toHaveLength(1);
    const replica = await replicaOf(server);
    expect(await claim(-1)).toMatchObject({ claims: [], why: 'unbounded', events: [{ type: 'unbounded' }] });
    expect(await claim(-1)).toMatchObject({ claims: [], why: 'unbounded', events: [] });
    expect((await lane.views.look()).closed).toMatchObject([{ cause: 'unbounded' }]);
    await replica.kill();
    await vi.waitUntil(
      async () => (await server.redis.info('replication')).includes('connected_slaves:0'),
      SOON,
    );
    expect((await claim(-1)).why).toBe('unbounded');
    // Once the loss is bounded, everything that was claimed before must be older than it.
    const bounded = await claim(12_000);
    expect(bounded).toMatchObject({ claims: [], why: 'joining' });
    expect(bounded.againInMs).toBeGreaterThan(11_000);
    expect((await lane.views.look()).closed).toMatchObject([{ cause: 'joining' }]);
    expect((await claim(0)).claims).toHaveLength(0);
    await server.redis.hset(lane.keys.lane('default', 'lane'), 'closed', '');
    expect((await claim(0)).claims).toHaveLength(1);
  });
});
