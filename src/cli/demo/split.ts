import { numberReader } from '../../campaign/number.js';
import { readCsv } from '../../import/csv/read-csv.js';
import type { RecipientInput } from '../../import/read-objects.js';
import { AUTO_SHARE_OF, COUNTRY } from './plan.js';

/**
 * The part of the list that one lane sends. The number decides which, so that every spelling of it comes to the same
 * lane and nobody is sent to twice.
 */
export async function* partOf(file: string, lane: 'main' | 'auto'): AsyncGenerator<RecipientInput> {
  const list = await readCsv(file);
  const read = numberReader(COUNTRY);
  const place = list.columns.indexOf('phone');
  for await (const batch of list.batches) {
    for (const { fields } of batch) {
      const to = fields[place] ?? '';
      if (laneOf(read(to)) !== lane) continue;
      const values = Object.fromEntries(list.columns.map((column, at) => [column, fields[at] ?? '']));
      yield { ...values, to };
    }
  }
}

function laneOf(read: ReturnType<ReturnType<typeof numberReader>>): 'main' | 'auto' {
  return read.ok && Number(read.number.slice(-4)) % AUTO_SHARE_OF === 0 ? 'auto' : 'main';
}
