import { expect, test } from 'vitest';
import { singleFlight } from '../../src/lane/single-flight.js';
import { inBatches } from '../../src/reporting/in-batches.js';

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

test('A list is processed in batches, returned in order, and no further than it is read', async () => {
  let [underWay, most, asked] = [0, 0, 0];
  const double = async (item: number): Promise<number> => {
    asked += 1;
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((later) => setImmediate(later));
    underWay -= 1;
    return 2 * item;
  };
  const items = async function* () {
    for (let item = 0; item < 100; item++) yield item;
  };
  const read: number[] = [];
  for await (const answer of inBatches(items(), 10, double)) {
    read.push(answer);
    if (read.length === 25) break;
  }
  expect(read).toEqual(Array.from({ length: 25 }, (_, item) => 2 * item));
  expect({ most, asked }).toEqual({ most: 10, asked: 30 });
});
