import { listed } from './listed.js';
import type { Preview, Refusal } from './preview-views.js';

/*
 * Why a campaign is refused, in one text for each reason. Each surface adds what to do about it, in its own words: a flag, or the name of a
 * member. The texts name no recipient, because schedules keep them.
 */

/** What a campaign may be refused for. */
export type RefusalCode = Refusal['code'] | 'conflict';

/** What a refusal is about. */
export type Refused = Pick<Preview, 'invalid' | 'rows' | 'differentTexts' | 'repeats' | 'cost'>;

/** Why a list is refused; begins in lower case, and has no full stop. */
export function refusalOfList(code: Exclude<RefusalCode, 'repeated' | 'conflict'>, list: Refused): string {
  const { invalid, rows, differentTexts, cost } = list;
  switch (code) {
    case 'noRows':
      return 'the list has no rows below its header';
    case 'invalidRows':
      return `${grouped(invalid)} of ${grouped(rows)} ${rows === 1 ? 'row' : 'rows'} ${invalid === 1 ? 'is' : 'are'} invalid`;
    case 'differentTexts': {
      const { line, firstLine } = firstDifferent(list);
      const others = differentTexts - 1;
      const more =
        others === 0
          ? ''
          : `; so ${others === 1 ? 'has 1 other line' : `have ${grouped(others)} other lines`}`;
      return `line ${line} has the number of line ${firstLine}, but a different text${more}`;
    }
    case 'noPrice': {
      const { unpriced = 0, unpricedRows = [] } = cost ?? {};
      const line = unpricedRows[0]?.line;
      return unpriced === 1
        ? `the number in line ${line} has no price`
        : `${grouped(unpriced)} numbers have no price, the first in line ${line}`;
    }
    case 'overBudget': {
      const { total = '', maxCost = '', currency } = cost ?? {};
      return `the campaign costs ${amount(total)} ${currency}, which is more than the limit of ${amount(maxCost ?? '')} ${currency}`;
    }
    default:
      return code satisfies never;
  }
}

/** Why a campaign is refused that was sent before. */
export const REPEATED = 'a campaign of the last 24 hours has the same list, text, and sender';
/** Why a campaign is refused whose idempotency key belongs to another one. `differences`: what differs, such as `text`. */
export const conflictIn = (differences: readonly string[]): string =>
  `the idempotency key belongs to a campaign with another ${listed(differences)}`;

/** The first row with the number of an earlier row and a different text. */
export function firstDifferent({ repeats }: Pick<Preview, 'repeats'>): Preview['repeats'][number] {
  const first = repeats.find(({ text }) => text === 'different');
  if (first === undefined) throw new Error('no row has a different text');
  return first;
}

const grouped = (count: number): string => count.toLocaleString('en');
/** `1,234.50` */
const amount = (text: string): string => text.replace(/^\d+/, (whole) => grouped(Number(whole)));
