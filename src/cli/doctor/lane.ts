import type { LaneStatus } from '../../campaign/views.js';
import { oneLine, until } from '../text.js';
import { type Check, fail, ok, warn } from './check.js';

/** Whether a lane sends, and if not, what to do. */
export function checkLane({ name, state, pause, unknownOutcomes }: LaneStatus, now: number): Check[] {
  const title = `lane ${name}`;
  const why = pause === null ? '' : `: ${oneLine(pause.reason)}`;
  const resume = `volley lane resume ${name}`;
  const unknown =
    unknownOutcomes === 0
      ? []
      : [
          warn(
            `${title}, unknown outcomes`,
            `${unknownOutcomes === 1 ? 'a request has' : `${unknownOutcomes} requests have`} an unknown outcome`,
            'To find them: volley list, volley status ID. To settle them: volley resolve ID',
          ),
        ];
  switch (state) {
    case 'open':
      return [ok(title, 'open'), ...unknown];
    case 'paused':
    case 'probing': {
      const end = pause === null || pause.until === null ? '' : `, until ${until(pause.until, now)}`;
      return [ok(title, `paused, resumes by itself${why}${end}`), ...unknown];
    }
    case 'held':
      return [warn(title, 'held by an operator', `To resume it: ${resume}`), ...unknown];
    case 'stopped':
      return [fail(title, `stopped${why}`, `Fix the reason, then: ${resume}`), ...unknown];
    default:
      return state satisfies never;
  }
}
