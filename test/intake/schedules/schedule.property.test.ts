import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { plantIn } from '../outbox/planted-bug.js';
import { PLANTED_BUGS } from './planted-bugs.js';
import { playSchedule, scheduleHistory } from './schedule-world.js';

const { redis, prefix } = testRedis('schedules-property');
let worlds = 0;
const nextPrefix = (): string => {
  worlds += 1;
  return `${prefix}-${worlds}`;
};

test('Whatever process stands still or dies, each occurrence has one outcome and at most one campaign, and none is late', async () => {
  const examples = PLANTED_BUGS.map(({ history }): [typeof history] => [history]);
  await fc.assert(
    fc.asyncProperty(scheduleHistory, (history) => playSchedule(redis, nextPrefix(), history)),
    { numRuns: examples.length + 15, seed: 12, examples },
  );
});

test.each(PLANTED_BUGS)('A planted bug is caught: $name', async ({ name, lua, parts, history, caughtAs }) => {
  const planted = lua === undefined ? redis : plantIn(redis, { name, ...lua });
  await expect(playSchedule(planted, nextPrefix(), history, parts)).rejects.toThrow(caughtAs);
});
