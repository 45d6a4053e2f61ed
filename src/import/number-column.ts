import type { NumberReader } from '../campaign/number.js';
import { isNumberLike } from './headerless.js';
import { ListError } from './list-error.js';
import type { Row } from './row.js';

/** What people call the column that holds the numbers, in lower case without spaces and signs. */
const USUAL_NAMES = new Set([
  ...['to', 'recipient', 'recipients', 'msisdn', 'number', 'phone', 'phonenumber', 'phoneno', 'telephone'],
  ...['telephonenumber', 'tel', 'mobile', 'mobilenumber', 'mobileno', 'mobilephone', 'mobilephonenumber'],
  ...['cell', 'cellphone', 'cellnumber', 'cellphonenumber', 'gsm', 'sms', 'smsnumber', 'contactnumber'],
  ...['telefon', 'telefonnummer', 'telefonnr', 'tlf', 'tlfnr', 'mobil', 'mobilnummer', 'mobilnr', 'handy'],
  ...[
    'handynummer',
    'nummer',
    'telefono',
    'movil',
    'telephoneportable',
    'portable',
    'puhelin',
    'matkapuhelin',
  ],
]);

/** Rows looked at to tell by their values which column holds the numbers. */
const ROWS_LOOKED_AT = 50;

/**
 * The place of the column that holds the numbers: the one asked for; else the only one with a usual name; else the
 * only one whose first values are all numbers that can be sent to. Throws a {@link ListError} naming the columns, and
 * where the header is missing, so that nobody in the first line is taken for it.
 */
export function numberColumn(
  columns: readonly string[],
  first: readonly Row[],
  read: NumberReader,
  wanted: string | undefined,
): number {
  if (wanted !== undefined) return wantedColumn(columns, wanted);
  const places = columns.map((_, place) => place);
  const usual = places.filter((place) => USUAL_NAMES.has(plain(columns[place] ?? '')));
  const candidates = usual.length > 0 ? usual : places;
  const [only] = usual;
  if (only !== undefined && usual.length === 1) return only;
  const person = usual.length > 0 ? undefined : columns.find(isNumberLike);
  if (person !== undefined) {
    throw new ListError(
      `The header is missing: the first line holds the number ${person}. Put a line above it that names the columns, such as ${columns.length === 1 ? 'phone' : 'phone,name'}.`,
    );
  }
  const holding = candidates.filter((place) => holdsNumbers(first, place, read));
  const [found] = holding;
  if (found !== undefined && holding.length === 1) return found;
  const unclear = holding.length > 1 ? holding : usual;
  const why =
    unclear.length > 1
      ? `several columns could hold the numbers: ${list(unclear.map((place) => columns[place] ?? ''))}`
      : 'no column looks like one of phone numbers';
  throw new ListError(
    `Which column to send to is not clear: ${why}. Name it (--to-column, or toColumn); the file has ${list(columns)}.`,
  );
}

function wantedColumn(columns: readonly string[], wanted: string): number {
  const exact = columns.indexOf(wanted.trim());
  if (exact !== -1) return exact;
  const alike = columns.filter((column) => column.toLowerCase() === wanted.trim().toLowerCase());
  const [only] = alike;
  if (only !== undefined && alike.length === 1) return columns.indexOf(only);
  throw new ListError(`There is no column ${JSON.stringify(wanted)}; the file has ${list(columns)}.`);
}

function holdsNumbers(rows: readonly Row[], place: number, read: NumberReader): boolean {
  const values = rows.slice(0, ROWS_LOOKED_AT).map((row) => row.fields[place]?.trim() ?? '');
  const filled = values.filter((value) => value !== '');
  return filled.length > 0 && filled.every((value) => read(value).ok);
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

function list(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(', ');
}
