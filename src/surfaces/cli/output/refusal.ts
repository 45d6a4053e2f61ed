import { type RefusalCode, remedyOf } from '../../../campaign/limits/refusal.js';
import type { PlannedCost } from '../../../campaign/views/preview-views.js';
import { withOptions } from './option-names.js';
import { grouped } from './text.js';

/** What people can do about a campaign that is refused, with the flags of the command line. */
export function fixOf(code: RefusalCode, list: Parameters<typeof remedyOf>[1]): string {
  const fix = withOptions(`${remedyOf(code, list)}.`);
  return code === 'repeated'
    ? `${fix} To send it only to numbers that do not get it yet, add --only-new.`
    : fix;
}

/** Numbers without a price that people see. */
const UNPRICED_SHOWN = 10;

/** The lines of numbers without a price. */
export function unpricedList({ unpriced, unpricedRows }: PlannedCost): string {
  const shown = unpricedRows.slice(0, UNPRICED_SHOWN);
  const more = unpriced > shown.length ? `, and ${grouped(unpriced - shown.length)} more` : '';
  return `${shown.map(({ line, to }) => `line ${line} (${to})`).join(', ')}${more}`;
}
