import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../src/redis/provide.js';
import { watchDescendants } from './left-behind.js';

declare module 'vitest' {
  interface ProvidedContext {
    redisUrl: string;
    /** What Docker runs where a machine has no Redis of its own. */
    redisImage: string;
    redisIsContainer: boolean;
  }
}

/**
 * One Redis for the whole run, before the first test; each test file keeps to a prefix of its own in it. After the
 * last test, whatever the tests started must be gone: a process left behind fails the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const image = process.env['VOLLEY_TEST_REDIS_IMAGE'] ?? 'redis:7';
  const redis = await provideRedis({
    url: process.env['REDIS_URL'],
    image,
    announce: (line) => console.error(line),
  }).catch((error: Error) => {
    console.error(error.message);
    process.exit(1);
  });
  console.error(`Redis for the tests: ${redis.origin}.`);
  project.provide('redisUrl', redis.url);
  project.provide('redisImage', image);
  project.provide('redisIsContainer', redis.origin.startsWith('a container'));
  const endDescendants = await watchDescendants();
  return async () => {
    const processes = await endDescendants();
    await redis.stop();
    if (processes.length === 0) return;
    // Vitest reports an error of a teardown and still ends with 0.
    process.exitCode = 1;
    throw new Error(`left behind by the tests, and now ended:\n${processes.join('\n')}`);
  };
}
