import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { lossyHistory, outboxHistory, playOutbox } from './outbox-world.js';
import { PLANTED_BUGS, plantIn } from './planted-bug.js';

const { redis, prefix } = testRedis('outbox-property');
const RUNS = { numRuns: 15, seed: 12 };

test('Whatever happens to the messages of an outbox, the counts add up, no cancelled or late message is claimed, and no id is accepted twice', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(outboxHistory, (history) => playOutbox(redis, prefix, history)),
    RUNS,
  );
});

test('Whatever Redis loses, no message is claimed again that a worker has sent, except under its correlator', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(lossyHistory, (history) => playOutbox(redis, prefix, history)),
    { ...RUNS, numRuns: 10 },
  );
});

// Without shrinking: that one history shows the bug is enough.
const CAUGHT = { ...RUNS, numRuns: 100, endOnFailure: true };

test.each(PLANTED_BUGS)(
  'The same histories catch a planted bug: $name',
  { timeout: 120_000 },
  async (bug) => {
    const planted = plantIn(redis, bug);
    const play = fc.asyncProperty(outboxHistory, (history) => playOutbox(planted, prefix, history));
    expect((await fc.check(play, CAUGHT)).failed).toBe(true);
  },
);
