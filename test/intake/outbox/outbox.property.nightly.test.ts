import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { outboxHistory, playOutbox } from './outbox-world.js';
import { PLANTED_BUGS, plantIn } from './planted-bug.js';

const { redis, prefix } = testRedis('outbox-planted');

test.each(PLANTED_BUGS)(
  'The histories of outbox.property.test.ts catch a planted bug: $name',
  async (bug) => {
    const planted = plantIn(redis, bug);
    const play = fc.asyncProperty(outboxHistory, (history) => playOutbox(planted, prefix, history));
    // Without shrinking: that one history shows the bug is enough.
    const outcome = await fc.check(play, { numRuns: 100, seed: 12, endOnFailure: true });
    expect(outcome.failed).toBe(true);
  },
);
