import type { NumberReader } from '../../../campaign/numbers/number.js';
import type { Row } from './rows.js';

/** Rows that the warning names. */
const MAX_NAMED = 10;

/**
 * Notes rows with line breaks in a field whose lines look like rows of their own: if a quote opens on one row by mistake, and one on a later
 * row closes it, the rows in between are part of a text, and their numbers get nothing. `position`: that of the column with the numbers.
 */
export function spannedRows(read: NumberReader, position: number) {
  let count = 0;
  const named: string[] = [];
  const isNumber = (field = ''): boolean => {
    const spelling = field.replaceAll('"', '').trim();
    return spelling !== '' && read(spelling).ok;
  };
  return {
    add({ line, lines }: Row): void {
      // One of them has the number of the row itself.
      if (lines === undefined || lines.filter((fields) => isNumber(fields[position])).length < 2) return;
      count += 1;
      if (named.length < MAX_NAMED) named.push(`lines ${line} to ${line + lines.length - 1}`);
    },
    /** A warning about them, if there are any. */
    warnings(): string[] {
      if (count === 0) return [];
      const more = count > named.length ? `, and ${(count - named.length).toLocaleString('en')} more` : '';
      const subject =
        count === 1
          ? 'One row has a field with line breaks that contains what look like other rows'
          : `${count.toLocaleString('en')} rows have fields with line breaks that contain what look like other rows`;
      return [`${subject}: ${named.join('; ')}${more}. If these are rows of their own, correct the quotes.`];
    },
  };
}
