import { formatDuration } from '../../base/duration.js';
import { type Finding, ok, warn } from './check.js';

/** Checks how far another clock is ahead of this machine's. */
export function skewCheck(name: string, skewMs: number, maxMs: number): Finding {
  const size = formatDuration(Math.abs(skewMs));
  if (Math.abs(skewMs) <= maxMs) return ok(name, `within ${size} of this machine's`);
  return warn(
    name,
    `${size} ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's`,
    'Synchronise both clocks with NTP: start times and quota windows depend on them.',
  );
}
