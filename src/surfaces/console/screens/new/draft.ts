import { readTime } from '../../../../campaign/time/moment.js';
import { newTexts as texts } from '../../base/compose-texts.js';
import { OWN_ZONE } from '../../base/times.js';

/** No name of a column. */
export const NO_COLUMN = ' ';

/** What a draft says about its list, which the browser does not keep. */
export const OF_LIST = {
  /** Of a workbook; empty: its first. */
  sheet: '',
  /** Empty: the first line. */
  headerLine: '',
  toColumn: '',
  /** Empty: the one that the server finds; {@link NO_COLUMN}: none. */
  countryColumn: '',
  skipInvalid: false,
  again: false,
};

export const EMPTY = {
  ...OF_LIST,
  name: '',
  lane: '',
  sender: '',
  message: '',
  country: '',
  duplicates: 'first',
  isLater: false,
  /** `2030-05-01T09:00`, in `zone`. */
  local: '',
  zone: OWN_ZONE,
};
export type Draft = Readonly<typeof EMPTY>;

const KEPT = (Object.keys(EMPTY) as (keyof Draft)[]).filter((name) => !Object.hasOwn(OF_LIST, name));

/** The members of a draft that the browser keeps; null if none of them says anything. */
export function keptOf(draft: Draft): Partial<Draft> | null {
  const kept = KEPT.filter((name) => draft[name] !== EMPTY[name]);
  return kept.length === 0 ? null : Object.fromEntries(kept.map((name) => [name, draft[name]]));
}

/** A draft with what the browser has kept, which may be of an older version of the page. */
export function restored(kept: Readonly<Record<string, unknown>>): Draft {
  const known = KEPT.filter((name) => typeof kept[name] === typeof EMPTY[name]);
  return { ...EMPTY, ...Object.fromEntries(known.map((name) => [name, kept[name]])) };
}

/** The name of a campaign whose list is a file, as the command line gives it. */
export const nameOfFile = (file: string): string => file.replace(/\.\w+$/, '').slice(0, 200);

/** The campaign as the API takes it; what is empty has the default of the server. */
export function campaignOf(draft: Draft): Readonly<Record<string, unknown>> {
  const { isLater, local, zone, headerLine, skipInvalid, again, ...texts } = draft;
  const given = Object.entries(texts).filter(([, value]) => value.trim() !== '');
  return {
    ...Object.fromEntries(given),
    ...(headerLine && { headerLine: Number(headerLine) }),
    ...(skipInvalid && { skipInvalid }),
    ...(again && { again }),
    ...(isLater && { sendAt: local, zone }),
  };
}

/** When a draft begins, or why it cannot: a local time may not exist, or exist twice. `now`: ms since the epoch. */
export function startOf(
  { isLater, local, zone }: Draft,
  now: number,
): { readonly at: number | null } | { readonly problem: string } {
  if (!isLater) return { at: null };
  if (local === '') return { problem: texts.noTime };
  const read = readTime(local, zone, 'the campaign');
  if (!read.ok) return { problem: `The start ${read.reason}.` };
  return read.at <= now ? { problem: texts.past } : { at: read.at };
}
