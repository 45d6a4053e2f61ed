import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openFile } from '../../../../src/intake/import/open-file.js';

const LISTS = 12;
const ROWS = 30_000;

/** A list of one column in memory, which arrives at once. */
function csvStream(): Readable {
  const numbers = Array.from({ length: ROWS }, (_, at) => `+4477${10_000_000 + at}`);
  return Readable.from([Buffer.from(`to\n${numbers.join('\n')}\n`)], { objectMode: false });
}

test('Lists that a process reads at the same time do not block its event loop together', async () => {
  let [isReading, rows, most, turns] = [true, 0, 0, 0];
  const watched = (async () => {
    while (isReading) {
      await nextTurn();
      most = Math.max(most, rows);
      turns += 1;
      rows = 0;
    }
  })();
  const read = await Promise.all(
    Array.from({ length: LISTS }, async () => {
      const list = await openFile(csvStream());
      let count = 0;
      for await (const batch of list.batches) {
        rows += batch.length;
        count += batch.length;
      }
      return count;
    }),
  );
  isReading = false;
  await watched;
  expect(read).toEqual(Array.from({ length: LISTS }, () => ROWS));
  // The rows of a few chunks; without turns, many of each list.
  expect(most).toBeLessThan(8_000);
  expect(turns).toBeGreaterThan(100);
});
