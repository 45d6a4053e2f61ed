import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, type TestContext, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { startTcpProxy } from '../../faults/tcp-proxy.js';
import { runWorlds } from '../runner/run-worlds.js';
import { seededWorlds } from '../scenario/seeded-world.js';
import { openWire } from './wire.js';

const { url, prefix } = testRedis('wire');
/** A worker gives up its connection sooner. */
const SILENT_FOR_MS = 15_000;
const LOST = 'The simulation lost its connection to Redis.';

async function throughProxy(afterTest: TestContext['onTestFinished']) {
  const target = new URL(url);
  const proxy = await startTcpProxy(Number(target.port || 6379));
  afterTest(() => proxy.close());
  target.host = `127.0.0.1:${proxy.port}`;
  return { proxy, redisUrl: target.toString() };
}

describe.concurrent('The connection of a simulation', { timeout: 60_000 }, () => {
  test('a command whose reply takes 15 s runs once', async ({ onTestFinished }) => {
    const { proxy, redisUrl } = await throughProxy(onTestFinished);
    const wire = await openWire(redisUrl);
    onTestFinished(() => wire.close());
    proxy.hold();
    const counted = wire.send('incr', [`${prefix}:count`], 'utf8');
    await delay(SILENT_FOR_MS);
    proxy.release();
    expect(await counted).toBe(1);
    expect(await wire.send('get', [`${prefix}:count`], 'utf8')).toBe('1');
  });

  test('worlds whose connection breaks are not judged', async ({ onTestFinished }) => {
    const { proxy, redisUrl } = await throughProxy(onTestFinished);
    const outcomes: unknown[] = [];
    const cut = proxy.trap({ on: 'request', matching: /EVALSHA|evalsha/, action: 'cutAfter' });
    const run = runWorlds({
      redisUrl,
      plans: seededWorlds(0, 1),
      onOutcome: (outcome) => void outcomes.push(outcome),
    });
    await expect(run).rejects.toThrow(LOST);
    await cut;
    expect(outcomes).toEqual([]);
  });
});
