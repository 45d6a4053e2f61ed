import { setImmediate as nextTick } from 'node:timers/promises';
import { InputError } from '../campaign/errors.js';
import type { InvalidRow } from '../campaign/views.js';
import type { LocalConfig } from '../config/index.js';
import type { Suppression } from '../recipients/suppression.js';
import type { CsvStream } from './campaign-input.js';

/** How numbers are read. */
export interface NumberOptions {
  /** ISO 3166 code of nationally written numbers; default: `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
}

/** The result of importing a file. */
export interface SuppressionImport {
  /** Numbers that were not on the list before. */
  readonly added: number;
  /** Rows of the file, invalid ones included. */
  readonly rows: number;
  readonly invalid: readonly InvalidRow[];
}

/** The numbers that Volley never sends to. Numbers are accepted in any spelling and listed in E.164. */
export interface SuppressionList {
  /**
   * Adds numbers and returns how many are new. If one of them is invalid, nothing is added: the promise rejects with an
   * InputError whose `field` is `numbers/3` for the fourth number.
   */
  add(numbers: Iterable<string>, options?: NumberOptions): Promise<number>;
  /** Removes numbers and returns how many were on the list. Invalid numbers reject as in `add`. */
  remove(numbers: Iterable<string>, options?: NumberOptions): Promise<number>;
  /** Every number once, in no particular order. */
  list(): AsyncIterable<string>;
  /**
   * Adds the numbers of a CSV file, given by its path or as a stream. The number column is found as in a campaign's list; a file with a single column of
   * numbers needs no header. Valid rows are added even if other rows are invalid.
   */
  import(
    list: string | CsvStream,
    options?: NumberOptions & { readonly toColumn?: string | undefined },
  ): Promise<SuppressionImport>;
}

/** Reading a million numbers takes seconds; after this many, other work of the process gets a turn. */
const NUMBERS_PER_TICK = 1_000;

/**
 * Opens the suppression list for callers, who write numbers in any spelling. The metadata of all numbering plans and the
 * CSV parser load when a call needs them.
 */
export function openSuppressionList({
  config,
  suppression,
}: {
  readonly config: LocalConfig;
  readonly suppression: Suppression;
}): SuppressionList {
  const readAll = async (spellings: Iterable<string>, country = config.defaultCountry): Promise<string[]> => {
    const { numberReader } = await import('../campaign/number.js');
    const read = numberReader(country);
    const numbers: string[] = [];
    for (const spelling of spellings) {
      const outcome = read(spelling);
      if (!outcome.ok) {
        throw new InputError(`number ${numbers.length + 1}: ${outcome.reason}`, {
          field: `numbers/${numbers.length}`,
        });
      }
      numbers.push(outcome.number);
      if (numbers.length % NUMBERS_PER_TICK === 0) await nextTick();
    }
    return numbers;
  };
  return {
    add: async (numbers, { country } = {}) => suppression.add(await readAll(numbers, country)),
    remove: async (numbers, { country } = {}) => suppression.remove(await readAll(numbers, country)),
    list: () => suppression.list(),
    async import(input, { toColumn, country } = {}) {
      const [{ checkRows }, { readCsv }, { withOptionalHeader }] = await Promise.all([
        import('./check-rows.js'),
        import('./csv/read-csv.js'),
        import('./number-column.js'),
      ]);
      const list = await checkRows(
        withOptionalHeader(await readCsv(typeof input === 'string' ? input : input.csv)),
        {
          toColumn,
          defaultCountry: country ?? config.defaultCountry,
        },
      );
      const invalid: InvalidRow[] = [];
      let added = 0;
      for await (const batch of list.batches) {
        invalid.push(...batch.filter((row) => row.kind === 'invalid'));
        added += await suppression.add(
          batch.filter((row) => row.kind === 'recipient').map(({ number }) => number),
        );
      }
      return { added, rows: list.counts().rows, invalid };
    },
  };
}
