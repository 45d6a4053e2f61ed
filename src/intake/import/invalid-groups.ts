import type { ErrorItem } from '../../campaign/errors/error-codes.js';
import { likelyCountry } from '../../campaign/numbers/likely-country.js';
import { type InvalidGroup, type InvalidRow, UNIFORM_CODES } from '../../campaign/views/list-views.js';
import type { Preview } from '../../campaign/views/preview-views.js';

const MAX_LISTED = 20;
/** Rows that a group names. */
const MAX_NAMED = 3;
/** Numbers without a country that are tried in a country. */
const MAX_TRIED = 50;

/** Characters of a value that a problem shows. */
const MAX_VALUE = 64;

/** Characters of values that all problems show together: a row may have a million. */
const MAX_VALUES = 1_000_000;

/** What is counted of an invalid row. */
type CountedRow = Pick<InvalidRow, 'code' | 'column' | 'line' | 'rowNumber' | 'row'>;

/** What is wrong with a row, without the row. */
const errorOf = ({ row: _values, rowNumber: _row, ...error }: InvalidRow): ErrorItem => error;

/** Collects the invalid rows of a list while it is read: all of them are counted, and a few are kept. `maxProblems`: so many in full. */
export function invalidRows(maxProblems = 0) {
  const groups = new Map<string, { -readonly [Key in keyof InvalidGroup]: InvalidGroup[Key] }>();
  const errors: ErrorItem[] = [];
  const problems: Preview['problems'][number][] = [];
  const withoutCountry: (readonly string[])[] = [];
  let characters = 0;
  return {
    /** `inFull`: the row as callers see it, which takes ten times as long as counting it. */
    add(counted: CountedRow, columns: readonly string[], inFull: () => InvalidRow): void {
      const { code, column, line, row, rowNumber = line } = counted;
      if (problems.length < maxProblems) {
        const { message } = inFull();
        const value = column === null ? null : (row[columns.indexOf(column)] ?? '').slice(0, MAX_VALUE);
        characters += row.reduce((sum, { length }) => sum + length, 0);
        const values = characters > MAX_VALUES ? null : row;
        problems.push({ code, line, row: rowNumber, column, value, values, message });
      }
      const name = `${code} ${column}`;
      const group = groups.get(name) ?? {
        code,
        column,
        count: 0,
        lines: [],
        examples: [],
        country: null,
        countryColumn: null,
      };
      groups.set(name, group);
      group.count += 1;
      if (group.lines.length < MAX_NAMED) {
        group.lines = [...group.lines, line];
        group.examples = [...group.examples, errorOf(inFull())];
      }
      if (code === 'noCountry' && withoutCountry.length < MAX_TRIED) withoutCountry.push(row);
      if (errors.length >= MAX_LISTED) return;
      if (UNIFORM_CODES.includes(code) && group.count > MAX_NAMED) return;
      errors.push(errorOf(inFull()));
    },
    /** What is wrong with the first of the rows. */
    errors: (): readonly ErrorItem[] => errors,
    problems: (): Preview['problems'] => problems,
    /**
     * All rows, by their code. `international`: numbers that suggest a country for those without one. `countryColumn`: a column that contains
     * countries and is not used, which suggests more.
     */
    groups(
      columns: readonly string[],
      international: readonly string[],
      countryColumn: string | null,
    ): InvalidGroup[] {
      return [...groups.values()].map((group) => {
        if (group.code !== 'noCountry') return group;
        const numbers = withoutCountry.map((row) => row[columns.indexOf(group.column ?? '')] ?? '');
        const country = countryColumn === null ? likelyCountry(numbers, international) : null;
        return { ...group, country, countryColumn };
      });
    },
  };
}
