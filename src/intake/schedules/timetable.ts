import { Cron } from 'croner';
import { InputError } from '../../campaign/errors.js';
import { isZone, noSuchZone } from '../../campaign/zone.js';

/** When a schedule is due: a cron expression of five fields, in the local time of an IANA zone. */
export interface Timetable {
  /** Minute, hour, day of the month, month, day of the week: `0 9 * * 1` is Monday at nine. */
  readonly cron: string;
  readonly zone: string;
}

/*
 * The days on which clocks change. A time that the zone skips is due at the end of the gap, and a time that it repeats is due once, the
 * first time. An expression for each hour or minute is due in each hour or minute that passes.
 */

const FIELDS =
  'minute, hour, day of the month, month, and day of the week, such as `0 9 * * 1` for Monday at nine';

/** Throws an InputError that names `zone` if there is no such time zone. */
export function checkZone(zone: string): void {
  if (!isZone(zone)) throw new InputError(noSuchZone(zone), { field: 'zone' });
}

/** Throws an InputError that names `cron` if the expression is invalid, or never due. In an unknown zone, it is checked in UTC. */
export function checkCron({ cron, zone: named }: Timetable, now: number): void {
  const zone = isZone(named) ? named : 'UTC';
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
    job = cronOf({ cron, zone }).cron;
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
  const next = known.cron.nextRun(new Date(after));
  if (next === null)
    throw new InputError(`the cron expression ${JSON.stringify(timetable.cron)} is never due again`, {
      field: 'cron',
    });
  [known.after, known.next] = [after, next.getTime()];
  return known.next;
}

/** The next `count` times after `after` at which a schedule is due, in ms. */
export function nextOccurrences(timetable: Timetable, after: number, count: number): number[] {
  return cronOf(timetable)
    .cron.nextRuns(count, new Date(after))
    .map((at) => at.getTime());
}

/** `first`, which is due, and the times after it until `now`: at most `most`. `following`: the time after the last of them. */
export function dueOccurrences(
  timetable: Timetable,
  first: number,
  now: number,
  most: number,
): { readonly due: readonly number[]; readonly following: number } {
  const due = [first];
  for (;;) {
    const following = nextOccurrence(timetable, due.at(-1) ?? first);
    if (following > now || due.length >= most) return { due, following };
    due.push(following);
  }
}

/** A parsed expression, and the time that was found last: the first after `after`. */
interface KnownCron {
  readonly cron: Cron;
  after: number;
  next: number;
}

const crons = new Map<string, KnownCron>();
const MAX_CRONS = 1_000;

function cronOf({ cron, zone }: Timetable): KnownCron {
  const key = `${zone} ${cron}`;
  const known = crons.get(key);
  if (known !== undefined) return known;
  // Paused: it is only asked for times, and starts no timer.
  const parsed = new Cron(cron.trim(), { timezone: zone, mode: '5-part', paused: true });
  const made = { cron: parsed, after: Number.NaN, next: Number.NaN };
  if (crons.size >= MAX_CRONS) crons.clear();
  crons.set(key, made);
  return made;
}
