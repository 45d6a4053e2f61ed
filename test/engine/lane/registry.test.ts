import { expect, test } from 'vitest';
import { ConfigError, loadConfig, loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { openLanes } from '../../../src/engine/lane/lane-finder.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';

const { redis, prefix } = testRedis('registry');
const SERVICE = 'https://messaging.example';

/** One installation: what its processes share is Redis. */
function installation(run: string) {
  const own = `${prefix}-${run}`;
  const keys = keyNames(own);
  const open = (lanes: readonly object[], isFull: boolean, url: string) => {
    const environment = { MESSAGING_BASE_URL: url, LANES_FILE: 'lanes.json', REDIS_PREFIX: own };
    const options = { readFile: () => JSON.stringify(lanes) };
    const config = isFull ? loadConfig(environment, options) : loadLocalConfig(environment, options);
    return openLanes({
      redis,
      keys,
      config,
      events: createEvents({ level: 'silent' }),
      random: Math.random,
    });
  };
  return {
    keys,
    stored: async () => (await keysOf(redis, own)).sort(),
    /** A process with credentials. */
    process: (lanes: readonly object[], url = SERVICE) => open(lanes, true, url),
    /** A process that only uses Redis. */
    local: (...names: string[]) =>
      open(
        names.map((name) => ({ name, apiKeyEnv: 'NOT_SET' })),
        false,
        SERVICE,
      ),
  };
}

const keyed = (name: string, apiKey: string) => ({ name, apiKey });
const idsOf = async (finder: ReturnType<typeof openLanes>) =>
  [...(await finder.registered()).values()].map(({ name, id }) => [name, id]);

test('The first name of a lane becomes its id, in every process', async () => {
  const { process } = installation('first');
  expect(await idsOf(process([keyed('a', '1'), keyed('b', '2')]))).toEqual([
    ['a', 'a'],
    ['b', 'b'],
  ]);
  expect(await idsOf(process([keyed('b', '2')]))).toEqual([['b', 'b']]);
});

test('A second name for registered credentials is refused with the first name and what to do, and registers nothing', async () => {
  const { process, stored, keys } = installation('second');
  await process([keyed('default', 'k')]).registered();
  const before = [await stored(), await redis.hgetall(keys.registry.ids)];
  const renamed = process([keyed('other', 'x'), keyed('marketing', 'k')]);
  const error = await renamed.registered().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).problems).toEqual([
    'lane marketing has the credentials of lane default, and so its quota: if marketing is its new name, run `volley lane rename default marketing`; otherwise name it default again',
  ]);
  expect(await renamed.problems()).toEqual((error as ConfigError).problems);
  expect([await stored(), await redis.hgetall(keys.registry.ids)]).toEqual(before);
});

test('A rename lets the new name in and the old one out; the id stays, even when the lane is renamed back', async () => {
  const { process, local } = installation('rename');
  const [old, renamed] = [[keyed('default', 'k')], [keyed('marketing', 'k')]];
  const running = process(old);
  await running.registered();
  expect(await local('marketing').rename('default', 'marketing')).toEqual({ id: 'default' });
  expect(await idsOf(process(renamed))).toEqual([['marketing', 'default']]);
  // A process that runs keeps the name of its configuration.
  expect(await idsOf(running)).toEqual([['default', 'default']]);
  await expect(process(old).registered()).rejects.toThrow('volley lane rename marketing default');
  await local('x').rename('marketing', 'default');
  expect(await idsOf(process(old))).toEqual([['default', 'default']]);
  await expect(process(renamed).registered()).rejects.toThrow('volley lane rename default marketing');
});

test('A rename is refused if the lane is unknown, or its new name is invalid or taken', async () => {
  const { process, local } = installation('refused');
  const { rename } = local('a');
  await expect(rename('a', 'b')).rejects.toThrow('there is no lane a; no lane is registered yet');
  await process([keyed('a', '1'), keyed('b', '2')]).registered();
  await expect(rename('c', 'd')).rejects.toThrow('there is no lane c; the registered lanes are: a and b');
  await expect(rename('a', 'b')).rejects.toThrow('there is another lane named b');
  await expect(rename('a', 'a~2')).rejects.toThrow('"a~2" is not a name for a lane: it must be');
  expect(await rename('a', 'a')).toEqual({ id: 'a' });
});

test('A lane with new credentials keeps its id, and its old ones are refused under another name', async () => {
  const { process } = installation('rotated');
  await process([keyed('default', 'old')]).registered();
  expect(await idsOf(process([keyed('default', 'new')]))).toEqual([['default', 'default']]);
  for (const key of ['old', 'new']) {
    await expect(process([keyed('second', key)]).registered()).rejects.toThrow('credentials of lane default');
  }
});

test('A name that another lane has given up names a new lane, with an id of its own', async () => {
  const { process, local } = installation('freed');
  await process([keyed('default', '1')]).registered();
  await local('default').rename('default', 'marketing');
  const both = process([keyed('marketing', '1'), keyed('default', '2')]);
  expect(await idsOf(both)).toEqual([
    ['marketing', 'default'],
    ['default', 'default~2'],
  ]);
  // It keeps this id, and the third lane of that name gets another.
  await local('default').rename('default', 'sales');
  expect(await idsOf(process([keyed('default', '3'), keyed('sales', '2')]))).toEqual([
    ['default', 'default~3'],
    ['sales', 'default~2'],
  ]);
});

test('Lanes that have exchanged their credentials are refused', async () => {
  const { process } = installation('exchanged');
  await process([keyed('a', '1'), keyed('b', '2')]).registered();
  const error = await process([keyed('a', '2'), keyed('b', '1')])
    .registered()
    .catch((thrown: unknown) => thrown);
  expect((error as ConfigError).problems).toEqual([
    expect.stringMatching(/^lane a has the credentials of lane b, .* give lane a its own credentials again/),
    expect.stringMatching(/^lane b has the credentials of lane a, .* give lane b its own credentials again/),
  ]);
});

test('One key at two services has two ledgers', async () => {
  const { process } = installation('services');
  await process([keyed('here', 'k')]).registered();
  expect(await idsOf(process([keyed('there', 'k')], 'https://other.example/'))).toEqual([['there', 'there']]);
  await expect(process([keyed('third', 'k')], 'https://OTHER.example').registered()).rejects.toThrow(
    'credentials of lane there',
  );
});

test('An account is its user and target account, whatever the password', async () => {
  const { process } = installation('accounts');
  const account = (name: string, password: string, targetAccountId?: string) => ({
    name,
    account: { username: 'anna', password, ...(targetAccountId === undefined ? {} : { targetAccountId }) },
  });
  await process([account('own', 'one'), account('child', 'one', '7')]).registered();
  await expect(process([account('new', 'two')]).registered()).rejects.toThrow('credentials of lane own');
  await expect(process([account('new', 'two', '7')]).registered()).rejects.toThrow(
    'credentials of lane child',
  );
  expect(await idsOf(process([account('new', 'two', '8')]))).toEqual([['new', 'new']]);
});

test('Of processes that register one key under different names at once, the first decides', async () => {
  for (let run = 0; run < 10; run += 1) {
    const { process, keys } = installation(`race-${run}`);
    const names = ['a', 'b', 'c', 'd', 'e'];
    const results = await Promise.allSettled(names.map((name) => idsOf(process([keyed(name, 'k')]))));
    const [winner, ...others] = results.flatMap((result) =>
      result.status === 'fulfilled' ? result.value : [],
    );
    expect(others).toEqual([]);
    expect(await redis.hvals(keys.registry.credentials)).toEqual([winner?.[1]]);
    expect(await redis.hkeys(keys.registry.ids)).toEqual([winner?.[0]]);
  }
});

test('Finding lanes registers nothing, and stores neither a name nor a secret', async () => {
  const { process, stored } = installation('read');
  const finder = process([keyed('default', 'k')]);
  expect([...(await finder.configured()).keys()]).toEqual(['default']);
  expect(await finder.problems()).toEqual([]);
  expect(await finder.nameOf('default')).toBe('default');
  expect(await finder.idOf('default')).toBe('default');
  expect(await stored()).toEqual([]);
});

test('A lane that was found before another process registered it is found under its id afterwards', async () => {
  const { process, local } = installation('later');
  const reader = local('marketing');
  expect((await reader.configured()).get('marketing')?.id).toBe('marketing');
  await process([keyed('default', 'k')]).registered();
  await local('marketing').rename('default', 'marketing');
  await expect.poll(async () => (await reader.configured()).get('marketing')?.id).toBe('default');
});

test('A process without credentials registers a new lane, unless it may be a new name of one that it does not have', async () => {
  const { process, local } = installation('local');
  expect(await idsOf(local('a'))).toEqual([['a', 'a']]);
  await process([keyed('a', '1')]).registered();
  expect(await idsOf(local('a', 'b'))).toEqual([
    ['a', 'a'],
    ['b', 'b'],
  ]);
  await expect(local('c').registered()).rejects.toThrow(
    'lane c is not registered, but lane a is, and it is not configured here: if c is its new name, run `volley lane rename a c`',
  );
  // The workers know their credentials.
  expect(await idsOf(process([keyed('c', '3')]))).toEqual([['c', 'c']]);
});

test('A lane can be used although another one of the same configuration is refused', async () => {
  const { process, local } = installation('single');
  await process([keyed('a', '1'), keyed('b', '2')]).registered();
  const renamed = local('a', 'c');
  expect((await renamed.named('a')).id).toBe('a');
  await expect(renamed.named('c')).rejects.toThrow('volley lane rename b c');
  await expect(renamed.named('b')).rejects.toThrow('there is no lane b; the configured lanes are: a and c');
  const full = process([keyed('a', '1'), keyed('c', '2')]);
  expect((await full.registered('a')).get('a')?.id).toBe('a');
  await expect(full.registered('c')).rejects.toThrow('volley lane rename b c');
  await expect(full.registered()).rejects.toThrow('volley lane rename b c');
});

test('A lane that had campaigns before there was a registry can be renamed, and no other lane can take its name', async () => {
  const { process, local, keys } = installation('earlier');
  await redis.sadd(keys.lanes, 'default');
  await process([keyed('a', '1')]).registered();
  await expect(local('x').rename('a', 'default')).rejects.toThrow('there is another lane named default');
  await local('x').rename('default', 'marketing');
  expect(await idsOf(process([keyed('marketing', 'k')]))).toEqual([['marketing', 'default']]);
});

test('A process writes its lanes to the registry again after Redis has lost them', async () => {
  const { process, keys } = installation('lost');
  const running = process([keyed('default', 'k')]);
  await running.registered();
  const { names, ids, credentials, secret } = keys.registry;
  await redis.del(names, ids, credentials, secret);
  await running.restore();
  await expect(process([keyed('marketing', 'k')]).registered()).rejects.toThrow(
    'credentials of lane default',
  );
  expect(await idsOf(process([keyed('default', 'k')]))).toEqual([['default', 'default']]);
});

test('Redis stores no credentials, and every process uses the same secret', async () => {
  const { process, keys } = installation('secret');
  await Promise.all([1, 2, 3].map(() => process([keyed('default', 'the-api-key')]).registered()));
  expect(await redis.hlen(keys.registry.credentials)).toBe(1);
  const stored = JSON.stringify(await redis.hgetall(keys.registry.credentials));
  expect(stored).not.toContain('the-api-key');
});

test('A lane that is not configured goes by its alias, or by its id if this process has a lane of that name', async () => {
  const { process, local } = installation('names');
  const old = process([keyed('default', '1')]);
  await old.registered();
  const reader = local('else');
  expect(await reader.nameOf('default')).toBe('default');
  await reader.rename('default', 'marketing');
  expect(await reader.nameOf('default')).toBe('marketing');
  expect(await reader.idOf('marketing')).toBe('default');
  expect((await reader.withId('default')).name).toBe('marketing');
  await process([keyed('default', '2')]).registered();
  // This process still calls the first lane `default`.
  expect([await old.nameOf('default'), await old.nameOf('default~2')]).toEqual(['default', 'default~2']);
});
