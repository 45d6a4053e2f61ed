import { Queue } from 'bullmq';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyNames } from '../../src/base/redis/keys.js';

import { createWakers } from '../../src/engine/jobs/queues.js';
import type { Stage } from '../../src/engine/jobs/wake.js';
import { testRedis } from '../base/redis/test-redis.js';
import { Jobs } from './jobs.js';
import { seededStreams } from './random.js';
import { Trace } from './trace.js';
import { VirtualClock } from './virtual-clock.js';

const { redis, prefix } = testRedis('simulated-jobs');
const UNIT_MS = 60_000;
const LANES = ['one', 'two'];
const STAGES: readonly Stage[] = ['send', 'poll'];

const wake = fc.record({
  stage: fc.constantFrom(...STAGES),
  lane: fc.constantFrom(...LANES),
  units: fc.integer({ min: 0, max: 6 }),
});

let runs = 0;

test('the model of BullMQ has the same jobs due at the same times as BullMQ, for any sequence of wake calls', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(wake, { maxLength: 12 }), async (wakes) => {
      runs += 1;
      const keys = keyNames(`${prefix}-${runs}`);
      const real = createWakers(redis, keys);
      const clock = new VirtualClock();
      const model = new Jobs({
        clock,
        streams: seededStreams(0),
        processes: [],
        trace: new Trace(false, () => 0),
        broken: () => {},
      });
      const began = Date.now();
      for (const { stage, lane, units } of wakes) {
        await real.wake(stage, lane, units * UNIT_MS);
        await model.wake(stage, lane, units * UNIT_MS);
      }
      await real.close();
      for (const stage of STAGES) {
        const queue = new Queue(stage, { connection: redis, prefix: keys.queue(stage) });
        for (const lane of LANES) {
          const job = await queue.getJob(lane);
          const inMs =
            job === undefined
              ? undefined
              : (await job.getState()) === 'delayed'
                ? job.timestamp + job.delay - began
                : 0;
          const due = inMs === undefined ? undefined : Math.round(inMs / UNIT_MS);
          const expected = model.dueIn(stage, lane);
          expect(due).toBe(expected === undefined ? undefined : expected / UNIT_MS);
        }
        await queue.close();
      }
    }),
    { numRuns: 60 },
  );
});
