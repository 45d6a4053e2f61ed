import { quotedList } from '../../../campaign/errors/nearest.js';
import { countryNamed, folded } from '../../../campaign/numbers/country-names.js';
import { wantedColumn } from './number-column.js';
import { ListError, type Row, repeatedName } from './rows.js';

/** Usual names of a column with countries, {@link folded}. */
const USUAL_NAMES = new Set(
  `
    country countries countrycode countryname countryiso countryisocode isocountry isocountrycode
    isocode iso iso2 iso3 iso3166 alpha2 alpha3 nation land lander laender landercode laendercode
    landerkurzel laenderkuerzel landescode landeskennung landname staat pays codepays codedupays nompays
    nomdupays pais codigopais codigodepais codigodelpais paese codicepaese nazione landkode landekode
    landskode landskod landkod landenavn maa maakoodi maatunnus
  `
    .trim()
    .split(/\s+/),
);

/** Of the cells of a column, so many must be countries. Empty cells do not count. */
const MOST = 0.95;

/** Spellings of countries that a list remembers: a file may write each of its cells in another way. */
const MAX_REMEMBERED = 1_000;
const MAX_QUOTED = 40;

/** A column with the country of each row. */
export interface CountryColumn {
  readonly name: string;
  /** Whether numbers in national format are read in the country of their row. */
  readonly isUsed: boolean;
  /** The country of a row (two capital letters); undefined if its cell is empty, and null if it is not a country. */
  countryOf(row: Row): string | null | undefined;
  /** Why the cell of a row is not a country, and what would be right. */
  problemOf(row: Row): string;
}

/**
 * Finds the column with the countries of the rows: the one `wanted` by the caller; else, if `isDetected`, the one with a usual name whose cells
 * in the first rows are countries, except for a few. A column with a usual name and any countries that is not chosen in this way is returned as
 * one that is not used; null if there is none. Throws a {@link ListError} if there is no column `wanted`, and if two columns fit and differ.
 */
export function countryColumn(
  columns: readonly string[],
  first: readonly Row[],
  { wanted, isDetected }: { readonly wanted?: string | undefined; readonly isDetected: boolean },
): CountryColumn | null {
  const columnAt = (at: number, isUsed: boolean): CountryColumn => readColumn(columns[at] ?? '', at, isUsed);
  if (wanted !== undefined) return columnAt(wantedColumn(columns, wanted), true);
  const usual = columns.flatMap((name, at) =>
    USUAL_NAMES.has(folded(repeatedName(name) ?? name)) ? [at] : [],
  );
  const shares = new Map(usual.map((at) => [at, shareOfCountries(first, at)]));
  const fitting = isDetected ? usual.filter((at) => (shares.get(at) ?? 0) >= MOST) : [];
  const [only, ...others] = fitting.map((at) => columnAt(at, true));
  if (only === undefined) {
    const unused = usual.find((at) => (shares.get(at) ?? 0) > 0);
    return unused === undefined ? null : columnAt(unused, false);
  }
  const differing = others.find((other) =>
    first.some((row) => differ(only.countryOf(row), other.countryOf(row))),
  );
  if (differing !== undefined) {
    throw new ListError(
      `The column with the countries is not clear: ${quotedList([only.name, differing.name])} differ. To name it, set \`countryColumn\`.`,
    );
  }
  return only;
}

/** What to do about a number in national format without a country, in place of `, or set \`country\`` in its reason. */
export function withCountryAdvice(reason: string, column: CountryColumn | null): string {
  if (column === null) return reason;
  const name = JSON.stringify(column.name);
  return reason.replace(
    ', or set `country`',
    column.isUsed
      ? `, enter its country in column ${name}, or set \`country\``
      : `, or set \`countryColumn\`: column ${name} contains countries`,
  );
}

/** Two cells differ if they are different countries: an empty one says nothing. */
function differ(one: string | null | undefined, other: string | null | undefined): boolean {
  return typeof one === 'string' && typeof other === 'string' && one !== other;
}

function shareOfCountries(rows: readonly Row[], at: number): number {
  const filled = rows.map(({ fields }) => fields[at] ?? '').filter((cell) => cell.trim() !== '');
  return filled.filter((cell) => countryNamed(cell) !== undefined).length / Math.max(1, filled.length);
}

function readColumn(name: string, at: number, isUsed: boolean): CountryColumn {
  const known = new Map<string, string | null | undefined>([['', undefined]]);
  return {
    name,
    isUsed,
    countryOf({ fields, unusable }) {
      if (unusable?.has(at) === true) return null;
      const cell = fields[at] ?? '';
      if (known.has(cell)) return known.get(cell);
      const country = cell.trim() === '' ? undefined : (countryNamed(cell) ?? null);
      if (known.size < MAX_REMEMBERED) known.set(cell, country);
      return country;
    },
    problemOf: ({ fields, unusable }) =>
      unusable?.get(at) ??
      `${JSON.stringify((fields[at] ?? '').slice(0, MAX_QUOTED))} is not a country; enter a code such as DE, or a name such as Germany`,
  };
}
