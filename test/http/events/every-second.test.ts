import { expect, onTestFinished, test } from 'vitest';
import { everySecond } from '../../../src/http/events/every-second.js';

test('Who comes just when an answer has been told asks anew, and does not wait for the next tick', async () => {
  let asked = 0;
  const many = everySecond(async () => {
    asked += 1;
    return asked;
  }, 3_600_000);
  onTestFinished(() => many.close());
  const second = await new Promise<number>((resolve) => {
    many.follow('a', () => {
      // Between the answer and whatever follows it.
      queueMicrotask(() => many.follow('a', resolve));
    });
  });
  expect(second).toBe(2);
});

test('Of many who come at once the first asks for all', async () => {
  let asked = 0;
  const many = everySecond(async () => {
    asked += 1;
  }, 3_600_000);
  onTestFinished(() => many.close());
  await Promise.all(
    Array.from({ length: 50 }, () => new Promise<void>((resolve) => many.follow('a', resolve))),
  );
  expect(asked).toBe(1);
});

test('One whose question failed is asked again at the next tick', async () => {
  let asked = 0;
  const many = everySecond(async () => {
    asked += 1;
    if (asked === 1) throw new Error('not now');
    return asked;
  }, 10);
  onTestFinished(() => many.close());
  expect(await new Promise((resolve) => many.follow('a', resolve))).toBe(2);
});
