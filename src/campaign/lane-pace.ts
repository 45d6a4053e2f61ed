import { BUCKETS, type ForecastRules, type LaneState } from './forecast.js';

/** Buckets of uninterrupted sending that show how fast a lane sends, and the longest break in them. */
const [ENOUGH_BUCKETS, MOST_BUCKETS, LONGEST_BREAK] = [16, 96, 3];

/** The ms between two requests of a busy lane, and by what part that may be wrong. Its last uninterrupted sending shows it best. */
export function paceOf(
  lane: Pick<LaneState, 'now' | 'returning'>,
  { window, inFlight, smooth }: ForecastRules,
  latency: number,
): { perRequest: number; spread: number } {
  const byLatency = { perRequest: latency / inFlight, spread: 0.3 };
  const width = Math.max(1, Math.ceil(window / BUCKETS));
  const current = Math.floor(lane.now / width) * width;
  let [sends, newest, oldest] = [0, 0, 0];
  for (let at = lane.returning.length - 3; at >= 0; at -= 3) {
    const bucketEnd = (lane.returning[at] ?? 0) - window;
    const count = lane.returning[at + 1] ?? 0;
    if (bucketEnd > current || count === 0) continue;
    if (newest === 0) [newest, oldest] = [bucketEnd, bucketEnd];
    if (oldest - bucketEnd > LONGEST_BREAK * width || newest - bucketEnd >= MOST_BUCKETS * width) break;
    sends += count;
    oldest = bucketEnd - width;
  }
  const observed = (newest - oldest) / Math.max(1, sends);
  // A lane that its permits slow down shows their pace instead.
  const isShown = !smooth && newest - oldest >= ENOUGH_BUCKETS * width && observed < 2 * byLatency.perRequest;
  return isShown ? { perRequest: observed, spread: 0.1 } : byLatency;
}
