import { deliveriesOf, lastReports } from './checks/deliveries.js';
import { grouped } from './checks/grouped.js';
import { mostInWindow } from './checks/quota.js';
import { eventsOf, type HistoryEvent } from './history.js';

/** What a history comes to, in recipients unless named otherwise. */
export interface Figures {
  readonly recipients: number;
  /** Accepted by the service exactly once, and more often. */
  readonly once: number;
  readonly twice: number;
  /** Never accepted, and not reported as unknown, rejected, cancelled or the like either. */
  readonly lost: number;
  readonly unknown: number;
  /** Of the unknown ones, how many the service had in fact accepted. */
  readonly unknownAccepted: number;
  /** Statuses that were told. */
  readonly statuses: number;
  /** Of all keys: the fullest rolling window, as a share of what it permits. */
  readonly fullestWindow: number;
  /** Requests that the service answered 429. */
  readonly throttled: number;
  readonly faults: number;
}

const SAYS_WHY = ['unknown', 'rejected', 'cancelled', 'lapsed', 'suppressed', 'abandoned'];

export function figuresOf(events: readonly HistoryEvent[]): Figures {
  const rows = [...lastReports(events).values()].flat();
  const times = new Map<string, number>();
  for (const { campaign, accepted } of deliveriesOf(events)) {
    for (const [number, list] of accepted) times.set(`${number} ${campaign.campaign}`, list.length);
  }
  const acceptedOf = ({ recipient, campaign }: (typeof rows)[number]): number =>
    times.get(`${recipient} ${campaign}`) ?? 0;
  const unknown = rows.filter(({ status }) => status === 'unknown');
  const requests = eventsOf(events, 'request');
  const byKey = grouped(requests, ({ key }) => key);
  const counts = [...times.values()];
  return {
    recipients: counts.length,
    once: counts.filter((count) => count === 1).length,
    twice: counts.filter((count) => count > 1).length,
    lost: rows.filter((row) => acceptedOf(row) === 0 && !SAYS_WHY.includes(row.status)).length,
    unknown: unknown.length,
    unknownAccepted: unknown.filter((row) => acceptedOf(row) > 0).length,
    statuses: eventsOf(events, 'status').length,
    fullestWindow: Math.max(
      0,
      ...eventsOf(events, 'run').flatMap(({ quotas }) =>
        quotas.map(({ key, quota, windowMs }) => {
          const arrived = (byKey.get(key) ?? []).map(({ at }) => at).sort((a, b) => a - b);
          return mostInWindow(arrived, windowMs).most / quota;
        }),
      ),
    ),
    throttled: requests.filter(({ outcome }) => outcome === 'quotaExceeded').length,
    faults: eventsOf(events, 'fault').length,
  };
}

/**
 * From each kill to the first request that was accepted more than `settleMs` after it, ms: what was on the wire at the
 * kill arrives within that. Of all keys the one that waited longest; one that is never served again does not count.
 */
export function servedAgain(events: readonly HistoryEvent[], settleMs: number): number[] {
  const accepted = eventsOf(events, 'request').filter(({ outcome }) => outcome === 'accepted');
  const byKey = [...grouped(accepted, ({ key }) => key).values()].map((list) =>
    list.map(({ at }) => at).sort((a, b) => a - b),
  );
  const kills = eventsOf(events, 'fault').filter(({ fault }) => fault === 'SIGKILL' || fault === 'kill');
  return kills.map(({ at }) =>
    Math.max(
      0,
      ...byKey.map((times) => {
        const next = times[firstAfter(times, at + settleMs)];
        return next === undefined ? 0 : next - at;
      }),
    ),
  );
}

/** Where the first of these ascending times is that is greater. */
function firstAfter(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
