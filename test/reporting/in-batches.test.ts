import { expect, test } from 'vitest';
import { inBatches } from '../../src/reporting/in-batches.js';

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
