import { dateFromSerial, format as formatted, isDateFormat } from 'numfmt';

/** A cell as a sheet has it. */
export interface Cell {
  /** `n` a number, `s` a shared text, `str`, `inlineStr`, `b`, `e` an error, `d` a date. */
  readonly type: string;
  /** Its value as written; empty if it has none. */
  readonly raw: string;
  readonly format: string;
  readonly isFormula: boolean;
}

/** What a cell says. */
interface CellText {
  readonly text: string;
  /** What Excel shows, if that is something else. */
  readonly shown?: string;
  /** Set for a number with more digits than Excel keeps. */
  readonly isLong?: boolean;
  /** Why it has no value that can be used; continues its line and column. */
  readonly problem?: string;
}

/** Excel keeps so many digits of a number. */
const DIGITS = 15;
/** Days between 1900 and 1904, from which dates count in files of old Macs. */
const DAYS_1904 = 1462;
/** Hours and minutes that go on beyond a day are an amount, not a time. */
const ELAPSED = /\[[hms]+\]/i;
const SCIENTIFIC = /^[0#?.]+E[+-]0+$/i;

/** The text of a cell: integers with all digits, dates in ISO 8601, other numbers as they are stored. */
export function cellText(cell: Cell, { is1904, strings }: CellContext): CellText {
  const { type, raw, isFormula } = cell;
  switch (type) {
    case 's':
      return { text: strings[Number(raw)] ?? '' };
    case 'b':
      return { text: raw === '1' ? 'TRUE' : 'FALSE' };
    case 'e':
      return { text: raw, problem: `has the error ${raw}; correct it in Excel` };
    case 'd':
      return { text: raw.replace(/T00:00:00(?:\.0+)?Z?$/, '') };
    case 'n':
      if (raw !== '') return numberText(cell, is1904);
      return isFormula
        ? { text: '', problem: 'has a formula without a result; open the workbook in Excel, and save it' }
        : { text: '' };
    default:
      return { text: raw };
  }
}

/** What cells depend on. */
interface CellContext {
  readonly is1904: boolean;
  readonly strings: readonly string[];
}

function numberText({ raw, format }: Cell, is1904: boolean): CellText {
  const value = Number(raw);
  if (!Number.isFinite(value)) return { text: raw };
  if (format === 'General' || format === '@') return plain(raw, value);
  if (isDateFormat(format) && !ELAPSED.test(format) && value >= 0)
    return { text: isoOf(is1904 ? value + DAYS_1904 : value) };
  const read = plain(raw, value);
  if (Number.isInteger(value) && SCIENTIFIC.test(format)) return read;
  const shown = shownAs(format, value);
  return shown === read.text ? read : { ...read, shown };
}

/** A number without its format: an integer with all its digits. */
function plain(raw: string, value: number): CellText {
  if (!Number.isInteger(value)) return { text: String(Number(value.toPrecision(DIGITS))) };
  const text = /^-?\d+$/.test(raw) ? raw : BigInt(value).toString();
  return text.replace('-', '').length > DIGITS ? { text, isLong: true } : { text };
}

function shownAs(format: string, value: number): string {
  try {
    return formatted(format, value).trim();
  } catch {
    // Excel does not read such a format either.
    return String(value);
  }
}

/** A date, a time, or both, as far as it has them. */
function isoOf(serial: number): string {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = dateFromSerial(serial) ?? [];
  const two = (part: number): string => String(part).padStart(2, '0');
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
  const time = `${two(hour)}:${two(minute)}${second === 0 ? '' : `:${two(second)}`}`;
  if (serial < 1) return time;
  return hour === 0 && minute === 0 && second === 0 ? date : `${date}T${time}`;
}
