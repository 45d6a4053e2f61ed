import { expect, onTestFinished, test, vi } from 'vitest';
import { createContext } from '../../src/cli/context.js';
import { listenForInterrupt } from '../../src/cli/interrupt.js';
import { liveUntilTold } from '../../src/cli/process-lifecycle.js';
import { systemClock } from '../../src/clock.js';
import { loadLocalConfig } from '../../src/config/index.js';
import { testRedis } from '../redis/test-redis.js';

const { url, prefix } = testRedis('process-life');

test('a process that is left without its Redis says so, also when a part of it does not come to its end', async () => {
  const { stdin, stdout, stderr } = process;
  const told: unknown[] = [];
  const env = { REDIS_URL: url, REDIS_PREFIX: prefix, LOG_LEVEL: 'silent' };
  const own = createContext({ env, cwd: '.', stdin, stdout, stderr, clock: systemClock }, false);
  const context = { ...own, fail: (error: unknown) => void told.push(error) };
  const interrupt = listenForInterrupt();
  onTestFinished(() => interrupt.dispose());
  const exited = new Promise((resolve) => {
    const spy = vi.spyOn(process, 'exit').mockImplementation((code) => {
      resolve(code);
      return new Promise<never>(() => {}) as never;
    });
    onTestFinished(() => spy.mockRestore());
  });
  const never = new Promise<void>(() => {});
  void liveUntilTold(context, {
    config: loadLocalConfig(env),
    role: 'test',
    parts: [async () => ({ end: () => never })],
    interrupt,
    lost: Promise.resolve('The Redis has ended.'),
    onReady: () => {},
  });
  expect(await exited).toBe(1);
  expect(told).toEqual([expect.objectContaining({ message: 'The Redis has ended.' })]);
});
