import { counted } from '../../base/counted.js';
import { moment } from '../../base/moments.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import type { Schedule } from '../../intake/schedules/schedules.js';
import { type Finding, fail, firstFew, ok, warn } from './check.js';

/** Workers look for due schedules every two seconds. */
const LATE_MS = 5 * 60_000;

/** Whether schedules have failed, or are due and no worker runs them. */
export function checkSchedules(schedules: readonly Schedule[], now: number): Finding[] {
  const name = 'schedules';
  const failing = schedules.filter(({ state, failuresInARow }) => state === 'paused' && failuresInARow > 0);
  const late = schedules.filter(
    ({ next, waiting }) => next !== null && !waiting && Date.parse(next) < now - LATE_MS,
  );
  const troubled = schedules.filter(({ state, problem }) => state === 'active' && problem !== null);
  const named = new Set([...failing, ...late, ...troubled]);
  const others = schedules.length - named.size;
  return [
    ...firstFew(troubled, ({ id, problem }) =>
      fail(
        name,
        `${id} is failing: ${oneLine(problem ?? '')}`,
        `Fix the cause. To see its latest occurrences: volley schedule show ${id}`,
      ),
    ),
    ...firstFew(failing, ({ id, reason }) =>
      fail(
        name,
        `${id} is paused: ${oneLine(reason ?? '')}`,
        `Fix the cause, then: volley schedule resume ${id}`,
      ),
    ),
    ...firstFew(late, ({ id, next, zone }) =>
      warn(
        name,
        `${id} has been due since ${moment(Date.parse(next ?? ''), now, zone)}, and no worker has run it`,
        'Start a worker that serves its lane and, if code provides its list, provides it.',
      ),
    ),
    ...(others > 0 ? [ok(name, `${counted(others, 'schedule')} without a problem`)] : []),
  ];
}
