import { Redis } from 'ioredis';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkRedis } from '../../../src/app/doctor/redis.js';
import { redisFacts } from '../../../src/app/doctor/redis-facts.js';
import { connect } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { loadScript } from '../../../src/base/redis/script.js';
import { isSlotMoving, isUnavailable } from '../../../src/base/redis/unavailable.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { recipients } from '../../end-to-end/recipients.js';
import { finished, launch, startedFleet } from '../../end-to-end/started.js';
import { outboxFixture } from '../../intake/outbox/outbox-fixture.js';
import { startCluster } from './servers/cluster.js';
import { keysOf } from './test-redis.js';

const isServerHere = (await findServer()) !== undefined;
const PREFIX = 'cluster';
const keys = keyNames(PREFIX);
const ACCOUNT = { username: 'anna', password: 'right' };
const SUPPRESSED = '+46700000002';
const EACH = 300;

describe.runIf(isServerHere)('on a cluster of three nodes', async () => {
  const cluster = await startCluster({ appendfsync: 'always' });
  afterAll(() => cluster.stop());
  const redis = connect(cluster.url);
  afterAll(() => redis.disconnect());
  /** A lane on each node. */
  const names = await Promise.all([0, 1, 2].map((node) => laneOn(node)));

  test('campaigns of lanes on all nodes are imported, sent, followed up, controlled, reported, and removed', async () => {
    const [first = '', second = '', third = ''] = names;
    const fleet = await startedFleet({
      redisUrl: cluster.url,
      prefix: PREFIX,
      workers: ['send', 'follow-up'],
      lanes: [
        { name: first, apiKey: 'key-1', hourlyQuota: 100_000, maxRecipientsPerRequest: 20 },
        { name: second, apiKey: 'key-2', hourlyQuota: 100_000, maxRecipientsPerRequest: 20 },
        { name: third, account: ACCOUNT, hourlyQuota: 100_000, maxRecipientsPerRequest: 20 },
      ],
      simulator: {
        keys: [{ key: 'key-1' }, { key: 'key-2' }, { account: ACCOUNT.username }],
        accounts: [ACCOUNT],
        deliveryTime: 100,
        magicRecipients: 'off',
      },
    });
    const { volley, simulator } = fleet;
    expect(await volley.suppression.add([SUPPRESSED])).toMatchObject({ numberCount: 1 });
    const campaign = (lane: string) => ({
      lane,
      recipients: recipients(EACH),
      message: `Sale on ${lane}`,
      idempotencyKey: lane,
    });
    const ids = await Promise.all(names.map((lane) => launch(fleet, campaign(lane))));
    const again = await Promise.all(names.map((lane) => volley.enqueue(campaign(lane))));
    expect(again).toMatchObject(ids.map((id) => ({ outcome: 'existing', id })));

    const later = await launch(fleet, {
      ...campaign(first),
      message: 'Later',
      idempotencyKey: 'later',
      sendAt: Date.now() + 3_600_000,
    });
    await volley.pause(later);
    await volley.resume(later);
    expect(await volley.cancel(later)).toEqual({ inFlight: 0, cancelled: EACH - 1 });
    await volley.holdLane(second);
    await volley.resumeLane(second);

    const final = await Promise.all(ids.map((id) => finished(volley, id, 30_000)));
    expect(
      final.map(({ state, counts: { deliveredToTerminal, suppressed } }) => ({
        state,
        deliveredToTerminal,
        suppressed,
      })),
    ).toEqual(ids.map(() => ({ state: 'completed', deliveredToTerminal: EACH - 1, suppressed: 1 })));

    const completed = new Set<string>();
    for await (const item of volley.follow({ after: '0-0', signal: AbortSignal.timeout(10_000) })) {
      if (item.kind === 'event' && item.event.type === 'campaign.completed')
        completed.add(item.event.campaign);
      if (completed.size === ids.length) break;
    }
    expect([...completed].sort()).toEqual([...ids].sort());
    const { key, ...made } = await volley.keys.create({ name: 'a test', scopes: ['read'], lanes: [third] });
    expect(await volley.keys.check(key)).toEqual(made);
    await volley.keys.revoke(made.id);
    expect(await volley.keys.check(key)).toBeNull();
    const summary = await simulator.summary();
    expect(summary).toMatchObject({ recipients: 3 * (EACH - 1), duplicates: 0, logins: 1 });

    for (const id of ids) expect((await all(volley.report(id))).length).toBe(EACH);
    expect((await all(volley.find(SUPPRESSED))).map(({ campaign: of }) => of).sort()).toEqual(
      [...ids, later].sort(),
    );
    expect((await volley.list()).map(({ id }) => id).sort()).toEqual([...ids, later].sort());
    expect((await volley.lanes()).map(({ state }) => state)).toEqual(['open', 'open', 'open']);

    for (const [at, lane] of [...names.entries(), [3, first] as const]) {
      await removeCampaign(redis, keys, lane, [...ids, later][at] ?? '');
    }
    expect((await keysOf(redis, PREFIX)).filter((key) => key.includes('campaign:'))).toEqual([]);
    expect(await redis.zcard(keys.campaigns)).toBe(0);
  });

  test('a command in flight when a connection breaks is rejected and never resent', async () => {
    const [node] = cluster.nodes;
    const operator = new Redis(node?.url ?? '');
    onTestFinished(() => operator.disconnect());
    const counter = await nameOn(0, (number) => `counter-${number}`);
    await redis.set(counter, '0');
    // Longer than this test takes on a busy machine: the command must not run before its connection is broken.
    await operator.client('PAUSE', 60_000, 'WRITE');
    const increment = redis.incr(counter);
    increment.catch(() => {});
    const [, client = ''] = await vi.waitUntil(
      async () => /^id=(\d+) .*cmd=incr /m.exec(String(await operator.client('LIST'))),
      15_000,
    );
    await operator.client('KILL', 'ID', client);
    await expect(increment).rejects.toThrow('Connection is closed');
    await operator.client('UNPAUSE');
    expect(await vi.waitUntil(() => redis.get(counter).catch(() => null), 15_000)).toBe('0');
  });

  test('every command to an unreachable cluster is rejected', async () => {
    const nowhere = connect('redis+cluster://127.0.0.1:1,127.0.0.1:2');
    onTestFinished(() => nowhere.disconnect());
    await expect(nowhere.set('key', '1')).rejects.toThrow('no node of the cluster can be reached');
    await expect(nowhere.set('key', '2')).rejects.toThrow('no node of the cluster can be reached');
  });

  test('a script with keys in several slots is rejected before it is sent, on any server', async () => {
    const script = loadScript(
      import.meta.url,
      '../../../src/engine/recipients/pass-reservation.lua',
      () => undefined,
    );
    const twoLanes = { reservation: keys.lane('one', 'lane'), former: keys.lane('two', 'lane') };
    await expect(script.run(redis, twoLanes, { holder: '', held: 0 })).rejects.toThrow(
      'pass-reservation.lua: its keys lie in different hash slots: {cluster:one}:lane, {cluster:two}:lane',
    );
  });

  test('a reshard that stops halfway is reported once and by the doctor, and the lane goes on when it is finished', {
    timeout: 120_000,
  }, async () => {
    const [lane = ''] = names;
    const key = keys.lane(lane, 'lane');
    const fleet = await startedFleet({
      redisUrl: cluster.url,
      prefix: PREFIX,
      workers: ['all', 'all'],
      lanes: [{ name: lane, apiKey: 'key-1', hourlyQuota: 100_000 }],
      simulator: { keys: [{ key: 'key-1' }], latency: 50, deliveryTime: 100 },
    });
    const { volley, simulator } = fleet;
    const id = await launch(fleet, { lane, recipients: recipients(EACH, 5_000), message: 'Moved' });
    await vi.waitUntil(async () => (await simulator.summary()).recipients > EACH / 10, { timeout: 20_000 });
    const finish = await cluster.moveSlotHalfway(key);
    await vi.waitUntil(() => fleet.logged('redis.reshardUnfinished').length > 0, { timeout: 30_000 });
    await expect(volley.status(id)).rejects.toThrow('finish the reshard with redis-cli --cluster fix');
    const unfinished = checkRedis(await redisFacts(redis, Date.now), 'auto').find(
      ({ name }) => name === 'Redis reshard',
    );
    expect(unfinished).toMatchObject({ state: 'warn', message: expect.stringContaining('is on its way') });
    await finish();
    const final = await finished(volley, id, 20_000);
    expect(final.counts).toMatchObject({ deliveredToTerminal: EACH, unknown: 0 });
    expect(fleet.logged('redis.reshardUnfinished')).toHaveLength(1);
    expect(fleet.logged('sweep.failed')).toEqual([]);
    expect((await simulator.summary()).duplicates).toBe(0);
    expect(checkRedis(await redisFacts(redis, Date.now), 'auto').map(({ state }) => state)).not.toContain(
      'fail',
    );
  });

  test('doctor checks every node and names the one that may lose acknowledged writes', async () => {
    expect(checkRedis(await redisFacts(redis, Date.now), 'auto').map(({ state }) => state)).not.toContain(
      'fail',
    );
    const { url = '', port } = cluster.nodes[2] ?? {};
    const operator = new Redis(url);
    onTestFinished(() => operator.disconnect());
    await operator.config('SET', 'appendfsync', 'everysec');
    const checks = checkRedis(await redisFacts(redis, Date.now), 'auto').filter(
      ({ name }) => name === 'Redis fsync',
    );
    await operator.config('SET', 'appendfsync', 'always');
    expect(checks).toMatchObject([
      { state: 'warn', message: expect.stringContaining(`127.0.0.1:${port}: everysec`) },
    ]);
  });

  test('a script stops before it has changed anything of an outbox while the slot of its lane moves', async () => {
    const own = await outboxFixture(redis, PREFIX);
    const ofLane = (name: string) => keys.lane(own.laneId, name);
    await own.put('a');
    // Every key that the caller names is on the node, but not the last one that the script uses.
    await redis.hset(ofLane('keyBytes'), 'none', 0);
    await own.leaveAlone();
    const finish = await cluster.moveSlotHalfway(ofLane('lane'), 0);
    const error = await own.put('b').catch((error: unknown) => error);
    expect(error).toMatchObject({ message: expect.stringContaining('non local key') });
    expect([isUnavailable(error), isSlotMoving(error)]).toEqual([true, true]);
    expect(await own.storedMessages()).toEqual({ messages: 1, due: 1 });
    await finish();
    expect(await own.put('b')).toMatchObject({ outcome: 'created' });
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, stored: 2 });
  });

  /** A lane whose keys are on that node. */
  async function laneOn(node: number): Promise<string> {
    const key = await nameOn(node, (number) => keys.lane(`lane-${number}`, 'states'));
    return /:(lane-\d+)}/.exec(key)?.[1] ?? '';
  }

  async function nameOn(node: number, name: (number: number) => string): Promise<string> {
    for (let number = 1; ; number++) if ((await cluster.nodeOf(name(number))) === node) return name(number);
  }
});

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
