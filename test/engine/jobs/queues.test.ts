import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createEvents } from '../../../src/base/events/events.js';
import { connect } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { createWakers, startStageWorker } from '../../../src/engine/jobs/queues.js';
import type { TurnEnd } from '../../../src/engine/jobs/turn.js';
import type { Stage } from '../../../src/engine/jobs/wake.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { url, prefix } = testRedis('queues');

const IDLE: TurnEnd = { kind: 'idle', why: 'nothing', requests: 1 };
const LATER: TurnEnd = { kind: 'later', inMs: 3_600_000, why: 'quota', requests: 1 };

/** A lane on BullMQ whose turns end when the test says so. Without a sweep, only a wake-up starts a turn. */
async function startLane(name: string, stage: Stage) {
  const keys = keyNames(`${prefix}-${name}`);
  const redis = connect(url, 'blocking');
  const wakers = createWakers(redis, keys);
  /** The turns that have begun and that the test has not seen yet; the test that waits for one. */
  const begun: ((end: TurnEnd) => void)[] = [];
  let seen: (() => void) | undefined;
  let looks = 0;
  const wake = (): Promise<void> => wakers.wake(stage, 'lane', 0);
  const worker = startStageWorker({
    stage,
    redis,
    keys,
    events: createEvents({ level: 'silent' }),
    failures: { failed: () => {}, succeeded: () => {} },
    concurrency: 2,
    nameOf: (id) => id,
    turn: () =>
      new Promise<TurnEnd>((resolve) => {
        begun.push(resolve);
        seen?.();
      }),
    lookAgain() {
      looks += 1;
      return wake();
    },
  });
  onTestFinished(async () => {
    for (const end of begun) end(IDLE);
    await worker.drain();
    await wakers.close();
    redis.disconnect();
  });
  await worker.ready;
  return {
    redis,
    wake,
    looks: () => looks,
    /** Whether BullMQ knows a job of the lane, which it forgets when the job completes. */
    hasJob: async () => (await redis.exists(`${keys.queue(stage)}:${stage}:lane`)) === 1,
    /** The next turn to begin. Call it to end the turn. */
    async nextTurn(): Promise<(end: TurnEnd) => void> {
      while (begun.length === 0)
        await new Promise<void>((resolve) => {
          seen = resolve;
        });
      return begun.shift() ?? (() => {});
    },
  };
}

test.each([
  ['send', 'completes', IDLE],
  ['send', 'is delayed', LATER],
  ['poll', 'completes', IDLE],
  ['poll', 'is delayed', LATER],
] as const)(
  'A lane that is woken during a %s turn gets another one when the job %s',
  async (stage, how, end) => {
    const lane = await startLane(`${stage}-${how.replaceAll(' ', '-')}`, stage);
    await lane.wake();
    const first = await lane.nextTurn();
    await lane.wake();
    first(end);
    const second = await lane.nextTurn();
    expect(lane.looks()).toBe(1);
    second(IDLE);
  },
);

test('A lane whose turn ends while it is being woken gets another one', async () => {
  const lane = await startLane('between', 'send');
  await lane.wake();
  const end = await lane.nextTurn();
  // The wake-up has found the job being served, and has not noted that yet.
  const note = lane.redis.sadd.bind(lane.redis);
  Object.assign(lane.redis, {
    async sadd(key: string, member: string): Promise<number> {
      end(IDLE);
      while (await lane.hasJob()) await setImmediate();
      return note(key, member);
    },
  });
  await lane.wake();
  const another = await lane.nextTurn();
  expect(another).not.toBe(end);
  another(IDLE);
});

test('A lane that is not woken during its turn is not looked at again', async () => {
  const lane = await startLane('quiet', 'send');
  await lane.wake();
  (await lane.nextTurn())(IDLE);
  while (await lane.hasJob()) await setImmediate();
  await lane.wake();
  (await lane.nextTurn())(IDLE);
  expect(lane.looks()).toBe(0);
});
