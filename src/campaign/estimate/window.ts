import { LRUCache } from 'lru-cache';
import type { CampaignFields } from '../fields/fields.js';
import { changeBetween, countryZones, isZone, localTime, noSuchZone, offsetAt } from '../time/zone.js';
import type { SendWindow } from '../views/views.js';

/*
 * When messages may be sent: hours of the week in the local time of a zone, without certain dates. A window is stored and compared as
 * one text, its rule. The scripts know no zones; they compare the openings that are computed here.
 */

/** A window and its zone, as people write them. */
export interface WindowParts extends Omit<NonNullable<CampaignFields['window']>, 'zone'> {
  readonly except: readonly string[];
  /** An IANA zone, such as `Europe/Paris`. */
  readonly zone: string;
}

/** From when until when messages may be sent, ms since the epoch; `until` is the first moment at which they may not. */
export interface Opening {
  readonly from: number;
  readonly until: number;
}

/** The rule of a window, or the part at fault and why; the reason is a sentence. */
export type WindowOutcome =
  | { readonly ok: true; readonly rule: string }
  | { readonly ok: false; readonly field: keyof WindowParts; readonly reason: string };

/** The format of the hours, for messages and help texts. */
export const WINDOW_FORM =
  'days and hours such as `Mon-Sat 09:00-20:00`, several separated by commas: `Mon-Fri 09:00-12:00, 14:00-20:00, Sat 10:00-14:00`';

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const LONG_DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
/** Openings are looked for this far ahead. */
const HORIZON_DAYS = 400;
const MAX_EXCEPT = 200;
const MAX_HOURS = 50;

/** Hours of some days of the week, in minutes; `to` is after midnight if it is more than 1440. */
interface Hours {
  readonly days: readonly number[];
  readonly from: number;
  readonly to: number;
}

interface Rule {
  readonly hours: readonly Hours[];
  /** The window is open while it is open in all of these; never if there are none. */
  readonly zones: readonly string[];
  readonly except: ReadonlySet<string>;
}

/** The hours of a window that is always open. */
export const ALWAYS = 'Mon-Sun 00:00-24:00';

/** The zone of a rule whose hours are those of each recipient's own zone. Until that is put in its place, the window never opens. */
const RECIPIENT = 'recipient';
/** The zone of a rule whose hours are those that are open in all zones of a country begins so. */
const COUNTRY = 'country:';

/** Reads a window. A window that never opens is refused. `now`: ms since the epoch. */
export function readWindow(
  {
    hours: text,
    zone,
    except = [],
  }: Omit<NonNullable<CampaignFields['window']>, 'zone'> & { readonly zone?: string | undefined },
  now: number,
): WindowOutcome {
  const refuse = (field: keyof WindowParts, reason: string): WindowOutcome => ({ ok: false, field, reason });
  const hours = readHours(text);
  if (typeof hours === 'string') return refuse('hours', hours);
  if (zone === undefined)
    return refuse('zone', 'a window needs a time zone: set `zone`, such as Europe/Paris');
  if (!isZone(zone)) return refuse('zone', noSuchZone(zone));
  const dates = [...new Set(except.map((date) => date.trim()))].sort();
  const wrong = dates.find((date) => !isDate(date));
  if (wrong !== undefined)
    return refuse('except', `${JSON.stringify(wrong)} is not a date: write it as 2030-05-01`);
  if (dates.length > MAX_EXCEPT)
    return refuse('except', `there are ${dates.length} dates: the maximum is ${MAX_EXCEPT}`);
  const rule = [hours.map(hoursText).join(', '), zone, ...(dates.length > 0 ? [dates.join(' ')] : [])].join(
    '; ',
  );
  if (nextOpening(rule, now) === null)
    return refuse(
      'except',
      `the window never opens: its hours (${text.trim()}) are all on the dates that are left out`,
    );
  return { ok: true, rule };
}

/** What people wrote to define a rule. */
export function windowParts(rule: string): WindowParts {
  const [hours = '', zone = '', except = ''] = rule.split('; ');
  return { hours, zone, except: except === '' ? [] : except.split(' ') };
}

/** Whether the hours of a rule are those of each recipient's own zone. */
export const isOfRecipients = (rule: string | undefined): rule is string =>
  rule !== undefined && windowParts(rule).zone === RECIPIENT;

/** The rule in another zone: an IANA zone, or that of {@link zoneOfCountry}. Without one, its hours are those of each recipient's zone. */
export function inZone(rule: string, zone: string = RECIPIENT): string {
  const [hours, , ...except] = rule.split('; ');
  return [hours, zone, ...except].join('; ');
}

/** The rule of a window for a recipient in a zone; undefined without a window. Without a zone ('') it stays as it is. */
export const ruleIn = (window: string | undefined, zone: string): string | undefined =>
  isOfRecipients(window) && zone !== '' ? inZone(window, zone) : window;

/** The zone of a recipient of whom only the country is known (ISO 3166): the hours are those that are open in all of its zones. */
export const zoneOfCountry = (country: string): string => `${COUNTRY}${country}`;

/** The country of such a zone; null of an IANA zone. */
export const countryOf = (zone: string): string | null =>
  zone.startsWith(COUNTRY) ? zone.slice(COUNTRY.length) : null;

/** The zone for people: `America/Denver`, or `all zones of US`. */
export const describeZone = (zone: string): string =>
  countryOf(zone) === null ? zone : `all zones of ${countryOf(zone)}`;

/**
 * When a window opens, in its local time: `09:00`, or `Mon 09:00` if that is more than a day after `now`, and `2030-05-01 09:00` if it is more than
 * six. Of a country: of a zone that opens then.
 */
export function openingTime(rule: string, opensAt: number, now: number): string {
  const { zones } = parse(rule);
  const opens = (zone: string): boolean => nextOpening(inZone(rule, zone), opensAt)?.from === opensAt;
  const local = localTime((zones.length > 1 && zones.find(opens)) || (zones[0] ?? 'UTC'), opensAt);
  const day = opensAt - now > 6 * DAY_MS ? dateOf(local) : DAYS[(new Date(local).getUTCDay() + 6) % 7];
  return `${opensAt - now > DAY_MS ? `${day} ` : ''}${new Date(local).toISOString().slice(11, 16)}`;
}

/** The zone of the first of these rules that there is; null if there is none. Recipients have their own. */
export function zoneOf(...rules: readonly (string | undefined)[]): string | null {
  const rule = rules.find((each) => each !== undefined && !isOfRecipients(each));
  return rule === undefined ? null : windowParts(rule).zone;
}

/** The rule for people: `Mon-Sat 09:00-20:00 Europe/Paris, except 2030-05-01`. */
export function describeWindow(rule: string): string {
  const { hours, zone, except } = windowParts(rule);
  const [first, ...others] = except;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${hours} ${zone === RECIPIENT ? "in the recipient's zone" : describeZone(zone)}${first === undefined ? '' : `, except ${first}${more}`}`;
}

function readHours(text: string): Hours[] | string {
  const hours: Hours[] = [];
  let days: number[] | undefined;
  let pending: number[] = [];
  for (const part of text.split(',').map((each) => each.trim())) {
    const [, dayText = '', fromText, toText] =
      /^([a-z]+(?:\s*-\s*[a-z]+)?)?\s*(?:(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2}))?$/i.exec(part) ?? [];
    if (part === '' || (dayText === '' && fromText === undefined)) return notHours(text, part);
    if (dayText !== '') {
      const read = readDays(dayText);
      if (read === null) return `${JSON.stringify(dayText)} is not a day of the week: write Mon, or Mon-Fri`;
      pending = [...pending, ...read];
    }
    if (fromText === undefined || toText === undefined) continue;
    days = pending.length > 0 ? pending : (days ?? [0, 1, 2, 3, 4, 5, 6]);
    pending = [];
    const [from, end] = [readTime(fromText), readTime(toText)];
    if (from === null || end === null || from === 1440)
      return `${from === null || from === 1440 ? fromText : toText} is not a time of day: write 09:00, at most 24:00 for its end`;
    if (from === end) return `${part} begins when it ends: write 00:00-24:00 for the whole day`;
    hours.push({ days: [...new Set(days)].sort((a, b) => a - b), from, to: end > from ? end : end + 1440 });
  }
  if (hours.length > MAX_HOURS) return `it has ${hours.length} times of day: the maximum is ${MAX_HOURS}`;
  return pending.length > 0 || hours.length === 0 ? notHours(text, text) : hours;
}

const notHours = (text: string, part: string): string =>
  `${JSON.stringify(part === '' ? text : part)} is not a window: write ${WINDOW_FORM}`;

function readDays(text: string): number[] | null {
  const [first = -1, last = first] = text.split('-').map((name) => dayOf(name.trim()));
  if (first === -1 || last === -1) return null;
  return Array.from({ length: ((last - first + 7) % 7) + 1 }, (_, at) => (first + at) % 7);
}

/** `Mon`, `monday`, or a beginning of it with at least three letters; -1 if it is none. */
function dayOf(name: string): number {
  const lower = name.toLowerCase();
  return lower.length < 3 ? -1 : LONG_DAYS.findIndex((day) => day.startsWith(lower));
}

function readTime(text: string): number | null {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  const at = hours * 60 + minutes;
  return minutes < 60 && at <= 1440 ? at : null;
}

const two = (value: number): string => String(value).padStart(2, '0');
const timeText = (minutes: number): string => `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;

function hoursText({ days, from, to }: Hours): string {
  return `${daysText(days)} ${timeText(from)}-${timeText(to > 1440 ? to - 1440 : to)}`;
}

/** `Mon-Fri`, `Mon, Wed-Thu`; days in a row across Sunday stay together: `Sat-Mon`. */
function daysText(days: readonly number[]): string {
  if (days.length === 7) return 'Mon-Sun';
  const starts = days.filter((day) => !days.includes((day + 6) % 7));
  return starts
    .map((start) => {
      let count = 1;
      while (days.includes((start + count) % 7)) count += 1;
      const last = (start + count - 1) % 7;
      return count === 1 ? DAYS[start] : `${DAYS[start]}-${DAYS[last]}`;
    })
    .join(', ');
}

function isDate(text: string): boolean {
  const at = Date.parse(`${text}T00:00Z`);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at) && dateOf(at) === text;
}

const dateOf = (local: number): string => new Date(local).toISOString().slice(0, 10);

const rules = new LRUCache<string, Rule>({ max: 1_000 });

function parse(text: string): Rule {
  const parsed = rules.get(text);
  if (parsed !== undefined) return parsed;
  const { hours: written, zone, except } = windowParts(text);
  const hours = readHours(written);
  if (typeof hours === 'string') throw new Error(hours);
  const country = countryOf(zone);
  const zones = country === null ? (zone === RECIPIENT ? [] : [zone]) : countryZones(country);
  const rule = { hours, zones, except: new Set(except) };
  rules.set(text, rule);
  return rule;
}

/** The spans of time, in order, with those that touch or overlap joined. */
function joined(spans: readonly Opening[]): Opening[] {
  const result: Opening[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last !== undefined && span.from <= last.until)
      result[result.length - 1] = { from: last.from, until: Math.max(last.until, span.until) };
    else result.push(span);
  }
  return result;
}

/** The moments whose local time is at least `from` and less than `until`: none, or two spans, if clocks change. */
function momentsBetween(zone: string, from: number, until: number): Opening[] {
  const [before, after] = [offsetAt(zone, from - DAY_MS), offsetAt(zone, until + DAY_MS)];
  const change = changeBetween(zone, from - DAY_MS, until + DAY_MS);
  if (change === null) return [{ from: from - before, until: until - before }];
  return [
    { from: from - before, until: Math.min(until - before, change) },
    { from: Math.max(from - after, change), until: until - after },
  ].filter((span) => span.from < span.until);
}

/** The openings that begin on `days` local dates from the one of `at`, the day before included. */
function openingsOfDays({ zones, ...rule }: Rule, at: number, days: number): readonly Opening[] {
  const [first = [], ...others] = zones.map((zone) => openingsIn(zone, rule, at, days));
  return others.reduce<readonly Opening[]>(common, first);
}

function openingsIn(
  zone: string,
  { hours, except }: Omit<Rule, 'zones'>,
  at: number,
  days: number,
): Opening[] {
  const first = Math.floor(localTime(zone, at) / DAY_MS) * DAY_MS - DAY_MS;
  const spans: Opening[] = [];
  for (let day = first; day < first + (days + 1) * DAY_MS; day += DAY_MS) {
    const weekday = (new Date(day).getUTCDay() + 6) % 7;
    for (const { days: on, from, to } of hours) {
      if (!on.includes(weekday)) continue;
      for (const [start, end] of [
        [from, Math.min(to, 1440)],
        [1440, to],
      ] as const) {
        const date = start === 1440 ? day + DAY_MS : day;
        if (start < end && !except.has(dateOf(date)))
          spans.push(...momentsBetween(zone, day + start * MINUTE_MS, day + end * MINUTE_MS));
      }
    }
  }
  return joined(spans);
}

/** The openings that are not over at `at`, in order: at most `most`, as far as they begin in the next 400 days. */
export function openingsFrom(rule: string, at: number, most: number): Opening[] {
  const parsed = parse(rule);
  for (let days = 2; ; days *= 4) {
    const openings = openingsOfDays(parsed, at, Math.min(days, HORIZON_DAYS)).filter(
      ({ until }) => until > at,
    );
    // The last one may continue on the next day.
    if (openings.length > most || days >= HORIZON_DAYS) return openings.slice(0, most);
  }
}

/** Common openings by windows and block of days: the status of a thousand campaigns asks for the same ones. */
const known = new LRUCache<string, readonly Opening[]>({ max: 1_000 });
/**
 * The days of a block; its openings are those of five times as many. The near ones are enough, except for what opens rarely or for long. The far
 * ones of 50 times of day take a quarter of a second in each zone, in which the process does nothing else.
 */
const [NEAR_DAYS, FAR_DAYS] = [4, HORIZON_DAYS / 4];

/** The opening at `at`, or else the next one; null if there is none in the next 400 days. */
export function nextOpening(rule: string, at: number): Opening | null {
  return nextCommonOpening([rule], at);
}

/** When all of the windows that there are of these are open at `at`, or else next; null if they never are in the next 400 days. */
export function nextCommonOpening(rules: readonly (string | undefined)[], at: number): Opening | null {
  const windows = rules.filter((rule) => rule !== undefined);
  const near = openingInBlock(windows, at, NEAR_DAYS);
  const isWhole = near !== undefined && near.until < at + NEAR_DAYS * DAY_MS;
  const next = isWhole ? near : openingInBlock(windows, at, FAR_DAYS);
  return next !== undefined && next.from < at + HORIZON_DAYS * DAY_MS ? next : null;
}

function openingInBlock(windows: readonly string[], at: number, blockDays: number): Opening | undefined {
  const from = Math.floor(at / (blockDays * DAY_MS)) * blockDays * DAY_MS;
  const days = 5 * blockDays;
  const key = [from, days, ...windows].join('|');
  const openings =
    known.get(key) ??
    windows
      .map((rule) => openingsOfDays(parse(rule), from, days))
      .reduce(common, [{ from: from - DAY_MS, until: from + days * DAY_MS }]);
  known.set(key, openings);
  return openings.find(({ until }) => until > at);
}

/** When both are open. */
function common(some: readonly Opening[], others: readonly Opening[]): readonly Opening[] {
  let next = 0;
  return some.flatMap(({ from, until }) => {
    const spans: Opening[] = [];
    while ((others[next]?.until ?? from + 1) <= from) next += 1;
    for (let place = next; ; place += 1) {
      const other = others[place];
      if (other === undefined || other.from >= until) return spans;
      spans.push({ from: Math.max(from, other.from), until: Math.min(until, other.until) });
    }
  });
}

/** A window at a time, without its zone; null if there is none. */
export function windowNow(rule: string | undefined, now: number): SendWindow | null {
  if (rule === undefined) return null;
  const next = nextOpening(rule, now);
  const isOpen = next !== null && next.from <= now;
  const { hours, except } = windowParts(rule);
  return {
    hours,
    except,
    zone: isOfRecipients(rule) ? RECIPIENT : null,
    opensAt: isOpen || next === null ? null : new Date(next.from).toISOString(),
    closesAt: isOpen ? new Date(next.until).toISOString() : null,
  };
}
