import type { TestProject } from 'vitest/node';
import { provideRedis } from '../../../src/base/redis/provide.js';
import { watchDescendants } from './servers/leaked-processes.js';

declare module 'vitest' {
  interface ProvidedContext {
    redisUrl: string;
    /** The image for machines without a Redis program. */
    redisImage: string;
    redisIsContainer: boolean;
  }
}

/**
 * Provides one Redis for the whole run, in which each test file uses its own key prefix. All processes that the tests start must
 * have ended after the last test; one that is still running fails the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const image = process.env['VOLLEY_TEST_REDIS_IMAGE'] ?? 'redis:7';
  const redis = await provideRedis({
    url: process.env['REDIS_URL'],
    image,
    announce: (line) => console.error(line),
    // Not for `npx vitest`, which may run in an editor or after every change.
    install:
      /^test(:all)?$/.test(process.env['npm_lifecycle_event'] ?? '') || process.argv.includes('--install'),
    installer: 'npm test',
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
    // Vitest reports an error of a teardown but still exits with 0.
    process.exitCode = 1;
    throw new Error(`processes that the tests left running, now killed:\n${processes.join('\n')}`);
  };
}
