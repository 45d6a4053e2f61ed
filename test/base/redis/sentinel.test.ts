import { Redis } from 'ioredis';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { freePort } from '../../../src/base/redis/private-server.js';
import { recipients } from '../../end-to-end/recipients.js';
import { launch, startedFleet } from '../../end-to-end/started.js';
import { startSentinel } from './sentinel.js';

const COUNT = 300;

describe.runIf((await findServer()) !== undefined)(
  'a Redis with a replica, watched by Sentinel',
  async () => {
    const redis = await startSentinel({ sentinels: 1 });
    afterAll(() => redis.stop());

    test('a Sentinel that does not answer is passed over without a word', async () => {
      const printed = vi.spyOn(console, 'error');
      onTestFinished(() => printed.mockRestore());
      const connection = connect(redis.url.replace('@', `@127.0.0.1:${await freePort()},`));
      onTestFinished(() => connection.disconnect());
      expect(await connection.ping()).toBe('PONG');
      expect(printed).not.toHaveBeenCalled();
    });

    test('a campaign continues after the master is killed and the replica takes over, and sends no message twice', async () => {
      const fleet = await startedFleet({
        redisUrl: redis.url,
        prefix: 'sentinel',
        workers: ['all'],
        // The master is killed, not cut off, so it loses only what was on its way to the replica.
        settings: { REDIS_MAY_LOSE: '3s' },
        simulator: { keys: [{ key: 'key' }], latency: 50, deliveryTime: 100 },
      });
      const { volley, simulator } = fleet;
      const id = await launch(fleet, { recipients: recipients(COUNT), message: 'Sale' });
      await vi.waitUntil(async () => (await simulator.summary()).recipients > COUNT / 4, { timeout: 20_000 });
      await redis.failOver();
      await vi.waitFor(
        async () => {
          const status = await volley.status(id);
          const { deliveredToTerminal, unknown } = status.counts;
          expect(deliveredToTerminal + unknown, JSON.stringify(status)).toBe(COUNT);
        },
        { timeout: 60_000, interval: 100 },
      );
      const operator = new Redis(redis.replicaUrl);
      onTestFinished(() => operator.disconnect());
      expect(await operator.role()).toContain('master');
      expect((await simulator.summary()).duplicates).toBe(0);
      // A server that has just become master may close connections once more.
      const lost = fleet.logged('redis.lost').length;
      expect(lost).toBeGreaterThan(0);
      await vi.waitFor(
        () => expect(fleet.logged('redis.restored').length).toBeGreaterThanOrEqual(lost),
        10_000,
      );
    });
  },
);
