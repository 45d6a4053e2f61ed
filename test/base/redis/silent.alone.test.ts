import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, type TestContext, test, vi } from 'vitest';
import { connect, type Redis } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { asOne, watchConnection } from '../../../src/base/redis/watch.js';
import { startTcpProxy, type TcpProxy } from '../../faults/tcp-proxy.js';
import { startCluster } from './servers/cluster.js';
import { testRedis } from './test-redis.js';

const run = promisify(execFile);
const isServerHere = (await findServer()) !== undefined;

const { url, prefix } = testRedis('silent');
/** The promise: connections are open again so soon after the path has fallen silent. */
const OPEN_WITHIN_MS = 20_000;

/** The same for a connection that is opened while the path is silent. Without a limit of its own, it would be that of any reply, 10 or 14 s. */
const GIVEN_UP_WITHIN_MS = 9_000;

/** Longer than a command waits for a reply. */
const STOPPED_MS = 12_000;

type Single = Extract<Redis, { duplicate(): unknown; monitor(): unknown }>;

/** Two connections through a proxy, and the reports on them. */
async function throughProxy(kind: 'protocol' | 'blocking', afterTest: TestContext['onTestFinished']) {
  const target = new URL(url);
  const proxy = await startTcpProxy(Number(target.port || 6379));
  target.host = `127.0.0.1:${proxy.port}`;
  const redis = connect(target.toString(), kind);
  const reports: string[] = [];
  const unwatch = watchConnection(redis, {
    onLost: ({ message }) => reports.push(message),
    onRestored: () => reports.push('restored'),
  });
  await redis.ping();
  afterTest(async () => {
    unwatch();
    redis.disconnect();
    await proxy.close();
  });
  return { proxy, redis, reports };
}

/** Breaks the path of the open connections; another path is there at once. */
function breakPath(proxy: TcpProxy): void {
  proxy.freeze();
  proxy.thaw();
}

/** Unlike `once`, it does not mind the errors before. */
const becomes = (redis: Single, status: string): Promise<unknown> =>
  new Promise((resolve) => redis.once(status, resolve));

const restored = (reports: readonly string[]) =>
  vi.waitFor(() => expect(reports).toEqual([expect.stringContaining('Redis has not replied'), 'restored']), {
    timeout: OPEN_WITHIN_MS,
    interval: 100,
  });

describe.concurrent('a path to Redis that silently drops packets', () => {
  test.for(['protocol', 'blocking'] as const)(
    'an idle %s connection is opened again within 20 s, and this is reported',
    async (kind, context) => {
      const { proxy, redis, reports } = await throughProxy(kind, context.onTestFinished);
      breakPath(proxy);
      await restored(reports);
      expect(await redis.ping()).toBe('PONG');
    },
  );

  test('a command is rejected, and the next one is answered', async (context) => {
    const { proxy, redis, reports } = await throughProxy('protocol', context.onTestFinished);
    breakPath(proxy);
    await expect(redis.get(`${prefix}:key`)).rejects.toThrow();
    await restored(reports);
    expect(await redis.get(`${prefix}:key`)).toBeNull();
  });

  test('attempts to connect continue while new connections are silent too', async (context) => {
    const { proxy, redis, reports } = await throughProxy('protocol', context.onTestFinished);
    proxy.freeze();
    await vi.waitFor(() => expect(reports).toHaveLength(1), { timeout: OPEN_WITHIN_MS });
    await expect(redis.ping()).rejects.toThrow();
    proxy.thaw();
    await vi.waitFor(() => expect(reports).toHaveLength(2), { timeout: OPEN_WITHIN_MS });
    expect(await redis.ping()).toBe('PONG');
  });

  test.for(['protocol', 'blocking'] as const)(
    'a new %s connection is given up after 5 s without a reply, and another one is opened',
    async (kind, context) => {
      const { proxy, redis, reports } = await throughProxy(kind, context.onTestFinished);
      const duplicate = (redis as Single).duplicate();
      context.onTestFinished(() => duplicate.disconnect());
      await duplicate.ping();
      proxy.freeze();
      duplicate.bzpopmin(`${prefix}:none`, 10).catch(() => {});
      await vi.waitFor(() => expect(reports).toHaveLength(1), { timeout: OPEN_WITHIN_MS });
      const both = [redis as Single, duplicate];
      // Each has a connection that never answers.
      await Promise.all(both.map((each) => each.status === 'connect' || becomes(each, 'connect')));
      proxy.thaw();
      const thawedAt = performance.now();
      await Promise.all(both.map((each) => becomes(each, 'ready')));
      expect(performance.now() - thawedAt).toBeLessThan(GIVEN_UP_WITHIN_MS);
    },
  );

  test('is not what a process takes a path for that was itself stopped for 12 s', async () => {
    const connection = new URL('../../../dist/src/base/redis/connection.js', import.meta.url);
    // A process that is stopped here calls its timers before it reads the reply.
    const program = `
      import { connect } from '${connection}';
      const redis = connect('${url}');
      await redis.ping();
      const reply = redis.ping();
      const stopped = new Int32Array(new SharedArrayBuffer(4));
      setImmediate(() => Atomics.wait(stopped, 0, 0, ${STOPPED_MS}));
      console.log(await reply);
      redis.disconnect();`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
    expect(stdout).toBe('PONG\n');
  });

  test.runIf(isServerHere)(
    'may be that to one node of a cluster: a command to it is rejected within 20 s',
    async ({ onTestFinished }) => {
      const cluster = await startCluster({ appendfsync: 'everysec', deadAfterMs: 60_000 });
      onTestFinished(() => cluster.stop());
      const redis = connect(cluster.url);
      onTestFinished(() => redis.disconnect());
      const key = `${prefix}:key`;
      await redis.set(key, 'stored');
      const { pid = 0 } = cluster.nodes[await cluster.nodeOf(key)] ?? {};
      process.kill(pid, 'SIGSTOP');
      onTestFinished(() => void process.kill(pid, 'SIGCONT'));
      const began = performance.now();
      await expect(redis.get(key)).rejects.toThrow();
      expect(performance.now() - began).toBeLessThan(OPEN_WITHIN_MS);
    },
  );

  test('the longest time for which BullMQ blocks does not count as silence', async (context) => {
    const { redis, reports } = await throughProxy('blocking', context.onTestFinished);
    const bullMqs = (redis as Single).duplicate();
    context.onTestFinished(() => bullMqs.disconnect());
    const closed = vi.fn();
    bullMqs.on('close', closed);
    expect(await bullMqs.bzpopmin(`${prefix}:none`, 10)).toBeNull();
    expect(closed).not.toHaveBeenCalled();
    expect(reports).toEqual([]);
  });
});

test('two connections are reported as one: lost with the first, restored with the last', () => {
  const reports: (string | number)[] = [];
  const watcher = asOne({
    onLost: ({ message }) => reports.push(message),
    onRestored: (downMs) => reports.push(downMs),
  });
  const now = vi.spyOn(performance, 'now');
  onTestFinished(() => now.mockRestore());
  now.mockReturnValueOnce(100);
  watcher.onLost(new Error('first'));
  watcher.onLost(new Error('second'));
  watcher.onRestored(1);
  expect(reports).toEqual(['first']);
  now.mockReturnValueOnce(350);
  watcher.onRestored(1);
  expect(reports).toEqual(['first', 250]);
});
