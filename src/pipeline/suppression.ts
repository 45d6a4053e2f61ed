import { InputError } from '../campaign/errors.js';
import { numberReader } from '../campaign/number.js';
import type { InvalidRow } from '../campaign/views.js';
import type { LocalConfig } from '../config.js';
import { numbersAlone } from '../list/headerless.js';
import { ListError } from '../list/list-error.js';
import { checkRows } from '../list/recipients.js';
import { readCsv } from '../list/rows.js';
import type { Suppression } from '../store/suppression.js';
import type { Volley } from './volley.js';

/** Numbers that are never sent to, in any spelling; a list with one that cannot be read is refused whole. */
export function suppressionDesk({
  config,
  suppression,
}: {
  readonly config: LocalConfig;
  readonly suppression: Suppression;
}): Volley['suppression'] {
  const readAll = (spellings: Iterable<string>): string[] => {
    const read = numberReader(config.defaultCountry);
    return [...spellings].map((spelling) => {
      const outcome = read(spelling);
      if (!outcome.ok) throw new InputError(`number ${JSON.stringify(spelling)}: ${outcome.reason}`);
      return outcome.number;
    });
  };
  return {
    add: async (numbers) => suppression.add(readAll(numbers)),
    remove: async (numbers) => suppression.remove(readAll(numbers)),
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
