import { grouped } from '../../../base/counted.js';
import { listed } from '../../../campaign/errors/listed.js';
import { nameOfCountry } from '../../../campaign/numbers/country-names.js';
import { callingCodeOf, countryOfNumber, planOfCountry } from '../../../campaign/numbers/numbering-plan.js';
import type { NumbersOfCountry } from '../../../campaign/views/list-views.js';
import type { CountryColumn } from './country-column.js';
import { type NamedRows, namedRows } from './named-rows.js';

/** A number of a list, and how it was read. */
interface ReadRow {
  readonly line: number;
  /** E.164 with its plus. */
  readonly number: string;
  /** Whether it was written without its calling code. */
  readonly isNational: boolean;
  /** The country that its row names; undefined if it names none, and null if that is not a country. */
  readonly country: string | null | undefined;
}

/**
 * Counts the numbers of a list by country while it is read, and notes rows whose country is doubtful. `home`: the country in which numbers in
 * national format are read unless `column` is used and names another. `column`: the column with countries; null if there is none.
 */
export function numberCountries(home: string | undefined, column: CountryColumn | null) {
  const counts = new Map<string, number>();
  const national = namedRows();
  const contradicted = namedRows();
  const isUsed = column?.isUsed === true;
  const byCountry = (): NumbersOfCountry[] =>
    [...counts]
      .map(([key, numberCount]) =>
        key.startsWith('+')
          ? { country: null, callingCode: key.slice(1), numberCount }
          : { country: key, callingCode: planOfCountry(key)?.callingCode ?? '', numberCount },
      )
      .sort((one, other) => other.numberCount - one.numberCount);

  return {
    add({ line, number, isNational, country }: ReadRow): void {
      const own = countryOfNumber(number) ?? `+${callingCodeOf(number)}`;
      counts.set(own, (counts.get(own) ?? 0) + 1);
      const hasCountry = typeof country === 'string';
      if (isNational && !(isUsed && hasCountry)) national.add(line);
      if (!hasCountry || isNational === isUsed) return;
      // Countries that share a calling code read their numbers alike.
      const { callingCode = '' } = planOfCountry(country) ?? {};
      if (!number.startsWith(callingCode, 1))
        contradicted.add(`line ${line} (${shownCountry(own)}, not ${nameOfCountry(country)})`);
    },
    /** The numbers by country, the commonest first. */
    counts: byCountry,
    /** What is doubtful about the countries, in sentences for people. */
    warnings(): string[] {
      const contradiction = contradictionWarning(contradicted, column);
      if (!isUsed && contradiction.length > 0) return contradiction;
      return [...mixedWarning(home, national, byCountry(), column), ...contradiction];
    },
  };
}

/** Numbers in national format beside numbers with other calling codes. */
function mixedWarning(
  home: string | undefined,
  national: NamedRows,
  counts: readonly NumbersOfCountry[],
  column: CountryColumn | null,
): string[] {
  const plan = home === undefined ? undefined : planOfCountry(home);
  const count = national.count();
  if (home === undefined || plan === undefined || count === 0) return [];
  const others = counts.filter(({ callingCode }) => callingCode !== plan.callingCode);
  const abroad = others.reduce((sum, { numberCount }) => sum + numberCount, 0);
  if (abroad === 0) return [];
  const subject =
    count === 1 ? '1 number in national format is' : `${grouped(count)} numbers in national format are`;
  const contrast =
    abroad === 1
      ? '1 number has another calling code'
      : `${grouped(abroad)} numbers have other calling codes`;
  const advice =
    column?.isUsed === true
      ? `enter the country in column ${JSON.stringify(column.name)}`
      : 'add a column with the country of each row, and name it in `countryColumn`';
  return [
    `${subject} read as +${plan.callingCode} (${nameOfCountry(home)}), but ${contrast}: ${listed(others.map(countryText))}. If any of them is from another country, ${advice}: ${national.lines()}.`,
  ];
}

/** Numbers of another country than their row says. */
function contradictionWarning(contradicted: NamedRows, column: CountryColumn | null): string[] {
  const count = contradicted.count();
  if (count === 0 || column === null) return [];
  const name = JSON.stringify(column.name);
  const rows = contradicted.text();
  return [
    column.isUsed
      ? `${count === 1 ? '1 number has' : `${grouped(count)} numbers have`} the calling code of another country than column ${name} says: ${rows}. A number with a calling code is used as it is written.`
      : `${count === 1 ? '1 number in national format is' : `${grouped(count)} numbers in national format are`} read in another country than column ${name} says: ${rows}. To read each number in the country of its row, set \`countryColumn\`.`,
  ];
}

/** A country by its name, and a calling code as it is. */
const shownCountry = (key: string): string => (key.startsWith('+') ? key : nameOfCountry(key));

/** `Germany (+49) 412` */
export function countryText({ country, callingCode, numberCount }: NumbersOfCountry): string {
  return country === null
    ? `+${callingCode} ${grouped(numberCount)}`
    : `${nameOfCountry(country)} (+${callingCode}) ${grouped(numberCount)}`;
}
