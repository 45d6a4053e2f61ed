import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId, LaneName } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import { type DailyLimit, LimitError } from '../../campaign/limits/check-limits.js';
import { formatAmount } from '../../campaign/limits/price.js';

/*
 * What may be stored in a UTC day, by an API key on all of its lanes, and by everyone on a lane. The counters are in daily.lua, beside what the
 * key has stored (key-bytes.ts). An import reserves its messages before it is committed, and a discarded one returns them; a cancelled campaign
 * does not. A message of an outbox counts when it is put.
 *
 * In a cluster, no script can see two lanes. So each lane has a share of what a key may store, and counts against it. When the share is too
 * small, share-day.lua enlarges it, if necessary with what other lanes have left and return.
 */

/** Messages that are stored, and what they cost, in micros. */
export interface Counted {
  readonly messages: number;
  readonly micros: number;
}

const DAY_MS = 86_400_000;
/** How long a process has to use a share that it has asked for. */
const IN_USE_S = 5;

const reserveScript = loadScript(import.meta.url, './reserve-day.lua', (reply) =>
  z.tuple([z.string(), z.number()]).parse(reply),
);

const shareScript = loadScript(import.meta.url, './share-day.lua', (reply) => {
  const [isLarger, rest, second, text] = z
    .tuple([z.number(), z.coerce.number(), z.number(), z.string()])
    .parse(reply);
  return { isLarger: isLarger === 1, rest, shares: sharesOf(text, second) };
});
const returnScript = loadScript(import.meta.url, './return-share.lua', (reply) =>
  z.tuple([z.coerce.number(), z.coerce.number()]).parse(reply),
);

/** What each lane was given of what a key may store in a day, and how many seconds ago. */
function sharesOf(text: string, now: number): ReadonlyMap<LaneId, Counted & { readonly age: number }> {
  return new Map(
    text.split(' ').flatMap((share) => {
      const [, lane, ...numbers] = /^(\S+):(\d+):(\d+):\d+:\d+:(\d+)$/.exec(share) ?? [];
      const [messages = 0, micros = 0, second = 0] = numbers.map(Number);
      return lane === undefined ? [] : [[lane, { messages, micros, age: now - second }]];
    }),
  );
}

/** What a lane was given on a day of what a key may store. */
export interface Given extends Counted {
  readonly key: string;
  /** Days since 1970. */
  readonly day: number;
}

/** The limits as scripts read them. `given`: what the lane was given of those of a key, which it may not know yet. */
export const scriptLimits = (limits: readonly DailyLimit[], given?: Given): string =>
  JSON.stringify(
    limits.map(({ owner, key, recipientsPerDay, costPerDay }) => ({
      key,
      ...limitOf({ recipientsPerDay, costPerDay }),
      ...(owner === 'key' && { given: given?.key === key ? given : {} }),
    })),
  );

const limitOf = ({ recipientsPerDay, costPerDay }: Pick<DailyLimit, 'recipientsPerDay' | 'costPerDay'>) => ({
  ...(recipientsPerDay !== null && { recipients: recipientsPerDay }),
  ...(costPerDay !== null && { micros: costPerDay }),
});

/** Where messages are counted. `currency`: that of the prices. */
export interface DayOf {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lane: { readonly id: LaneId; readonly name: LaneName };
  readonly limits: readonly DailyLimit[];
  readonly currency: string | undefined;
}

/**
 * Counts the messages of an import for the daily limits; without an import, only checks them. Resolves to false if the import was discarded.
 * Rejects with a LimitError.
 */
export async function reserveDay(day: DayOf, campaign: string | null, counted: Counted): Promise<boolean> {
  const { redis, keys, lane, limits } = day;
  if (limits.length === 0) return true;
  for (let given: Given | undefined; ; ) {
    const [refusal, endsAt] = await reserveScript.run(
      redis,
      { states: keys.lane(lane.id, 'states'), keyBytes: keys.lane(lane.id, 'keyBytes') },
      { id: campaign ?? '', limits: scriptLimits(limits, given), ...counted },
    );
    if (refusal === 'gone') return false;
    if (refusal === '') return true;
    const larger = await largerShare(day, overOf(refusal, endsAt), [counted]);
    if (!('day' in larger)) throw overDay(day, larger, counted);
    given = larger;
  }
}

/** What an API key has stored on the day of `now` (ms) on all of its lanes, as far as limits count it; and when that day ends, ms. */
export async function storedInDay(
  { redis, keys }: Pick<DayOf, 'redis' | 'keys'>,
  key: string,
  now: number,
): Promise<Counted & { readonly endsAt: number }> {
  const day = Math.floor(now / DAY_MS);
  const lanes = [...sharesOf((await redis.hget(keys.apiKeysShares(day), key)) ?? '', 0).keys()];
  const counts = await Promise.all(lanes.map((id) => redis.hget(keys.lane(id, 'keyBytes'), `today:${key}`)));
  const today = counts.flatMap((text) => (text?.startsWith(`${day} `) ? [text.split(' ').map(Number)] : []));
  const sum = (at: number): number => today.reduce((total, numbers) => total + (numbers[at] ?? 0), 0);
  return { messages: sum(1), micros: sum(2), endsAt: (day + 1) * DAY_MS };
}

/** Which limit does not allow messages. */
export interface OverDay {
  readonly limit: 'recipientsPerDay' | 'costPerDay';
  /** What it still allows: messages or micros. */
  readonly left: number;
  /** The API key; '' for a limit of the lane. */
  readonly key: string;
  /** When its day ends, ms. */
  readonly endsAt: number;
}

/** Reads a refusal of daily.lua. */
export function overOf(refusal: string, endsAt: number): OverDay {
  const [limit, left, ...key] = refusal.split(' ');
  const name = limit === 'costPerDay' ? limit : 'recipientsPerDay';
  return { limit: name, left: Number(left), key: key.join(' '), endsAt };
}

/** A lane, and the limits of what is stored there. */
type Limited = Pick<DayOf, 'redis' | 'keys' | 'limits'> & { readonly lane: { readonly id: LaneId } };

/**
 * Gives a lane more of what a key may store today, if its share is why `refused` were refused, and if what is left is enough for one of them.
 * Resolves to what the lane was given in all, with which the caller tries again, or else to the refusal, with what is left on all lanes.
 */
export async function largerShare(
  { redis, keys, lane, limits }: Limited,
  over: OverDay,
  refused: readonly Counted[],
): Promise<Given | OverDay> {
  const { limit, key, endsAt } = over;
  const of = limits.find((each) => each.key === key);
  if (of?.owner !== 'key') return over;
  const isCost = limit === 'costPerDay';
  const needed = refused.map(({ messages, micros }) => (isCost ? micros : messages));
  const day = Math.round(endsAt / DAY_MS) - 1;
  const wish = {
    key,
    lane: lane.id,
    of: isCost ? 2 : 1,
    limit: of[limit] ?? 0,
    // All that is needed, although the lane has a part of it: another lane may get that first, but not what is given now.
    least: Math.min(...needed),
    wanted: needed.reduce((sum, each) => sum + each, 0),
  };
  const enlarge = (returned: object) =>
    shareScript.run(
      redis,
      { shares: keys.apiKeysShares(day) },
      { ...wish, returned: JSON.stringify(returned) },
    );
  let { isLarger, rest, shares } = await enlarge({});
  if (!isLarger) {
    const returned = await Promise.all(
      [...shares].map(async ([id, { age, ...given }]) => {
        // What was given a moment ago is about to be used. Later, the process that asked for it has died.
        const lost = age > IN_USE_S ? { day, ...given } : {};
        const known = { key, day, given: JSON.stringify(lost) };
        return [id, await returnScript.run(redis, { keyBytes: keys.lane(id, 'keyBytes') }, known)];
      }),
    );
    ({ isLarger, rest, shares } = await enlarge(Object.fromEntries(returned)));
  }
  const given = shares.get(lane.id);
  return isLarger && given !== undefined ? { key, day, ...given } : { ...over, left: rest };
}

/** The error for messages that a daily limit does not allow. */
export function overDay(
  { limits, currency }: Pick<DayOf, 'limits' | 'currency'>,
  over: OverDay | undefined,
  { messages, micros }: Counted,
): LimitError {
  const of = limits.find((each) => each.key === over?.key);
  if (over === undefined || of === undefined) throw new Error('no limit refuses the messages');
  const { limit, left, endsAt } = over;
  const { owner, who } = of;
  const resetsAt = new Date(endsAt).toISOString();
  const isCost = limit === 'costPerDay';
  const shown = (count: number): string => {
    if (isCost && currency !== undefined) return `${formatAmount(count, currency)} ${currency}`;
    return `${count.toLocaleString('en')} ${count === 1 ? 'message' : 'messages'}`;
  };
  const most = shown((isCost ? of.costPerDay : of.recipientsPerDay) ?? 0);
  const needed = isCost ? `costs ${shown(micros)}` : `has ${shown(messages)}`;
  return new LimitError(
    `${who} may ${isCost ? 'spend' : 'send'} ${most} a day: ${shown(left)} left until ${resetsAt}, and this ${needed}`,
    {
      limit,
      owner,
      left: isCost ? shown(left) : left,
      resetsAt,
      field: 'recipients',
    },
  );
}
