import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRedis } from '../redis/test-redis.js';
import { outboxHistory, playOutbox } from './outbox-world.js';
import { PLANTED_BUGS, plantIn } from './planted-bug.js';

const { redis, prefix } = testRedis('outbox-property');
const RUNS = { numRuns: 25, seed: 12 };

test('Whatever happens to the messages of an outbox, the counts add up, no cancelled or late message is claimed, and no id is accepted twice', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(outboxHistory, (history) => playOutbox(redis, prefix, history)),
    RUNS,
  );
});

// Without shrinking: that one history shows the bug is enough.
test.each(PLANTED_BUGS)(
  'The same histories catch a planted bug: $name',
  { timeout: 120_000 },
  async (bug) => {
    const planted = plantIn(redis, bug);
    const play = fc.asyncProperty(outboxHistory, (history) => playOutbox(planted, prefix, history));
    const { failed } = await fc.check(play, { ...RUNS, numRuns: 100, endOnFailure: true });
    expect(failed).toBe(true);
  },
);
