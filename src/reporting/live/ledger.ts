import { exactDuration } from '../../base/duration.js';
import type { Ledger } from '../../campaign/views/live-views.js';
import type { LaneStatusRecord } from '../../engine/lane/lane-status.js';

const iso = (ms: number): string => new Date(ms).toISOString();

/**
 * The ledger of a lane, from its status with buckets. The sum of the buckets is what the status counts as used, because both are of
 * the same read. `throttledAt`: when the lane was refused, ms. Pure.
 */
export function ledgerOf(lane: string, view: LaneStatusRecord, throttledAt: readonly number[]): Ledger {
  const buckets = Array.from({ length: view.buckets.length / 3 }, (_, at) => {
    const [begin = 0, sends = 0, polls = 0] = view.buckets.slice(3 * at, 3 * at + 3);
    return { begin, sends, polls };
  });
  return {
    lane,
    at: iso(view.now),
    span: exactDuration(view.window),
    width: exactDuration(view.width),
    guard: exactDuration(view.ahead),
    buckets: buckets.map(({ begin, sends, polls }) => ({ at: iso(begin), sends, polls })),
    used: { send: view.sends, poll: view.polls },
    limit: view.limit,
    inFlight: view.inFlightSends + view.inFlightPolls,
    pollReserve: view.keptForPolls,
    permits: buckets.map(({ begin, sends, polls }) => ({
      at: iso(begin + view.width + view.window),
      count: sends + polls,
    })),
    throttledAt: throttledAt.filter((at) => at > view.now - view.window).map(iso),
  };
}
