import { listed } from '../../campaign/errors/listed.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import type { LaneDifference } from '../../engine/recovery/lane-settings.js';

/** Workers named for a lane; the rest are counted. */
const NAMED = 3;

/** `worker web-1 4711 has another value of API_KEY for lane default than the settings of this process` */
export function differenceText({ lane, settings, workers, than }: LaneDifference): string {
  const named = workers.slice(0, NAMED).map(({ host, pid }) => oneLine(`${host} ${pid}`));
  const more = workers.length > NAMED ? [`${workers.length - NAMED} more`] : [];
  const what = `${settings.length === 1 ? 'another value' : 'other values'} of ${listed(settings)}`;
  const other =
    than === null
      ? 'the settings of this process'
      : `worker ${oneLine(`${than.host} ${than.pid}`)}, which started last`;
  return `${workers.length === 1 ? 'worker' : 'workers'} ${listed([...named, ...more])} ${workers.length === 1 ? 'has' : 'have'} ${what} for lane ${lane} than ${other}`;
}

/** What to do about it. */
export const RESTART_WORKERS =
  'If these settings are right, restart the workers: they read their settings when they start.';

/** A difference in a line of its own. */
export function differenceLine(difference: LaneDifference): string {
  const text = differenceText(difference);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}. ${RESTART_WORKERS}`;
}
