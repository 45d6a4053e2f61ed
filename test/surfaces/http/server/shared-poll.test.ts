import { expect, onTestFinished, test } from 'vitest';
import { createSharedPoll } from '../../../../src/surfaces/http/server/shared-poll.js';

test('A subscriber that arrives just after a value causes a new read without waiting for the next tick', async () => {
  let reads = 0;
  const poll = createSharedPoll(async () => {
    reads += 1;
    return reads;
  }, 3_600_000);
  onTestFinished(() => poll.close());
  const second = await new Promise<number>((resolve) => {
    poll.subscribe('a', () => {
      // After the value has been delivered and before anything else runs.
      queueMicrotask(() => poll.subscribe('a', resolve));
    });
  });
  expect(second).toBe(2);
});

test('Subscribers that arrive together share one read', async () => {
  let reads = 0;
  const poll = createSharedPoll(async () => {
    reads += 1;
  }, 3_600_000);
  onTestFinished(() => poll.close());
  await Promise.all(
    Array.from({ length: 50 }, () => new Promise<void>((resolve) => poll.subscribe('a', resolve))),
  );
  expect(reads).toBe(1);
});

test('A failed read is repeated at the next tick', async () => {
  let reads = 0;
  const poll = createSharedPoll(async () => {
    reads += 1;
    if (reads === 1) throw new Error('not now');
    return reads;
  }, 10);
  onTestFinished(() => poll.close());
  expect(await new Promise((resolve) => poll.subscribe('a', resolve))).toBe(2);
});
