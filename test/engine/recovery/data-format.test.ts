import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { systemMachine } from '../../../src/base/clock.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { serverTime } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { dataFormat } from '../../../src/engine/recovery/data-format.js';
import { DATA_FORMAT, heartbeats } from '../../../src/engine/recovery/heartbeats.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis, url } = testRedis('data-format');
const CAMPAIGN = { message: 'Sale', recipients: [{ to: '+447700900123' }] };

function installation(name: string) {
  const keys = keyNames(`${prefix}-${name}`);
  const config = loadConfig({
    REDIS_URL: url,
    REDIS_PREFIX: `${prefix}-${name}`,
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    API_KEY: 'k',
    SENDER_ADDRESS: '12345',
    LOG_LEVEL: 'silent',
  });
  const volley = createVolley({ config });
  onTestFinished(() => volley.close());
  /** A worker of another version, as its heartbeat shows it. */
  const worker = async (format?: number): Promise<string> => {
    const me = { id: 'other', roles: ['send'], since: '', host: 'b', pid: 7, ...(format && { format }) };
    const entry = JSON.stringify(me);
    await redis.zadd(keys.workers, await serverTime(redis), entry);
    return entry;
  };
  return { keys, volley, worker };
}

test('While workers of an earlier version run, nothing is sent or suppressed', async () => {
  const { keys, volley, worker } = installation('earlier');
  const entry = await worker();
  const earlier = { name: 'OtherFormatError', message: expect.stringContaining('earlier version run (b 7)') };
  await expect(volley.enqueue(CAMPAIGN)).rejects.toMatchObject(earlier);
  await expect(volley.suppression.add(['+447700900123'])).rejects.toMatchObject(earlier);
  expect(await volley.list()).toEqual([]);

  await redis.zrem(keys.workers, entry);
  expect(await volley.enqueue(CAMPAIGN)).toMatchObject({ outcome: 'created' });
});

test('A database that the server does not have is an error, and nothing is read from database 0 or stored there', async () => {
  const { volley } = installation('no-database');
  const settings = { redisPrefix: `${prefix}-no-database`, lanes: [{ name: 'default', apiKey: 'k' }] };
  await volley.enqueue(CAMPAIGN);
  const messagingBaseUrl = 'http://127.0.0.1:9';
  const other = createVolley({ redis: `${url}/9999`, messagingBaseUrl, logLevel: 'silent', ...settings });
  onTestFinished(() => other.close());
  const refused = { code: 'unavailable', message: expect.stringContaining('Redis refuses database 9999') };
  await expect(other.list()).rejects.toMatchObject(refused);
  await expect(other.enqueue({ ...CAMPAIGN, message: 'Other' })).rejects.toMatchObject(refused);
  expect(await volley.list()).toHaveLength(1);
});

test('A process of an earlier version than the workers sends nothing', async () => {
  const { volley, worker } = installation('later');
  await worker(DATA_FORMAT + 1);
  await expect(volley.enqueue(CAMPAIGN)).rejects.toThrow('later version run (b 7)');
});

test('A worker waits for those of an earlier version, and starts only after they have ended', async () => {
  const { keys, worker } = installation('waits');
  const entry = await worker();
  let [time, looks] = [0, 0];
  const beats = heartbeats(redis, keys, Date.now);
  const format = (endsAfter: number) =>
    dataFormat({
      redis,
      keys,
      heartbeats: {
        async alive() {
          looks += 1;
          if (looks === endsAfter) await redis.zrem(keys.workers, entry);
          return beats.alive();
        },
      },
      machine: {
        monotonic: () => time,
        alarm(ms, run) {
          time += ms;
          setImmediate(run);
          return () => {};
        },
      },
    });
  await expect(format(Number.POSITIVE_INFINITY).waitForOthers()).rejects.toThrow('stop them first');
  expect(time).toBeGreaterThan(10_000);
  looks = 0;
  await expect(format(3).waitForOthers()).resolves.toBeUndefined();
  expect(looks).toBe(3);
});

test('The first call in an empty Redis stores the format, and others that find it may go on', async () => {
  const { keys, volley } = installation('empty');
  expect(await redis.get(keys.format)).toBeNull();
  expect(await volley.list()).toEqual([]);
  expect(await redis.get(keys.format)).toBe(String(DATA_FORMAT));
  expect(await volley.enqueue(CAMPAIGN)).toMatchObject({ outcome: 'created' });
});

test.each([
  ['no format', null, 'an earlier version of Volley has stored the data in Redis (no format,'],
  [
    'an earlier format',
    DATA_FORMAT - 1,
    `an earlier version of Volley has stored the data in Redis (format ${DATA_FORMAT - 1},`,
  ],
  [
    'a later format',
    DATA_FORMAT + 1,
    `a later version of Volley has stored the data in Redis (format ${DATA_FORMAT + 1},`,
  ],
])(
  'Data of %s is refused by every call and by workers, and doctor says so',
  async (name, format, message) => {
    const { keys, volley } = installation(name.replaceAll(' ', '-'));
    await redis.zadd(keys.campaigns, 0, 'mwrwtvlrlfo07 default');
    if (format !== null) await redis.set(keys.format, format);
    const refused = { name: 'OtherFormatError', message: expect.stringContaining(message) };
    await expect(volley.list()).rejects.toMatchObject(refused);
    await expect(volley.enqueue(CAMPAIGN)).rejects.toMatchObject(refused);
    await expect(volley.suppression.add(['+447700900123'])).rejects.toMatchObject(refused);
    await expect(volley.follow()[Symbol.asyncIterator]().next()).rejects.toMatchObject(refused);
    await expect(volley.work().ready).rejects.toMatchObject(refused);
    const checks = [];
    for await (const check of volley.examine()) checks.push(check);
    expect(checks.at(-1)).toMatchObject({ code: 'dataFormat', state: 'fail', message: refused.message });
    expect(await redis.get(keys.format)).toBe(format === null ? null : String(format));
  },
);

test('After someone has emptied Redis, a worker stores the format again', async () => {
  const { keys } = installation('emptied');
  const stop = heartbeats(redis, keys, Date.now).start('w', ['send'], { settings: {}, lacks: [] });
  await expect.poll(() => redis.get(keys.format)).toBe(String(DATA_FORMAT));
  await stop();
});

test('A check whose connection is lost is asked again, so that nothing is stored without a format', async () => {
  const keys = keyNames(`${prefix}-lost`);
  const own = new Redis(url, { maxRetriesPerRequest: 0 });
  own.on('error', () => {});
  onTestFinished(() => own.disconnect());
  await own.ping();
  const machine = { monotonic: () => 0, alarm: systemMachine.alarm };
  const format = dataFormat({ redis: own, keys, heartbeats: { alive: async () => [] }, machine });
  const checked = format.stored();
  own.stream.destroy();
  await checked;
  expect(await redis.get(keys.format)).toBe(String(DATA_FORMAT));
});
