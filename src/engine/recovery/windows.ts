import { isOfRecipients, type Opening, openingsFrom } from '../../campaign/estimate/window.js';
import type { LaneStore } from '../scripts/lane-script.js';

/*
 * The openings of the windows that campaigns of a lane use, computed ahead for its scripts (window.lua). The sweep computes them again
 * once a day.
 */

/** Openings that are known ahead: at least so many, and those of so many days. */
const AHEAD = 16;
const AHEAD_MS = 3 * 86_400_000;
/** Openings are computed from a while ago, so that a clock that is a little behind finds the current one. */
const BACK_MS = 86_400_000;

/** The openings of a rule that are not over at `at`: at most `most`. */
export type OpeningsOf = (rule: string, at: number, most: number) => readonly Opening[];

/** What the sweep has found out about the windows of a lane. */
export interface WindowsDue {
  /** Rules whose openings are to be computed, and when each was last used, ms. */
  readonly windows: readonly { readonly rule: string; readonly usedAt: number }[];
  /** Rules that no campaign has used for long. */
  readonly unusedWindows: readonly string[];
}

type Store = Pick<LaneStore, 'redis' | 'keys' | 'id'>;

/** Makes the openings of windows known before something uses them; those of recipients only in their zones. `now`: ms since the epoch. */
export async function registerWindows(
  { redis, keys, id }: Store,
  used: readonly string[],
  now: number,
): Promise<void> {
  const rules = used.filter((rule) => !isOfRecipients(rule));
  if (rules.length === 0) return;
  const key = keys.lane(id, 'windows');
  const known = await redis.hmget(key, ...rules);
  const unknown = rules.filter((_, at) => known[at] === null);
  await Promise.all(unknown.map((rule) => redis.hsetnx(key, rule, entryOf(rule, now, now, openingsFrom))));
}

/** Computes what the sweep has found to be due. `now`: the time of Redis, ms. */
export async function computeWindows(
  { redis, keys, id }: Store,
  { windows, unusedWindows }: WindowsDue,
  now: number,
  openingsOf: OpeningsOf = openingsFrom,
): Promise<void> {
  const key = keys.lane(id, 'windows');
  if (unusedWindows.length > 0) await redis.hdel(key, ...unusedWindows);
  if (windows.length > 0)
    await redis.hset(
      key,
      ...windows.flatMap(({ rule, usedAt }) => [rule, entryOf(rule, usedAt, now, openingsOf)]),
    );
}

function entryOf(rule: string, usedAt: number, now: number, openingsOf: OpeningsOf): string {
  const from = now - BACK_MS;
  let openings = openingsOf(rule, from, AHEAD);
  for (
    let most = 4 * AHEAD;
    openings.length * 4 === most && (openings.at(-1)?.until ?? 0) < now + AHEAD_MS;
    most *= 4
  )
    openings = openingsOf(rule, from, most);
  return JSON.stringify([usedAt, now, ...openings.flatMap(({ from, until }) => [from, until])]);
}
