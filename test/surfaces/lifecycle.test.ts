import { expect, onTestFinished, test, vi } from 'vitest';
import { loadLocalConfig } from '../../src/base/config/index.js';
import { listenForStop, runProcess, servingHttp } from '../../src/surfaces/lifecycle.js';
import { testRedis } from '../base/redis/test-redis.js';

const { url, prefix } = testRedis('process-life');

const env = { REDIS_URL: url, REDIS_PREFIX: prefix, LOG_LEVEL: 'silent' };
const config = loadLocalConfig(env);
const never = new Promise<void>(() => {});

/** Resolves with the code of `process.exit`, which does nothing else here. */
function exitCode(): Promise<unknown> {
  return new Promise((resolve) => {
    const spy = vi.spyOn(process, 'exit').mockImplementation((code) => {
      resolve(code);
      return new Promise<never>(() => {}) as never;
    });
    onTestFinished(() => spy.mockRestore());
  });
}

function listen(onSecond?: () => void) {
  const stop = listenForStop(onSecond);
  onTestFinished(() => stop.dispose());
  return stop;
}

test('A process that loses its Redis exits with 1 and the reason, even if a part does not stop', async () => {
  const exited = exitCode();
  const reported: Error[] = [];
  void runProcess({
    config,
    role: 'test',
    parts: [() => ({ ready: Promise.resolve(undefined), stop: () => never })],
    stop: listen(),
    lost: Promise.resolve(new Error('The Redis server has ended.')),
    onAbandoned: (error) => void reported.push(error),
  });
  expect(await exited).toBe(1);
  expect(reported.map(({ message }) => message)).toEqual(['The Redis server has ended.']);
});

test('A signal stops the parts in reverse order, also those that are not ready yet', async () => {
  const stopped: string[] = [];
  const part = (name: string, ready: Promise<undefined>) => () => ({
    ready,
    stop: async () => void stopped.push(name),
  });
  const running = runProcess({
    config,
    role: 'test',
    parts: [
      part('first', Promise.resolve(undefined)),
      () => {
        setImmediate(() => process.emit('SIGTERM', 'SIGTERM'));
        return part(
          'second',
          never.then(() => undefined),
        )();
      },
    ],
    stop: listen(),
  });
  await running;
  expect(stopped).toEqual(['second', 'first']);
});

test('A part that cannot start stops the others, and its error is reported', async () => {
  const stopped: string[] = [];
  const running = runProcess({
    config,
    role: 'test',
    parts: [
      () => ({ ready: Promise.resolve(undefined), stop: async () => void stopped.push('first') }),
      () => ({ ready: Promise.reject(new Error('The port is in use.')), stop: async () => {} }),
    ],
    stop: listen(),
  });
  await expect(running).rejects.toThrow('The port is in use.');
  expect(stopped).toEqual(['first']);
});

test('A second signal calls its handler; without one, the listener is gone', async () => {
  const second = vi.fn();
  const stop = listen(second);
  process.emit('SIGINT', 'SIGINT');
  expect(await stop.received).toBe('SIGINT');
  process.emit('SIGTERM', 'SIGTERM');
  expect(second).toHaveBeenCalledOnce();
  stop.dispose();
  const before = process.listenerCount('SIGTERM');
  const plain = listen();
  expect(process.listenerCount('SIGTERM')).toBe(before + 1);
  process.emit('SIGTERM', 'SIGTERM');
  expect(plain.signal.aborted).toBe(true);
  expect(process.listenerCount('SIGTERM')).toBe(before);
});

test('After SIGTERM, /readyz answers 503 before the listener closes, while everything else is served', async () => {
  let tell: (address: string) => void = () => {};
  const listening = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const http = { ...env, HTTP_PORT: '0' };
  const running = runProcess({
    config: loadLocalConfig(http),
    role: 'test',
    parts: [servingHttp],
    stop: listen(),
    onReady: ([message = '']) => tell(/http:\/\/[^ ,]+/.exec(message)?.[0] ?? ''),
  });
  const address = await listening;
  const statusOf = async (path: string): Promise<number> => (await fetch(`${address}${path}`)).status;
  expect(await statusOf('/readyz')).toBe(200);
  process.emit('SIGTERM', 'SIGTERM');
  await expect.poll(() => statusOf('/readyz')).toBe(503);
  expect(await statusOf('/healthz')).toBe(200);
  await running;
  await expect(statusOf('/healthz')).rejects.toThrow('fetch failed');
});
