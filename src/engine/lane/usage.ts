import type { Clock } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { InputError } from '../../campaign/errors/errors.js';
import { formatAmount } from '../../campaign/limits/price.js';
import type { KeyLife } from '../../campaign/states/api-key.js';
import type { LaneFinder } from './lane-finder.js';

/** Final states, in the order in which engine/store/usage.lua stores their counts. */
export const USAGE_OUTCOMES = [
  'deliveredToTerminal',
  'deliveryImpossible',
  'unconfirmed',
  'rejected',
  'lapsed',
  'cancelled',
  'suppressed',
  'abandoned',
] as const;
/** What comes before them: messages, segments, and micros. */
const AMOUNTS = 3;
const DAY_MS = 86_400_000;
/** How many days are kept. */
const MOST_DAYS = 400;
const USUAL_DAYS = 30;
const MOST_TAGS = 200;
const OTHERS = 'other';
const READ_AT_ONCE = 500;

/** What was sent. */
export interface UsageCounts {
  /** Messages that the service has accepted. */
  readonly messageCount: number;
  /** Their segments. */
  readonly segmentCount: number;
  /** What they cost, such as `20.00 EUR`, by the prices of the workers; null without prices. */
  readonly cost: string | null;
  /** Recipients that got each final state. A late report counts one `unconfirmed` less. */
  readonly outcomes: { readonly [Outcome in (typeof USAGE_OUTCOMES)[number]]: number };
}

/** What was sent on a UTC day. */
export interface UsageDay extends UsageCounts {
  /** Such as `2030-05-01`. */
  readonly day: string;
  /** The tags of what was sent, in the order of the alphabet; beyond 200, the rest is `other`. A message counts for each of its tags. */
  readonly tags: readonly (UsageCounts & { readonly tag: string })[];
}

/** Which usage is read. */
export interface UsageOptions {
  /** The first day, such as `2030-05-01`; default: 29 days before the last one. */
  readonly from?: string | undefined;
  /** The last day; default: today. */
  readonly to?: string | undefined;
  /** Only these lanes; default: all. */
  readonly lanes?: readonly string[] | undefined;
  /** Only campaigns and outboxes with this tag. */
  readonly tag?: string | undefined;
  /** Only what the API key with this id has created. */
  readonly key?: string | undefined;
}

/** Reads what was sent. */
export interface UsageReader {
  /**
   * Returns what was sent on each UTC day with something to count, oldest first. Each message and each outcome counts once, on the day on which
   * Volley learned it. Rejects with an `InputError` if a day is invalid, there are more than 400, or there is no such key.
   */
  usage(options?: UsageOptions): Promise<UsageDay[]>;
}

interface UsageDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'ids' | 'idOf'>;
  readonly clock: Clock;
  /** What is known of an API key; one that never existed is `expired` without a time. */
  lifeOf(key: string): Promise<KeyLife>;
  /** Of the prices. */
  readonly currency: string | undefined;
}

/** The number of a day since 1970. Throws an InputError. */
function dayOf(field: 'from' | 'to', text: string): number {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // `2030-02-31` would be a day in March.
  if (Number.isNaN(at) || textOf(at / DAY_MS) !== text)
    throw new InputError(`${JSON.stringify(text)} is not a day: write it as 2030-05-01`, { field });
  return at / DAY_MS;
}

const textOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

const add = (sums: number[], numbers: readonly number[]): void => {
  for (const [at, number] of numbers.entries()) sums[at] = (sums[at] ?? 0) + number;
};

/** What the lanes have stored for each of these days, in order; several days, or lanes, per round trip. */
async function* storedDays(
  redis: Redis,
  keys: Keys,
  ids: readonly string[],
  first: number,
  last: number,
): AsyncGenerator<readonly [day: number, stored: readonly Readonly<Record<string, string>>[]]> {
  const daysAtOnce = Math.max(1, Math.floor(READ_AT_ONCE / Math.max(1, ids.length)));
  const read = (day: number, some: readonly string[]) =>
    Promise.all(some.map((id) => redis.hgetall(keys.lane(id, `usage:${day}`))));
  for (let from = first; from <= last; from += daysAtOnce) {
    const days = Array.from({ length: Math.min(daysAtOnce, last - from + 1) }, (_, at) => from + at);
    const stored: Readonly<Record<string, string>>[][] = days.map(() => []);
    for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
      const some = ids.slice(at, at + READ_AT_ONCE);
      const parts = await Promise.all(days.map((day) => read(day, some)));
      for (const [day, part] of parts.entries()) stored[day]?.push(...part);
    }
    for (const [index, day] of days.entries()) yield [day, stored[index] ?? []];
  }
}

/** See {@link UsageReader}. */
export async function readUsage(
  { redis, keys, finder, clock, lifeOf, currency }: UsageDeps,
  { from, to, lanes, tag, key }: UsageOptions = {},
): Promise<UsageDay[]> {
  const last = to === undefined ? Math.floor(clock() / DAY_MS) : dayOf('to', to);
  const first = from === undefined ? last - USUAL_DAYS + 1 : dayOf('from', from);
  if (first > last) throw new InputError('the first day is after the last one', { field: 'from' });
  if (last - first >= MOST_DAYS)
    throw new InputError(`there are more than ${MOST_DAYS} days`, { field: 'from' });
  const ids = lanes === undefined ? await finder.ids() : await Promise.all(lanes.map(finder.idOf));
  const countsOf = (numbers: readonly number[]): UsageCounts => {
    const [messageCount = 0, segmentCount = 0, micros = 0] = numbers;
    return {
      messageCount,
      segmentCount,
      cost: currency === undefined ? null : `${formatAmount(micros, currency)} ${currency}`,
      outcomes: Object.fromEntries(
        USAGE_OUTCOMES.map((outcome, at) => [outcome, numbers[AMOUNTS + at] ?? 0]),
      ) as UsageCounts['outcomes'],
    };
  };
  /** The sums of a day by their tags; those of all are under ''. */
  const sumsOf = (stored: readonly Readonly<Record<string, string>>[]): ReadonlyMap<string, number[]> => {
    const sums = new Map<string, number[]>();
    // Redis returns the fields of a hash in any order, and each lane may have other tags.
    const named = new Set<string>();
    const nameOf = (label: string): string => {
      if (label === '' || label === OTHERS) return label;
      if (named.size >= MOST_TAGS && !named.has(label)) return OTHERS;
      named.add(label);
      return label;
    };
    for (const [field, value] of stored.flatMap((fields) => Object.entries(fields))) {
      const [by = '', its] = field.split(' ');
      if (its === undefined || (key !== undefined && by !== key)) continue;
      if (tag !== undefined && its !== tag) continue;
      const name = nameOf(its);
      const sum = sums.get(name) ?? [];
      sums.set(name, sum);
      add(sum, value.split(' ').map(Number));
    }
    return sums;
  };
  const days: UsageDay[] = [];
  for await (const [day, stored] of storedDays(redis, keys, ids, first, last)) {
    const sums = sumsOf(stored);
    const all = sums.get(tag ?? '');
    if (all === undefined) continue;
    const tags = [...sums].filter(([name]) => name !== '').sort(([a], [b]) => (a < b ? -1 : 1));
    days.push({
      day: textOf(day),
      ...countsOf(all),
      tags: tags.map(([name, numbers]) => ({ tag: name, ...countsOf(numbers) })),
    });
  }
  // Someone who sees some lanes only does not learn which keys others have.
  if (key !== undefined && lanes === undefined && days.length === 0) {
    // Nothing else is known of the key of a session that has ended, or that never existed.
    const { state, until } = await lifeOf(key);
    if (state === 'expired' && until === null)
      throw new InputError(
        `there is no API key with the id ${JSON.stringify(key)}: use an id of \`keys list\`, not a name`,
        { field: 'key' },
      );
  }
  return days;
}
