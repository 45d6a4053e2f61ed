import { expect, test } from 'vitest';
import { singleFlight } from '../../../src/engine/lane/single-flight.js';

test('Calls made during a run share the next run, which begins after them', async () => {
  const ends: ((answer: number) => void)[] = [];
  const ask = singleFlight(() => new Promise<number>((end) => ends.push(end)));
  const first = ask();
  await Promise.resolve();
  const [second, third] = [ask(), ask()];
  expect(ends).toHaveLength(1);
  ends[0]?.(1);
  expect(await first).toBe(1);
  await new Promise((later) => setImmediate(later));
  expect(ends).toHaveLength(2);
  ends[1]?.(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
});

test('A failed run rejects the calls that wait for it, and not later calls', async () => {
  let runs = 0;
  const ask = singleFlight(async () => {
    runs += 1;
    if (runs === 1) throw new Error('away');
    return runs;
  });
  await expect(ask()).rejects.toThrow('away');
  expect(await ask()).toBe(2);
});
