import { setImmediate as othersTurn } from 'node:timers/promises';
import { InputError } from '../campaign/errors.js';
import { readerOf } from '../campaign/requested-number.js';
import type { InvalidRow } from '../campaign/views.js';
import type { LocalConfig } from '../config/index.js';
import type { Suppression } from '../recipients/suppression.js';
import type { Volley } from '../volley.js';
import { checkRows } from './check-rows.js';
import { numbersAlone } from './headerless.js';
import { ListError } from './list-error.js';
import { readCsv } from './rows.js';

/** Reading a million numbers takes seconds, in which the process has other things to do. */
const READ_AT_ONCE = 1_000;

/** Numbers that are never sent to, in any spelling; a list with one that cannot be read is refused whole. */
export function suppressionDesk({
  config,
  suppression,
}: {
  readonly config: LocalConfig;
  readonly suppression: Suppression;
}): Volley['suppression'] {
  const readAll = async (spellings: Iterable<string>, country = config.defaultCountry): Promise<string[]> => {
    const read = readerOf(country);
    const numbers: string[] = [];
    for (const spelling of spellings) {
      const outcome = read(spelling);
      if (!outcome.ok) {
        throw new InputError(`number ${numbers.length + 1}: ${outcome.reason}`, {
          field: `numbers/${numbers.length}`,
        });
      }
      numbers.push(outcome.number);
      if (numbers.length % READ_AT_ONCE === 0) await othersTurn();
    }
    return numbers;
  };
  return {
    add: async (numbers, { country } = {}) => suppression.add(await readAll(numbers, country)),
    remove: async (numbers, { country } = {}) => suppression.remove(await readAll(numbers, country)),
    list: () => suppression.list(),
    async import(path, { toColumn, country } = {}) {
      try {
        const list = await checkRows(numbersAlone(await readCsv(path)), {
          toColumn,
          defaultCountry: country ?? config.defaultCountry,
        });
        const invalid: InvalidRow[] = [];
        let added = 0;
        for await (const batch of list.batches) {
          invalid.push(...batch.filter((row) => row.kind === 'invalid'));
          added += await suppression.add(
            batch.filter((row) => row.kind === 'recipient').map(({ number }) => number),
          );
        }
        return { added, rows: list.counts().rows, invalid };
      } catch (error) {
        if (error instanceof ListError) throw new InputError(error.message, { cause: error });
        throw error;
      }
    },
  };
}
