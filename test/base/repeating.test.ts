import { expect, test } from 'vitest';
import { repeating } from '../../src/base/repeating.js';

/** A task whose alarms and rounds the test ends by hand. */
function taskByHand(options: { everyMs: number; firstMs?: number }) {
  /** The ms of each alarm so far. */
  const waits: number[] = [];
  let alarm: (() => void) | undefined;
  let endRound = (): void => {};
  let rounds = 0;
  const task = repeating(
    (ms, ring) => {
      waits.push(ms);
      alarm = ring;
      return () => {
        alarm = undefined;
      };
    },
    () => {
      rounds += 1;
      return new Promise<void>((resolve) => {
        endRound = resolve;
      });
    },
    options,
  );
  return {
    task,
    waits,
    rounds: () => rounds,
    isWaiting: () => alarm !== undefined,
    ring() {
      const ring = alarm;
      alarm = undefined;
      ring?.();
    },
    async endRound() {
      endRound();
      await new Promise(setImmediate);
    },
  };
}

test('The next round is due a while after the last one has ended', async () => {
  const { waits, rounds, ring, endRound, isWaiting } = taskByHand({ everyMs: 100 });
  expect([waits, rounds()]).toEqual([[100], 0]);
  ring();
  expect([rounds(), isWaiting()]).toEqual([1, false]);
  await endRound();
  expect([waits, rounds()]).toEqual([[100, 100], 1]);
  ring();
  expect(rounds()).toBe(2);
});

test('The first round may be due at another time', async () => {
  const { waits, ring, endRound } = taskByHand({ everyMs: 100, firstMs: 5 });
  ring();
  await endRound();
  expect(waits).toEqual([5, 100]);
});

test('A task that is stopped while it waits begins no round', async () => {
  const { task, rounds, isWaiting } = taskByHand({ everyMs: 100 });
  expect(task.isStopped).toBe(false);
  await task.stop();
  expect([task.isStopped, isWaiting(), rounds()]).toEqual([true, false, 0]);
});

test('A task that is stopped during a round waits for it, and begins no other', async () => {
  const { task, waits, ring, endRound } = taskByHand({ everyMs: 100 });
  ring();
  let hasStopped = false;
  const stopping = task.stop().then(() => {
    hasStopped = true;
  });
  // The round asks, to end early.
  expect(task.isStopped).toBe(true);
  await new Promise(setImmediate);
  expect(hasStopped).toBe(false);
  await endRound();
  await stopping;
  expect(waits).toEqual([100]);
});
