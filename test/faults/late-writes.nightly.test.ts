import { expect, test } from 'vitest';
import { findServer } from '../../src/base/redis/find-server.js';
import { seededRandom } from '../../src/tools/simulator/rules/random.js';
import { lateWritesRun } from './late-writes.js';

test.skipIf((await findServer()) === undefined)(
  'A process that stands still for 15 s with its claims writes nothing that is too late, outside its window, or suppressed by then',
  { timeout: 180_000 },
  async () => {
    const outcome = await lateWritesRun(seededRandom(4), true);
    console.info(JSON.stringify(outcome));
    expect(outcome.problems).toEqual([]);
    const { late, window, suppressed } = outcome.held;
    expect(late + window + suppressed).toBeGreaterThan(0);
  },
);
