import { namesMeant, quotedList } from '../../../campaign/errors/nearest.js';
import type { NumberReader } from '../../../campaign/numbers/number.js';
import { ListError, type Row, type Rows, repeatedName } from './rows.js';

/** Usual names of the column with the phone numbers, in lower case, letters and digits only. */
const USUAL_NAMES = new Set(
  `
    to recipient recipients msisdn number phone phonenumber phoneno telephone telephonenumber tel mobile
    mobilenumber mobileno mobilephone mobilephonenumber cell cellphone cellnumber cellphonenumber gsm
    sms smsnumber contactnumber telefon telefonnummer telefonnr tlf tlfnr mobil mobilnummer mobilnr
    handy handynummer nummer telefono movil telephoneportable portable puhelin matkapuhelin
  `
    .trim()
    .split(/\s+/),
);

/** How many rows are examined to find the column by its values. */
const ROWS_EXAMINED = 50;

/** Fewer digits could be a date or a house number. */
const MIN_DIGITS_OF_A_NUMBER = 9;

/**
 * Finds the column with the phone numbers and returns its position: the column `wanted` by the caller; else the only
 * column with a usual name; else the only column whose first values are all numbers that `read` accepts. Throws a {@link ListError} that
 * names the columns if none of these decides, and one that says so if the header is missing: otherwise the first
 * recipient would be taken for the header. `countryOf`: the country of a row, if it has its own.
 */
export function numberColumn(
  columns: readonly string[],
  first: readonly Row[],
  read: NumberReader,
  wanted: string | undefined,
  countryOf: (row: Row) => string | null | undefined = () => undefined,
): number {
  if (wanted !== undefined) return wantedColumn(columns, wanted);
  const all = columns.map((_, position) => position);
  const usual = all.filter((position) => USUAL_NAMES.has(plain(columns[position] ?? '')));
  const [only] = usual;
  if (only !== undefined && usual.length === 1) return only;
  const isNumber = (position: number): boolean =>
    looksLikeNumber(columns[position] ?? '') ||
    (read(columns[position] ?? '').ok && containsNumbers(first, position, read, countryOf));
  const number = usual.length > 0 ? undefined : all.find(isNumber);
  if (number !== undefined) {
    throw new ListError(
      `The header is missing: line 1 contains the number ${columns[number]}. Add a line above it that names the columns, such as ${columns.length === 1 ? 'phone' : 'phone,name'}.`,
    );
  }
  const candidates = usual.length > 0 ? usual : all;
  const matching = candidates.filter((position) => containsNumbers(first, position, read, countryOf));
  const [found] = matching;
  if (found !== undefined && matching.length === 1) return found;
  const ambiguous = matching.length > 1 ? matching : usual;
  const why =
    ambiguous.length > 1
      ? `several columns could contain them (${quotedList(ambiguous.map((position) => columns[position] ?? ''))})`
      : 'no column contains only valid phone numbers';
  throw new ListError(
    `The column with the phone numbers is not clear: ${why}. To name it, set \`toColumn\`. The columns are ${quotedList(columns)}.`,
  );
}

/** Whether a column name can only be a phone number, in any country: then the first line is a row, and the header is missing. */
function looksLikeNumber(name: string): boolean {
  const text = name.trim();
  return /^[+(]?\d[\d\s()./-]*$/.test(text) && text.replace(/\D/g, '').length >= MIN_DIGITS_OF_A_NUMBER;
}

/** Rows that may be above the header: titles, dates, and notes of a report. */
const ROWS_ABOVE = 20;
const ANY_DELIMITER = /[,;\t|]/;
/** As many as the shortest numbers have. */
const SOME_DIGITS = /\p{Nd}(?:\P{Nd}{0,3}\p{Nd}){4}/u;

/**
 * Throws a {@link ListError} if the first line of a file is a title and its header is further down: if a line names a column with phone
 * numbers, the next one has digits in it, and no line above has a number or such a name. `takesHeaderLine`: whether a person can name the line.
 */
export function refuseTitle(
  line: number,
  names: readonly string[],
  below: readonly Pick<Row, 'line' | 'fields'>[],
  takesHeaderLine = false,
): void {
  const cellsOf = ({ fields }: Pick<Row, 'fields'>): string[] =>
    fields.flatMap((field) => field.split(ANY_DELIMITER)).map((cell) => cell.replaceAll('"', '').trim());
  const isUsual = (cell: string): boolean => USUAL_NAMES.has(plain(cell));
  if (names.some((name) => isUsual(name) || looksLikeNumber(name))) return;
  for (const [at, row] of below.slice(0, ROWS_ABOVE).entries()) {
    const cells = cellsOf(row);
    if (cells.some(looksLikeNumber)) return;
    const position = cells.findIndex(isUsual);
    const next = below[at + 1];
    if (position === -1 || next === undefined || !SOME_DIGITS.test(cellsOf(next)[position] ?? '')) continue;
    const remedy = takesHeaderLine
      ? `Set \`headerLine\` to \`${row.line}\`, or delete everything above it`
      : `Delete everything above line ${row.line}`;
    throw new ListError(
      `The header seems to be on line ${row.line} (${quotedList(cells.filter(Boolean))}), not on line ${line}. ${remedy}.`,
      { line: row.line },
    );
  }
}

/** A list whose header is nothing but a phone number, in any spelling, with that as its first row; any other list as it is. */
export function withOptionalHeader(list: Rows): Rows {
  const [only] = list.columns;
  if (only === undefined || list.columns.length > 1 || !SOME_DIGITS.test(only)) return list;
  const batches = async function* (): AsyncGenerator<readonly Row[]> {
    yield [{ line: 1, fields: [only], fault: null }];
    yield* list.batches;
  };
  return { ...list, columns: ['number'], batches: batches() };
}

/** The position of the column that a caller names. Throws a {@link ListError} if there is none. */
export function wantedColumn(columns: readonly string[], wanted: string): number {
  const meant = namesMeant(wanted.trim(), columns);
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return columns.indexOf(only);
  throw new ListError(
    `There is no column ${JSON.stringify(wanted)}. The columns are ${quotedList(columns)}.`,
  );
}

function containsNumbers(
  rows: readonly Row[],
  position: number,
  read: NumberReader,
  countryOf: (row: Row) => string | null | undefined,
): boolean {
  const isFilled = (row: Row): boolean => (row.fields[position]?.trim() ?? '') !== '';
  const filled = rows.slice(0, ROWS_EXAMINED).filter(isFilled);
  return filled.length > 0 && filled.every((row) => read(row.fields[position] ?? '', countryOf(row)).ok);
}

function plain(name: string): string {
  return (repeatedName(name) ?? name).toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
