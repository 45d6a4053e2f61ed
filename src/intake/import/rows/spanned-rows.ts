import type { NumberReader } from '../../../campaign/numbers/number.js';
import { namedRows } from './named-rows.js';
import type { Row } from './rows.js';

/**
 * Notes rows with line breaks in a field whose lines look like rows of their own: if a quote opens on one row by mistake, and one on a later
 * row closes it, the rows in between are part of a text, and their numbers get nothing. `position`: that of the column with the numbers.
 */
export function spannedRows(read: NumberReader, position: number) {
  const spanned = namedRows('; ');
  const isNumber = (field = ''): boolean => {
    const spelling = field.replaceAll('"', '').trim();
    return spelling !== '' && read(spelling).ok;
  };
  return {
    add({ line, lines }: Row): void {
      // One of them has the number of the row itself.
      if (lines === undefined || lines.filter((fields) => isNumber(fields[position])).length < 2) return;
      spanned.add(`lines ${line} to ${line + lines.length - 1}`);
    },
    /** A warning about them, if there are any. */
    warnings(): string[] {
      const count = spanned.count();
      if (count === 0) return [];
      const subject =
        count === 1
          ? 'One row has a field with line breaks that contains what look like other rows'
          : `${count.toLocaleString('en')} rows have fields with line breaks that contain what look like other rows`;
      return [`${subject}: ${spanned.text()}. If these are rows of their own, correct the quotes.`];
    },
  };
}
