import { likelyCountry } from '../../campaign/likely-country.js';
import { type InvalidGroup, type InvalidRow, UNIFORM_CAUSES } from '../../campaign/preview-views.js';

const MAX_PROBLEMS = 20;
/** Rows that a group names. */
const MAX_NAMED = 3;
/** Numbers without a country that are tried in a country. */
const MAX_TRIED = 50;

/** Collects the invalid rows of a list while it is read: all of them are counted, and a few are kept. */
export function invalidRows() {
  const groups = new Map<string, { -readonly [Key in keyof InvalidGroup]: InvalidGroup[Key] }>();
  const problems: InvalidRow[] = [];
  const withoutCountry: InvalidRow[] = [];
  return {
    add(row: InvalidRow): void {
      const { cause, column, line } = row;
      const name = `${cause} ${column}`;
      const group = groups.get(name) ?? {
        cause,
        column,
        count: 0,
        lines: [],
        country: null,
        countryColumn: null,
      };
      groups.set(name, group);
      group.count += 1;
      if (group.lines.length < MAX_NAMED) group.lines = [...group.lines, line];
      if (cause === 'noCountry' && withoutCountry.length < MAX_TRIED) withoutCountry.push(row);
      if (UNIFORM_CAUSES.includes(cause) && group.count > MAX_NAMED) return;
      if (problems.length < MAX_PROBLEMS) problems.push(row);
    },
    /** The first of the rows, with a reason each. */
    problems: (): readonly InvalidRow[] => problems,
    /**
     * All rows, by their cause. `international`: numbers that suggest a country for those without one. `countryColumn`: a column that contains
     * countries and is not used, which suggests more.
     */
    groups(
      columns: readonly string[],
      international: readonly string[],
      countryColumn: string | null,
    ): InvalidGroup[] {
      return [...groups.values()].map((group) => {
        if (group.cause !== 'noCountry') return group;
        const numbers = withoutCountry.map(({ row }) => row[columns.indexOf(group.column ?? '')] ?? '');
        const country = countryColumn === null ? likelyCountry(numbers, international) : null;
        return { ...group, country, countryColumn };
      });
    },
  };
}
