import { counted } from '../../base/counted.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import type { Schedule } from '../../intake/schedules/schedules.js';
import { type Finding, fail, firstFew, ok } from './check.js';

/** Whether schedules have failed, or are due and no worker runs them. */
export function checkSchedules(schedules: readonly Schedule[]): Finding[] {
  const name = 'schedules';
  const failing = schedules.filter(({ state, failuresInARow }) => state === 'paused' && failuresInARow > 0);
  const troubled = schedules.filter((each) => each.problem !== null && !failing.includes(each));
  const named = new Set([...failing, ...troubled]);
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
    ...(others > 0 ? [ok(name, `${counted(others, 'schedule')} without a problem`)] : []),
  ];
}
