import { expect, test } from 'vitest';
import { createEvents } from '../../../src/base/events/events.js';
import { createMask } from '../../../src/base/events/mask.js';
import { connect } from '../../../src/base/redis/connection.js';
import { createWakers, startStageWorker } from '../../../src/engine/jobs/queues.js';
import { turnFailures } from '../../../src/engine/jobs/turn-failures.js';
import { readLaneStatus } from '../../../src/engine/lane/lane-status.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix, url } = testRedis('turn-failures');

/** The notes of a process at a time that the test sets, and what the status of a lane shows of them. */
function notesOf(name: string) {
  const { store, keys } = laneFixture(redis, prefix, name);
  const time = { now: START };
  const now = (): number => time.now;
  const mask = createMask().prose;
  const processNotes = () => turnFailures({ redis, keys, clock: now, monotonic: now, mask });
  return { time, keys, processNotes, shown: async () => (await readLaneStatus(store)).failures };
}

test('The status of a lane shows since when its turns fail, and the last error', async () => {
  const { time, processNotes, shown } = notesOf('since');
  const notes = processNotes();
  expect(await shown()).toEqual([]);
  notes.failed('send', 'since', new Error('no space\nleft for +4915712345678'));
  expect(await shown()).toEqual([{ kind: 'send', since: START, error: 'no space left for +49…678' }]);
  time.now += 60_000;
  notes.failed('send', 'since', new Error(`another script: ${'0'.repeat(40)}, on @user_script:991.`));
  notes.failed('poll', 'since', new Error('x'.repeat(1_000)));
  expect(await shown()).toEqual([
    { kind: 'send', since: START, error: 'another' },
    { kind: 'poll', since: START + 60_000, error: 'x'.repeat(300) },
  ]);
});

test('A turn that fails every second is noted every ten seconds', async () => {
  const { time, processNotes, shown } = notesOf('rarely');
  const notes = processNotes();
  const noted: string[] = [];
  for (let second = 0; second < 21; second += 1) {
    notes.failed('send', 'rarely', new Error(`at ${second}`));
    noted.push((await shown())[0]?.error ?? '');
    time.now += 1_000;
  }
  expect([...new Set(noted)]).toEqual(['at 0', 'at 10', 'at 20']);
});

test('A turn that succeeds, in any process, ends the failure and leaves no key', async () => {
  const { keys, processNotes, shown } = notesOf('ended');
  const [one, other] = [processNotes(), processNotes()];
  one.failed('send', 'ended', new Error('broken'));
  one.failed('poll', 'ended', new Error('broken'));
  other.succeeded('send', 'ended');
  expect(await shown()).toMatchObject([{ kind: 'poll' }]);
  other.succeeded('poll', 'ended');
  expect(await redis.exists(keys.lane('ended', 'failures'))).toBe(0);
});

test('A worker notes a turn that throws, and removes the note when a turn has made its requests', async () => {
  const { store, keys } = laneFixture(redis, prefix, 'served');
  const events = createEvents({ level: 'silent' });
  const blocking = connect(url, 'blocking');
  const wakers = createWakers(blocking, keys);
  const turns: (() => Promise<number>)[] = [
    () => Promise.reject(new Error('a script is broken')),
    async () => 0,
    async () => 1,
  ];
  const shown: unknown[] = [];
  const failed = events.next('turn.failed');
  const ended = events.next('turn.ended', (event) => event.requests === 1);
  const worker = startStageWorker({
    stage: 'send',
    redis: blocking,
    keys,
    events,
    failures: turnFailures({
      redis,
      keys,
      clock: () => START,
      monotonic: () => START,
      mask: createMask().prose,
    }),
    concurrency: 1,
    nameOf: (id) => id,
    lookAgain: async () => {},
    turn: async () => {
      shown.push((await readLaneStatus(store)).failures);
      const requests = (await turns.shift()?.()) ?? 1;
      return { kind: 'later', inMs: 0, why: 'quota', requests };
    },
  });
  await worker.ready;
  await wakers.wake('send', 'served', 0);
  await failed;
  await ended;
  const failure = [{ kind: 'send', since: START, error: 'a script is broken' }];
  expect(shown.slice(0, 3)).toEqual([[], failure, failure]);
  expect((await readLaneStatus(store)).failures).toEqual([]);
  await worker.drain();
  await wakers.close();
  blocking.disconnect();
});
