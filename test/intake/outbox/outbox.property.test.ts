import fc from 'fast-check';
import { test } from 'vitest';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { lossyHistory, outboxHistory, playOutbox } from './outbox-world.js';

const { redis, prefix } = testRedis('outbox-property');
const RUNS = { numRuns: NIGHTLY ? 15 : 6, seed: 12 };

test('Whatever happens to the messages of an outbox, the counts add up, no cancelled or late message is claimed, and no id is accepted twice', async () => {
  await fc.assert(
    fc.asyncProperty(outboxHistory, (history) => playOutbox(redis, prefix, history)),
    RUNS,
  );
});

test('Whatever Redis loses, no message is claimed again that a worker has sent, except under its correlator', async () => {
  await fc.assert(
    fc.asyncProperty(lossyHistory, (history) => playOutbox(redis, prefix, history)),
    { ...RUNS, numRuns: NIGHTLY ? 10 : 4 },
  );
});
