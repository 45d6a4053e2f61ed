import { zoneName } from '../campaign/time/zone-names.js';
import type { TimeRange } from '../campaign/views/measures.js';
import { formatDuration } from './duration.js';

/*
 * Times as people read them: in the zone of what they belong to, or else in this machine's, and always with the name of that zone.
 */

/** A zone by its IANA name; null: this machine's. */
type Zone = string | null;

/** The parts of a time in a zone. */
interface Parts {
  readonly weekday: string;
  readonly day: string;
  readonly month: string;
  readonly year: string;
  /** `09:00:00`. */
  readonly time: string;
  /** What people call the offset: `CET`, `GMT+5:30`. */
  readonly label: string;
}

const formats = new Map<Zone, Intl.DateTimeFormat>();

function formatOf(zone: Zone): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone ?? undefined,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  formats.set(zone, format);
  return format;
}

/** The name of this machine's time zone. */
export function machineZone(): string {
  return zoneName(formatOf(null).resolvedOptions().timeZone);
}

function partsOf(ms: number, zone: Zone): Parts {
  const parts = formatOf(zone).formatToParts(ms);
  const part = (type: Intl.DateTimeFormatPartTypes): string =>
    parts.find((each) => each.type === type)?.value ?? '';
  return {
    weekday: part('weekday'),
    day: part('day'),
    // Otherwise September alone has four letters.
    month: part('month').slice(0, 3),
    year: part('year'),
    time: `${part('hour')}:${part('minute')}:${part('second')}`,
    label: part('timeZoneName'),
  };
}

const isSameDay = (a: Parts, b: Parts): boolean =>
  a.day === b.day && a.month === b.month && a.year === b.year;

/** The day, such as `24 Nov`, with the year if it is not that of `today`. */
const dayText = ({ day, month, year }: Parts, today: Parts): string =>
  `${day} ${month}${year === today.year ? '' : ` ${year}`}`;

function clockText(at: Parts, today: Parts): string {
  return isSameDay(at, today) ? at.time : `${at.weekday} ${dayText(at, today)} ${at.time.slice(0, 5)}`;
}

/** A time: `14:03:20 CET` today, else `Tue 24 Nov 14:03 CET`, with the year if it is another one. */
export function moment(ms: number, now: number, zone: Zone = null): string {
  const at = partsOf(ms, zone);
  return `${clockText(at, partsOf(now, zone))} ${at.label}`;
}

/** The same to the minute: `14:03 CET` today. */
export function minute(ms: number, now: number, zone: Zone = null): string {
  return moment(ms, now, zone).replace(/^(\d\d:\d\d):\d\d/, '$1');
}

/** The same in few columns: `14:03 CET` today, else `24 Nov`, with the year if it is another one. */
export function shortMoment(ms: number, now: number, zone: Zone = null): string {
  const [at, today] = [partsOf(ms, zone), partsOf(now, zone)];
  return isSameDay(at, today) ? `${at.time.slice(0, 5)} ${at.label}` : dayText(at, today);
}

/** `14:03:20 CET (in 12s)` for an ISO time, or `now` if it has passed. */
export function until(iso: string, now: number, zone: Zone = null): string {
  const ms = Date.parse(iso);
  return ms <= now ? 'now' : `${moment(ms, now, zone)} (in ${formatDuration(ms - now)})`;
}

/**
 * `between 10:24:16 and 10:24:20 CET (in 9 to 13 s)`; `by 10:24:20 CET` if it may be now; `not before 10:24:16 CET: reason` without an end;
 * `about 10:24:16 to 10:24:20 CET` if it is approximate.
 */
export function between(range: TimeRange, now: number, zone: Zone = null): string {
  const { earliest, latest, isApproximate, reason } = range;
  const from = Date.parse(earliest);
  if (latest === null) {
    const start = from < now + 1_000 ? '' : ` before ${until(earliest, now, zone)}`;
    return start === '' ? `at an unknown time: ${reason}` : `not${start}: ${reason}`;
  }
  const to = Date.parse(latest);
  if (to <= now) return 'at any moment';
  const seconds = [Math.floor((from - now) / 1_000), Math.ceil((to - now) / 1_000)] as const;
  const [soonest, last] = [moment(from, now, zone), moment(to, now, zone)];
  const about = isApproximate ? 'about ' : '';
  if (seconds[0] <= 0) return `by ${about}${last} (within ${duration(seconds[1])})`;
  if (soonest === last) return `at ${about}${last} (in ${duration(seconds[1])})`;
  const ends = new Set(seconds.map(duration));
  const both = seconds[1] < 60 ? `${seconds[0]} to ${seconds[1]} s` : [...ends].join(' to ');
  const { label } = partsOf(to, zone);
  // One label is enough, unless the clocks change in between.
  const start = soonest.endsWith(` ${label}`) ? soonest.slice(0, -label.length - 1) : soonest;
  return isApproximate
    ? `about ${start} to ${last} (in ${both})`
    : `between ${start} and ${last} (in ${both})`;
}

/** Whole seconds: `13 s`, `1m 30s`. */
function duration(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
}
