import type { InvalidGroup, PlannedCost, Preview } from '../../campaign/preview-views.js';
import type { RefusalCode } from '../../campaign/refusal.js';
import { grouped, oneLine } from './text.js';

type Listed = Pick<Preview, 'invalid' | 'rows' | 'invalidGroups' | 'cost'>;

/** What people can do about a campaign that is refused, with the flags of the command line. */
export const FIX = {
  noRows: () => 'Add at least one recipient.',
  invalidRows: fixOfRows,
  differentTexts: () =>
    'Send all messages with --duplicates keep, or only the first to each number with --duplicates first.',
  noPrice: ({ cost }) =>
    `Add ${cost?.unpriced === 1 ? 'its prefix' : 'their prefixes'} to PRICE_FILE, set PRICE_PER_SEGMENT, or leave out --max-cost.`,
  overBudget: () => 'Raise --max-cost, or shorten the list or the text.',
  repeated: () =>
    'To send it again, add --again; to send it only to numbers that do not get it yet, add --only-new.',
  conflict: () => 'Use the same values, or another --idempotency-key.',
} as const satisfies Readonly<Record<RefusalCode, (list: Listed) => string>>;

function fixOfRows({ invalid, rows, invalidGroups }: Listed): string {
  const leaveOut = invalid === rows ? '' : ', or leave them out with --skip-invalid';
  const national = invalidGroups.find(({ code }) => code === 'noCountry');
  if (national === undefined) return `Fix them${leaveOut}.`;
  const country = `Add ${countryFlag(national)}`;
  if (national.count === invalid) return `${country}${leaveOut}.`;
  return `${country}, and fix the others${leaveOut}.`;
}

/** `--country-column Land` if the list has such a column; otherwise `--country GB`, or how to write it if no country is likely. */
export function countryFlag({
  country,
  countryColumn,
}: Pick<InvalidGroup, 'country' | 'countryColumn'>): string {
  if (countryColumn !== null)
    return `--country-column ${/^[\p{L}\p{N}_.-]+$/u.test(countryColumn) ? countryColumn : JSON.stringify(oneLine(countryColumn))}`;
  return `--country ${country ?? 'with their country, such as --country GB'}`;
}

/** Numbers without a price that people see. */
const UNPRICED_SHOWN = 10;

/** The lines of numbers without a price. */
export function unpricedList({ unpriced, unpricedRows }: PlannedCost): string {
  const shown = unpricedRows.slice(0, UNPRICED_SHOWN);
  const more = unpriced > shown.length ? `, and ${grouped(unpriced - shown.length)} more` : '';
  return `${shown.map(({ line, to }) => `line ${line} (${to})`).join(', ')}${more}`;
}
