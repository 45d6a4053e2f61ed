import type { LaneStatus } from '../campaign/views.js';
import { type Check, fail, ok, warn } from './doctor-check.js';
import { oneLine, until } from './text.js';

/** How a lane stands: whether it sends, and if not, who has to do what. */
export function judgeLane({ name, state, pause, unknownOutcomes }: LaneStatus, now: number): Check[] {
  const title = `lane ${name}`;
  const why = pause === null ? '' : `: ${oneLine(pause.reason)}`;
  const resume = `volley lane resume ${name}`;
  const doubt =
    unknownOutcomes === 0
      ? []
      : [
          warn(
            `${title}, unknown`,
            `${unknownOutcomes === 1 ? 'a request has' : `${unknownOutcomes} requests have`} an unknown outcome`,
            'See which: volley list, volley status ID; then: volley resolve ID',
          ),
        ];
  switch (state) {
    case 'open':
      return [ok(title, 'open'), ...doubt];
    case 'paused':
    case 'probing': {
      const end = pause === null || pause.until === null ? '' : `, until ${until(pause.until, now)}`;
      return [ok(title, `pauses by itself${why}${end}`), ...doubt];
    }
    case 'held':
      return [warn(title, 'held by an operator', `When it may go on: ${resume}`), ...doubt];
    case 'stopped':
      return [fail(title, `stopped${why}`, `Mend that, then: ${resume}`), ...doubt];
    default:
      return state satisfies never;
  }
}
