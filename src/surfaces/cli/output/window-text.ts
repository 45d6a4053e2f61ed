import { until } from '../../../base/moments.js';
import type { SendWindow } from '../../../campaign/views/views.js';

/** `Mon-Sat 09:00-20:00 Europe/Paris, opens 09:00:00 CET (in 2h)` */
export function windowText(
  { hours, except, opensAt, closesAt }: SendWindow,
  zone: string | null,
  now: number,
): string {
  const [first, ...others] = except;
  const not = first === undefined ? '' : `, except ${[first, ...others].join(', ')}`;
  const next =
    closesAt !== null
      ? `; closes ${until(closesAt, now, zone)}`
      : opensAt !== null
        ? `; opens ${until(opensAt, now, zone)}`
        : '';
  return `${hours} ${zone}${not}${next}`;
}
