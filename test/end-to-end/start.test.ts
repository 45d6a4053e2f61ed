import { expect, test, vi } from 'vitest';
import { privateRedis } from '../base/redis/private-redis.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const redis = await privateRedis();

test.each([
  ['is away', false],
  ['goes while it connects', true],
] as const)(
  'A worker that starts while Redis %s waits for it, and then works',
  {
    timeout: 90_000,
  },
  async (_when, asItConnects) => {
    const fleet = await startedFleet({
      redisUrl: redis.url,
      prefix: `start-${asItConnects}`,
      workers: [],
      simulator: { keys: [{ key: 'key' }] },
    });
    const id = await launch(fleet, { recipients: recipients(10), message: 'Sale' });
    if (!asItConnects) await redis.kill();
    const { program } = await fleet.add('all');
    // The last event before it connects.
    await vi.waitUntil(() => fleet.logged('process.started').length > 0, { timeout: 30_000, interval: 5 });
    if (asItConnects) await redis.kill();
    // Long enough that the process notices that Redis does not answer.
    await vi.waitUntil(() => fleet.logged('redis.lost').length > 0 || !program.isRunning, {
      timeout: 30_000,
    });
    await redis.restart();
    await fleet.ready();
    const { counts } = await finished(fleet.volley, id, 60_000);
    expect(counts.deliveredToTerminal).toBe(10);
  },
);
