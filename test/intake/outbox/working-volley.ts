import { onTestFinished } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import type { Volley } from '../../../src/app/volley.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { startSimulator } from '../../../src/tools/simulator/index.js';
import type { TestRedis } from '../../base/redis/test-redis.js';

export const NUMBER = '+447700900123';
/** Soon, also on a busy machine. */
export const SOON = { timeout: 20_000, interval: 50 };

let started = 0;

/** A Volley that works against a simulator, until the test is finished. `until`: `afterAll`, if several tests use it. */
export async function workingVolley(
  { url, prefix }: Pick<TestRedis, 'url' | 'prefix'>,
  {
    env = {},
    until = onTestFinished,
  }: { readonly env?: Readonly<Record<string, string>>; until?(end: () => Promise<void>): void } = {},
) {
  const simulator = await startSimulator({ keys: [{ key: 'k' }], deliveryTime: 50 });
  const { messagingBaseUrl, accountBaseUrl } = simulator;
  started += 1;
  const environment = {
    REDIS_URL: url,
    REDIS_PREFIX: `${prefix}-${started}`,
    API_KEY: 'k',
    HOURLY_QUOTA: '100000',
    SENDER_ADDRESS: 'ACME',
    FOLLOW_UP_FIRST_MS: '100',
    LOG_LEVEL: 'silent',
    ...env,
  };
  const config = loadConfig(environment, { simulator: { messagingBaseUrl, accountBaseUrl } });
  const volley: Volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  until(async () => {
    await volley.close();
    await simulator.close();
  });
  await volley.work().ready;
  const texts = (): string[] => [...simulator.ledger.entries()].map(({ text }) => text);
  return { volley, simulator, texts, prefix: environment.REDIS_PREFIX };
}
