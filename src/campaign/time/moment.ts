import { InputError } from '../errors/errors.js';
import { localTime, momentsOf } from './zone.js';

/*
 * Times as people and programs write them. Each surface reads them here, so that a text means the same everywhere.
 */

/** The result of reading a time. `spelled`: the date and time as written, without a zone. */
type Moment =
  /** ms since the epoch. */
  | { readonly kind: 'moment'; readonly at: number }
  /** The text does not look like a time. */
  | { readonly kind: 'noTime' }
  /** A date or time that does not exist, such as the 30th of February or 25 o'clock. */
  | { readonly kind: 'noSuchTime' }
  /** There is no offset: without a zone, it would mean another hour on a server in another zone. */
  | { readonly kind: 'noZone'; readonly spelled: string }
  /** An offset that does not exist, such as +99:00. */
  | { readonly kind: 'noSuchZone' };

const ISO =
  /^(?<date>\d{4}-\d{2}-\d{2})[T ](?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?<zone>Z|[+-]\d{2}:?\d{2})?$/i;

/** Reads an ISO 8601 time with its offset. Seconds are optional; their fraction has up to nine digits, as many languages write it. */
export function readMoment(text: string): Moment {
  const groups = ISO.exec(text)?.groups;
  const [date, time, zone] = [groups?.['date'], groups?.['time'], groups?.['zone']];
  if (date === undefined || time === undefined) return { kind: 'noTime' };
  const spelled = `${date}T${time}`;
  const asUtc = Date.parse(`${spelled}Z`);
  // Some versions of Date.parse read the 30th of February as the 2nd of March.
  if (Number.isNaN(asUtc) || !new Date(asUtc).toISOString().startsWith(spelled.slice(0, 16)))
    return { kind: 'noSuchTime' };
  if (zone === undefined) return { kind: 'noZone', spelled };
  const at = Date.parse(`${spelled}${zone.toUpperCase()}`);
  return Number.isNaN(at) ? { kind: 'noSuchZone' } : { kind: 'moment', at };
}

/** A time, in ms since the epoch, or why the text is none; the reason continues the name of the value. */
export type TimeOutcome =
  | { readonly ok: true; readonly at: number }
  | { readonly ok: false; readonly reason: string };

const refused = (reason: string): TimeOutcome => ({ ok: false, reason });

/**
 * Reads a time with an offset, or a local time of the zone. A local time that the zone skips or repeats is refused. `whose`: what has no
 * zone if `zone` is undefined, for the reason.
 */
export function readTime(text: string, zone: string | undefined, whose: string): TimeOutcome {
  const moment = readMoment(text.trim());
  switch (moment.kind) {
    case 'moment':
      return { ok: true, at: moment.at };
    case 'noZone':
      break;
    case 'noSuchTime':
      return refused(`is ${text}, a time that does not exist`);
    case 'noSuchZone':
      return refused(`is ${text}, whose offset does not exist`);
    default:
      return refused(`is ${JSON.stringify(text)}, which is not a time; write it as 2030-05-01T14:30`);
  }
  const { spelled } = moment;
  if (zone === undefined)
    return refused(
      `is ${text}, without an offset, and ${whose} has no zone; write an offset, such as ${spelled}+01:00`,
    );
  const moments = momentsOf(zone, Date.parse(`${spelled}Z`));
  const [first] = moments;
  if (first === undefined)
    return refused(
      `is ${text}, which ${zone} skips when its clocks go forward; write another time, or an offset`,
    );
  if (moments.length > 1)
    return refused(
      `is ${text}, which ${zone} has twice when its clocks go back; write the offset that you mean`,
    );
  return { ok: true, at: first };
}

/** A time that a program gives: ms since the epoch, ISO 8601 with an offset, or a Date. */
export type Time = number | string | Date;

/** The last time that a `Date` can have. */
const LAST_MS = 8.64e15;
/** In 1973. A smaller number is a time in seconds, or none. */
const FIRST_MS = 1e11;

/** Why a number is not a time in ms since the epoch; continues its name. Null if it is one. */
export function numberProblem(ms: number, isDate = false): string | null {
  if (!(Math.abs(ms) <= LAST_MS)) return isDate ? 'is an invalid Date' : `is ${ms}, which is not a time`;
  if (isDate || ms >= FIRST_MS) return null;
  return `is ${ms}, which would be a time in seconds: give milliseconds since the epoch, ISO 8601, or a Date`;
}

/** A time in ms since the epoch. Throws an `InputError` that names the field. */
export function timeIn(field: string, time: Time): number {
  if (time instanceof Date) return time.getTime();
  if (typeof time === 'number') return time;
  const read = readMoment(time);
  if (read.kind === 'moment') return read.at;
  throw new InputError(
    `\`${field}\` is ${JSON.stringify(time)}; use ISO 8601 with a time zone, such as 2030-05-01T14:30Z`,
    { field },
  );
}

const DAY_MS = 86_400_000;
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const WORDS = /^(?<day>[a-z]+)\s+(?:at\s+)?(?<hour>\d{1,2}):(?<minute>\d{2})$/i;

/**
 * A local time that is written with a word, such as `tomorrow 9:00`, `today 18:30`, or `mon 09:00`, as an ISO text without an offset; null
 * if the text is none. A day of the week is the next day on which this time is not over. `now`: ms since the epoch.
 */
export function spelledOut(text: string, zone: string, now: number): string | null {
  const groups = WORDS.exec(text.trim())?.groups;
  if (groups === undefined) return null;
  const { day = '', hour = '', minute = '' } = groups;
  const time = `${hour.padStart(2, '0')}:${minute}`;
  const local = localTime(zone, now);
  const midnight = Math.floor(local / DAY_MS) * DAY_MS;
  const isOver = local - midnight >= (Number(hour) * 60 + Number(minute)) * 60_000;
  const days = daysUntil(day.toLowerCase(), new Date(local).getUTCDay(), isOver);
  if (days === null) return null;
  return `${new Date(midnight + days * DAY_MS).toISOString().slice(0, 10)}T${time}`;
}

/** Days from today, a day of the week from 0 for Sunday, to the one of this name; null if none has it. */
function daysUntil(name: string, today: number, isOver: boolean): number | null {
  if (name === 'today') return 0;
  if (name === 'tomorrow') return 1;
  const wanted = name.length < 3 ? -1 : DAYS.findIndex((day) => day.startsWith(name));
  if (wanted === -1) return null;
  const days = (wanted - today + 7) % 7;
  return days === 0 && isOver ? 7 : days;
}
