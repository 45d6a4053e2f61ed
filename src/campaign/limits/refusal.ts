import { listed } from '../errors/listed.js';
import type { InvalidGroup } from '../views/list-views.js';
import type { Preview, Refusal } from '../views/preview-views.js';

/*
 * Why a campaign is refused, and what to do about it: one text for each reason. The texts name no recipient, because schedules keep them.
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

/** What a remedy depends on. */
type Remedied = Pick<Preview, 'invalid' | 'rows' | 'invalidGroups'>;

/**
 * What people can do about a campaign that is refused; without a full stop. Fields are named in backticks, as in every text of the library: the
 * command line puts its flags in their place, and the console what the page says.
 */
export function remedyOf(code: RefusalCode, list: Remedied | null): string {
  switch (code) {
    case 'noRows':
      return 'Add at least one recipient';
    case 'invalidRows':
      return list === null ? 'Fix them' : remedyOfRows(list);
    case 'differentTexts':
      return 'Set `duplicates` to `keep` to send all messages, or set `duplicates` to `first` to send only the first to each number';
    case 'noPrice':
      return 'Leave out `maxCost`, or the numbers without a price. PRICE_FILE and PRICE_PER_SEGMENT say what a segment costs';
    case 'overBudget':
      return 'Raise `maxCost`, or shorten the list or the text';
    case 'repeated':
      return 'To send it once more, set `again`';
    case 'conflict':
      return 'Use the same values, or another idempotency key';
    default:
      return code satisfies never;
  }
}

function remedyOfRows({ invalid, rows, invalidGroups }: Remedied): string {
  const leaveOut = invalid === rows ? '' : ', or set `skipInvalid` to leave them out';
  const national = invalidGroups.find(({ code }) => code === 'noCountry');
  if (national === undefined) return `Fix them${leaveOut}`;
  const others = national.count === invalid ? '' : ', and fix the others';
  return `${countryRemedy(national)}${others}${leaveOut}`;
}

/** What rows with the same reason have in common: `12 numbers are not valid`; without a full stop. */
export function reasonOfGroup({
  code,
  count,
  column,
}: Pick<InvalidGroup, 'code' | 'count' | 'column'>): string {
  const [rows, are] = count === 1 ? ['1 row', 'is'] : [`${grouped(count)} rows`, 'are'];
  const numbers = count === 1 ? '1 number' : `${grouped(count)} numbers`;
  const have = count === 1 ? 'has' : 'have';
  switch (code) {
    case 'noCountry':
      return `${numbers} ${have} no calling code`;
    case 'noNumber':
      return `${rows} ${have} no number`;
    case 'invalidNumber':
      return `${numbers} ${are} not valid`;
    case 'invalidCountry':
      return `${rows} ${have} a country that is not known`;
    case 'noValue':
      return `${rows} ${have} no {{${column}}}, which the message uses`;
    case 'noZone':
      return `${rows} ${have} no time zone`;
    case 'invalidZone':
      return `${rows} ${have} a time zone that cannot be used`;
    case 'invalidValue':
      return `${rows} ${have} a value that cannot be used`;
    case 'notAllowed':
      return `${rows} ${are} beyond a limit that is set for you`;
    case 'row':
      return `${rows} cannot be read`;
    default:
      return code satisfies never;
  }
}

/** How to say of which country national numbers are. */
export function countryRemedy({
  country,
  countryColumn,
}: Pick<Preview['invalidGroups'][number], 'country' | 'countryColumn'>): string {
  if (countryColumn !== null) return `Set \`countryColumn\` to ${JSON.stringify(countryColumn)}`;
  return country === null
    ? 'Name the country of these numbers with `country`, such as `GB`'
    : `Set \`country\` to \`${country}\``;
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
