import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { freePort } from '../../../src/base/redis/private-server.js';
import { startSentinel } from './servers/sentinel.js';

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
  },
);
