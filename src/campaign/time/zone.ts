/*
 * Local times of IANA zones, with what Node knows of them. A local time is written as the ms since the epoch that it would be in UTC.
 */

import { nearest } from '../errors/nearest.js';

const formats = new Map<string, Intl.DateTimeFormat>();
const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;
const SECOND_MS = 1_000;
/** No zone has a longer name. */
const MAX_ZONE_LENGTH = 64;
const DAY_MS = 86_400_000;

/** Abbreviations that mean one zone. Others mean several, or an offset: to Node, BST is the time of Dhaka, and EST knows no daylight saving. */
const CLEAR = /^(?:UTC|UCT|GMT|CET|EET|MET|WET|PRC|ROK)$/i;
const isUnclear = (zone: string): boolean => /^[a-z]{3}$/i.test(zone) && !CLEAR.test(zone);

/** Whether this is the name of a time zone, such as `Europe/London`. */
export function isZone(zone: string): boolean {
  // `+02:00` is an offset, which knows no daylight saving.
  if (!/^[a-z]/i.test(zone) || isUnclear(zone)) return false;
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** What follows from comparing a name with those of all zones, which takes 3 ms: a list may repeat it on each of a million rows. */
const hints = new Map<string, string>();
const MAX_HINTS = 1_000;

/** Says that this is not the name of a time zone, and which one may be meant. */
export function noSuchZone(zone: string): string {
  if (isUnclear(zone))
    return `${JSON.stringify(zone)} does not say which time zone it means. Use a name such as America/Los_Angeles`;
  const hint = hints.get(zone) ?? hintAt(zone);
  if (hints.size >= MAX_HINTS) hints.clear();
  hints.set(zone, hint);
  return `there is no time zone ${JSON.stringify(zone)}. ${hint}`;
}

function hintAt(zone: string): string {
  const initial = zone.charAt(0).toUpperCase();
  const likely = Intl.supportedValuesOf('timeZone').filter((name) => name.startsWith(initial));
  const meant = nearest(zone, likely);
  return meant === null ? 'Use a name such as Europe/London or UTC' : `Did you mean ${meant}?`;
}

/**
 * The name of a zone, so that different spellings of it are equal: `europe/oslo` is Europe/Oslo. Another name of a zone stays, such as
 * Asia/Kolkata, which Node calls Asia/Calcutta. Null if there is no such zone. `names`: the names that are in use, by those of Node; of
 * each zone one, so that there are no more zones than Node knows.
 */
export function readZone(text: string, names: Map<string, string>): string | null {
  const name = text.trim();
  if (name.length > MAX_ZONE_LENGTH || !isZone(name)) return null;
  const own = formatOf(name).resolvedOptions().timeZone;
  const known = names.get(own) ?? (own.toLowerCase() === name.toLowerCase() ? own : name);
  names.set(own, known);
  return known;
}

/** What TypeScript does not know of a locale yet. */
interface Zones {
  readonly timeZones?: string[] | undefined;
  getTimeZones?(): string[] | undefined;
}

/** The zones of a country, by its ISO 3166 code, as Node knows them; none if it knows no such country. */
export function countryZones(country: string): readonly string[] {
  const locale: Intl.Locale & Zones = new Intl.Locale(`und-${country}`);
  // Later versions have only the method.
  return locale.getTimeZones?.() ?? locale.timeZones ?? [];
}

function formatOf(zone: string): Intl.DateTimeFormat {
  // One for all spellings of a name: each takes 14 kB, and a list may spell it in thousands of ways.
  const key = zone.toLowerCase();
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  formats.set(key, format);
  return format;
}

/** By how many ms local time is ahead of UTC at this moment. */
export function offsetAt(zone: string, at: number): number {
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = OFFSET.exec(formatOf(zone).format(at)) ?? [];
  const ms = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -ms : ms;
}

/** The local time at a moment. */
export function localTime(zone: string, at: number): number {
  return at + offsetAt(zone, at);
}

/** The moments at which a zone has this local time, in order: none if the zone skips it, two if the zone repeats it. */
export function momentsOf(zone: string, local: number): number[] {
  const offsets = new Set([offsetAt(zone, local - DAY_MS), offsetAt(zone, local + DAY_MS)]);
  return [...offsets]
    .filter((offset) => offsetAt(zone, local - offset) === offset)
    .map((offset) => local - offset)
    .sort((a, b) => a - b);
}

/** The moment of a local time. A repeated one is the first of the two; a skipped one is as far behind the gap as it was in it. */
export function resolveLocal(zone: string, local: number): number {
  return momentsOf(zone, local)[0] ?? local - offsetAt(zone, local - DAY_MS);
}

/** When the clocks of a zone change between these moments, a few days apart at most; null if they do not. */
export function changeBetween(zone: string, from: number, until: number): number | null {
  const before = offsetAt(zone, from);
  if (offsetAt(zone, until) === before) return null;
  let [low, high] = [from, until];
  while (high - low > SECOND_MS / 2) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle) === before) low = middle;
    else high = middle;
  }
  return Math.round(high / SECOND_MS) * SECOND_MS;
}

/** The first moment of a zone that has this local time, or the end of the gap if the zone skips it. */
export function firstMoment(zone: string, local: number): number {
  const [first] = momentsOf(zone, local);
  return first ?? changeBetween(zone, local - DAY_MS, local + DAY_MS) ?? local;
}

/** A moment in ISO 8601, in local time with its offset: `2030-05-01T14:30:00+01:00`. */
export function formatInZone(zone: string, at: number): string {
  const offset = offsetAt(zone, at);
  const minutes = Math.abs(offset) / 60_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const text = `${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${new Date(at + offset).toISOString().slice(0, 19)}${offset < 0 ? '-' : '+'}${text}`;
}
