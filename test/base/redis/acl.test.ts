import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { redisFacts } from '../../../src/app/doctor/redis-facts.js';
import { createVolley } from '../../../src/app/runtime.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { parseDuration } from '../../../src/base/duration.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { connect } from '../../../src/base/redis/connection.js';
import { assessStated } from '../../../src/base/redis/durability.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { type PrivateRedis, startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { fileRemains, fileRewriter } from '../../../src/engine/recovery/rewrite-file.js';
import { startSimulator } from '../../../src/tools/simulator/index.js';
import { SOON } from '../soon.js';
import { startCluster } from './servers/cluster.js';
import { startSentinel } from './servers/sentinel.js';

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const PASSWORD = 'a-password-for-the-test';
/** No server dies here, however long it waits for a turn on a busy machine. */
const LIVE_MS = 60_000;
/** The doctor asks for the settings where it may, and says so where it may not. */
const BY_DOCTOR = /^command config\|get /;

/** The line of docs/redis.acl for Volley. */
async function ruleOfVolley(): Promise<string> {
  const file = await readFile(new URL('../../../docs/redis.acl', import.meta.url), 'utf8');
  return file.split('\n').find((line) => line.startsWith('user volley ')) ?? '';
}

/** A URL with the user of docs/redis.acl on these servers. `refused` lists what they have refused since: `user command key`. */
async function restricted(servers: readonly PrivateRedis[], urlFor: (user: string) => string) {
  const [, name = '', ...rules] = (await ruleOfVolley()).replace('CHANGE-ME', PASSWORD).split(' ');
  const admins = servers.map(({ url }) => connect(url));
  onTestFinished(() => {
    for (const admin of admins) admin.disconnect();
  });
  for (const admin of admins) await admin.call('ACL', 'SETUSER', name, ...rules);
  return {
    url: urlFor(`${name}:${PASSWORD}`),
    async refused(): Promise<string[]> {
      const logs = await Promise.all(admins.map((admin) => admin.call('ACL', 'LOG')));
      return (logs as unknown[][][]).flat().map((entry) => {
        const fields = new Map(
          entry.flatMap((value, at) => (at % 2 === 0 ? [[String(value), String(entry[at + 1])]] : [])),
        );
        return `${fields.get('reason')} ${fields.get('object')} ${fields.get('context')}`;
      });
    },
  };
}

const LIBRARY = "#!lua name=other\nredis.register_function('f', function() return 1 end)";

/** Uses all of Volley on this Redis. Returns the events of failures. */
async function useEverything(url: string, mayLose = '0s'): Promise<VolleyEvent[]> {
  const simulator = await startSimulator({
    keys: [{ key: 'k' }],
    accounts: [{ username: 'ann', password: 'pw' }],
    deliveryTime: 20,
  });
  const { messagingBaseUrl, accountBaseUrl } = simulator;
  const environment = {
    REDIS_URL: url,
    ACCOUNT_USERNAME: 'ann',
    ACCOUNT_PASSWORD: 'pw',
    FOLLOW_UP_FIRST_MS: '100',
    // Its user cannot read the settings of the server.
    REDIS_MAY_LOSE: mayLose,
  };
  const config = loadConfig(
    { ...environment, LOG_LEVEL: 'silent' },
    { simulator: { messagingBaseUrl, accountBaseUrl } },
  );
  const events = createEvents({ level: 'silent' });
  const emitted: VolleyEvent[] = [];
  events.onAny((event) => emitted.push(event));
  const volley = createVolley({ config, events });
  const follower = new AbortController();
  const followed: string[] = [];
  const following = (async () => {
    for await (const item of volley.follow({ signal: follower.signal })) followed.push(item.kind);
  })();
  const workers = volley.work();
  await workers.ready;
  const recipients = Array.from({ length: 20 }, (_, at) => ({
    to: `+44770090${1000 + at}`,
    name: `No. ${at}`,
  }));
  await volley.suppression.add([recipients[3]?.to ?? '']);
  const input = { recipients, message: 'Hi {{name}}', sender: 'ACME', idempotencyKey: 'a-key' };
  await volley.preview(input);
  const outcome = await volley.enqueue(input);
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  expect(await volley.finished(outcome.id)).toMatchObject({ state: 'completed' });
  expect(await volley.enqueue(input)).toMatchObject({ outcome: 'existing', id: outcome.id });
  const later = await volley.enqueue({ ...input, idempotencyKey: 'another', sendAt: Date.now() + 60_000 });
  if (later.outcome !== 'created') throw new Error(later.outcome);
  await volley.pause(later.id);
  await volley.resume(later.id);
  await volley.cancel(later.id);
  await volley.resolve(outcome.id, { as: 'abandon' });
  await volley.holdLane('default');
  await volley.resumeLane('default');
  expect((await allOf(volley.report(outcome.id))).length).toBe(20);
  expect((await allOf(volley.find('+447700901000'))).length).toBeGreaterThan(0);
  await volley.list();
  await volley.lanes();
  await volley.unconfiguredLanes();
  await volley.fleetSnapshot();
  expect(await volley.workers()).toHaveLength(1);
  const { id, key } = await volley.keys.create({ name: 'a test', scopes: ['read'] });
  expect(await volley.keys.check(key)).toMatchObject({ id });
  await volley.keys.list();
  await volley.keys.revoke(id);
  expect(await allOf(volley.suppression.list())).toHaveLength(1);
  await volley.renameLane('default', 'renamed');
  await vi.waitUntil(() => followed.length > 3, SOON);

  const redis = connect(url);
  const keys = keyNames(config.redisPrefix);
  const [facts] = await redisFacts(redis, Date.now);
  const lossMs = parseDuration(mayLose) ?? 0;
  expect(facts && assessStated(facts.durability, lossMs)).toMatchObject({ ms: lossMs });
  follower.abort();
  await following;
  await volley.close();
  await simulator.close();

  await removeCampaign(redis, keys, 'default', outcome.id);
  const step = fileRewriter({ redis, keys, events });
  await vi.waitUntil(async () => {
    await step();
    return (await fileRemains(redis, keys)).removals === 0;
  }, SOON);
  redis.disconnect();
  return emitted.filter(({ type }) => /failed|refused/i.test(type));
}

describe.runIf((await findServer()) !== undefined)('docs/redis.acl', () => {
  let server: PrivateRedis;

  beforeAll(async () => {
    server = await startPrivateRedis({ appendfsync: 'always' });
  });
  afterAll(async () => {
    await server.stop();
  });
  const user = () => restricted([server], (name) => `redis://${name}@127.0.0.1:${server.port}`);

  test('allows everything that Volley does', async () => {
    const { url, refused } = await user();
    expect(await useEverything(url)).toEqual([]);
    expect((await refused()).filter((each) => !BY_DOCTOR.test(each))).toEqual([]);
  });

  test('allows it on a cluster, too, also while a slot moves', async () => {
    const cluster = await startCluster({ appendfsync: 'always', deadAfterMs: LIVE_MS });
    onTestFinished(() => cluster.stop());
    const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const { url, refused } = await restricted(cluster.nodes, (name) => `redis+cluster://${name}@${hosts}`);
    expect(await useEverything(url)).toEqual([]);
    // With a key on each side, so that the client must follow ASK.
    const redis = connect(url);
    onTestFinished(() => redis.disconnect());
    const [one, two] = ['volley:{moved}1', 'volley:{moved}2'];
    await Promise.all([redis.set(one, '1'), redis.set(two, '2')]);
    const rest = await cluster.moveSlotHalfway(one);
    expect(await Promise.all([redis.get(one), redis.get(two)])).toEqual(['1', '2']);
    await rest();
    expect((await refused()).filter((each) => !BY_DOCTOR.test(each))).toEqual([]);
  });

  test('allows it behind Sentinel, too', async () => {
    const rule = (await ruleOfVolley()).replace('CHANGE-ME', PASSWORD);
    const sentinel = await startSentinel({ sentinels: 1, deadAfterMs: LIVE_MS, settings: [rule] });
    onTestFinished(() => sentinel.stop());
    const url = sentinel.url.replace(/\/\/.*@/, `//volley:${PASSWORD}@`);
    expect(await useEverything(url, '3s')).toEqual([]);
  });

  test.each([
    ['the key of another program', ['GET', 'other:key']],
    ['the key of another installation', ['GET', 'volley2:apiKeys']],
    ['the names of all keys', ['SCAN', '0']],
    ['KEYS', ['KEYS', '*']],
    ['the settings, which contain the password of the server', ['CONFIG', 'GET', 'requirepass']],
    ['a function, which reaches the keys of others', ['FUNCTION', 'LOAD', 'REPLACE', LIBRARY]],
    ['a call of a function', ['FCALL', 'f', '0']],
    ['a change of settings', ['CONFIG', 'SET', 'appendonly', 'no']],
    ['FLUSHALL', ['FLUSHALL']],
    ['SHUTDOWN', ['SHUTDOWN']],
    ['other users', ['ACL', 'LIST']],
    ['the commands of others', ['MONITOR']],
    ['a replica', ['REPLICAOF', 'NO', 'ONE']],
    ['another key in a script', ['EVAL', "return redis.call('GET', 'other:key')", '0']],
  ])('refuses %s', async (_, [command = '', ...args]) => {
    const redis = connect((await user()).url);
    try {
      await expect(redis.call(command, ...args)).rejects.toThrow(/NOPERM|permission|can't access/i);
    } finally {
      redis.disconnect();
    }
  });
});
