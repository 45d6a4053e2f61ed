import { Cron } from 'croner';
import { InputError } from '../../campaign/errors/errors.js';
import {
  changeBetween,
  firstMoment,
  isZone,
  localTime,
  momentsOf,
  noSuchZone,
  offsetAt,
} from '../../campaign/time/zone.js';

/** When a schedule is due: a cron expression of five fields, in the local time of an IANA zone. */
export interface Timetable {
  /** Minute, hour, day of the month, month, day of the week: `0 9 * * 1` is Monday at nine; empty: it is due once. */
  readonly cron: string;
  readonly zone: string;
}

/*
 * The expression knows only local times, so it is read as if they were those of UTC. The zone then says which moments they are.
 *
 * If the hour field lists hours, each local time is due once: one that the zone skips at the end of the gap, and one that it repeats the
 * first time. If the hour field is every hour, the schedule is due in each hour that passes: a repeated time twice, a skipped one never.
 */

const FIELDS =
  'minute, hour, day of the month, month, and day of the week, such as `0 9 * * 1` for Monday at nine';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Throws an InputError that names `zone` if there is no such time zone. */
export function checkZone(zone: string): void {
  if (!isZone(zone)) throw new InputError(noSuchZone(zone), { field: 'zone' });
}

/** Throws an InputError that names `cron` if the expression is invalid, or never due. */
export function checkCron(cron: string, now: number): void {
  const invalid = (what: string): InputError =>
    new InputError(`the cron expression ${JSON.stringify(cron)} ${what}`, { field: 'cron' });
  const fields = cron.trim().split(/\s+/).length;
  if (fields > 5)
    throw invalid(
      `has ${fields} fields: use five (${FIELDS}); a field for seconds would make it due more than once per minute`,
    );
  if (!cron.trim().startsWith('@') && fields < 5) throw invalid(`is incomplete: use five fields (${FIELDS})`);
  let job: Cron;
  try {
    job = parse(cron.trim());
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    const problem = reason.charAt(0).toLowerCase() + reason.slice(1).replace(/\.$/, '');
    throw invalid(`is invalid (${problem}): use ${FIELDS}`);
  }
  if (job.nextRun(new Date(now)) === null) throw invalid('is never due: no such day exists');
}

/** The first time after `after` at which a schedule is due, in ms. Throws an InputError if there is none. */
export function nextOccurrence(timetable: Timetable, after: number): number {
  const known = cronOf(timetable);
  // Many schedules are due at the same times. Between `after` and the time found, there is no other.
  if (after >= known.after && after < known.next) return known.next;
  const next = known.isEachHour
    ? nextInEachHour(known.cron, timetable.zone, after)
    : nextLocalTime(known.cron, timetable.zone, after);
  if (next === null)
    throw new InputError(`the cron expression ${JSON.stringify(timetable.cron)} is never due again`, {
      field: 'cron',
    });
  [known.after, known.next] = [after, next];
  return next;
}

/** The moment of the first local time whose moment is after `after`. */
function nextLocalTime(cron: Cron, zone: string, after: number): number | null {
  let local = cron.nextRun(new Date(localTime(zone, after)));
  for (; local !== null; local = cron.nextRun(local)) {
    const at = firstMoment(zone, local.getTime());
    // It was due before clocks went back, or the end of the gap is due already.
    if (at > after) return at;
  }
  return null;
}

/** The first moment after `after` at which clocks show a time of the expression. */
function nextInEachHour(cron: Cron, zone: string, after: number): number | null {
  const change = changeBetween(zone, after, after + DAY_MS);
  let local = cron.nextRun(new Date(localTime(zone, after)));
  // After a change, clocks may show earlier times than now.
  if (change !== null && (local === null || local.getTime() - offsetAt(zone, after) >= change))
    local = cron.nextRun(new Date(localTime(zone, change) - 1));
  for (; local !== null; local = cron.nextRun(local)) {
    const at = momentsOf(zone, local.getTime()).find((moment) => moment > after);
    if (at !== undefined) return at;
  }
  return null;
}

/** The next `count` times after `after` at which a schedule is due, in ms. Throws an InputError if there are fewer. */
export function nextOccurrences(timetable: Timetable, after: number, count: number): number[] {
  const times: number[] = [];
  while (times.length < count) times.push(nextOccurrence(timetable, times.at(-1) ?? after));
  return times;
}

/** `first`, which is due, and the times after it until `now`: at most `most`. `following`: the time after the last of them; infinite if it is due once. */
export function dueOccurrences(
  timetable: Timetable,
  first: number,
  now: number,
  most: number,
): { readonly due: readonly number[]; readonly following: number } {
  const due = [first];
  if (timetable.cron === '') return { due, following: Number.POSITIVE_INFINITY };
  for (;;) {
    const following = nextOccurrence(timetable, due.at(-1) ?? first);
    if (following > now || due.length >= most) return { due, following };
    due.push(following);
  }
}

/** A parsed expression, which reads local times as if they were those of UTC, and the time that was found last: the first after `after`. */
interface KnownCron {
  readonly cron: Cron;
  /** Whether its hour field is every hour, however it is written. */
  readonly isEachHour: boolean;
  after: number;
  next: number;
}

const crons = new Map<string, KnownCron>();
const MAX_CRONS = 1_000;

function cronOf({ cron, zone }: Timetable): KnownCron {
  const key = `${zone} ${cron}`;
  const known = crons.get(key);
  if (known !== undefined) return known;
  const parsed = parse(cron.trim());
  const [minute, hour] = cron.trim().split(/\s+/);
  // `@hourly` is one word.
  const hours = parse(hour === undefined ? String(minute) : `0 ${hour} * * *`);
  const isEachHour = hours.nextRuns(24, new Date(-1)).at(-1)?.getTime() === 23 * HOUR_MS;
  const made = { cron: parsed, isEachHour, after: Number.NaN, next: Number.NaN };
  if (crons.size >= MAX_CRONS) crons.clear();
  crons.set(key, made);
  return made;
}

/** Paused: it is only asked for times, and starts no timer. An offset is six times as fast as the zone `UTC`. */
const parse = (cron: string): Cron => new Cron(cron, { utcOffset: 0, mode: '5-part', paused: true });
