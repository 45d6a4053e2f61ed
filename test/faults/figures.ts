import { deliveriesOf, lastReports } from './checks/deliveries.js';
import { groupBy } from './checks/group-by.js';
import { maxInWindow } from './checks/quota.js';
import { eventsOf, type HistoryEvent } from './history.js';

/** Figures of a history, in recipients unless stated otherwise. */
export interface Figures {
  readonly recipients: number;
  /** Accepted by the service exactly once, and more often. */
  readonly once: number;
  readonly twice: number;
  /** Never accepted, without a status that explains why. */
  readonly lost: number;
  readonly unknown: number;
  /** Those of the unknown recipients that the service did accept. */
  readonly unknownAccepted: number;
  /** The number of recorded campaign statuses. */
  readonly statuses: number;
  /** The fullest rolling window of any key, as a share of its quota. */
  readonly fullestWindow: number;
  /** Requests that the service answered 429. */
  readonly throttled: number;
  readonly faults: number;
  /** How long the key that waited longest was without an accepted request after a kill, ms: see {@link recoveryTimes}. */
  readonly recoveryMs: { readonly median: number; readonly p99: number; readonly max: number };
}

/** Longer than the service takes to answer, so that what arrives later was not in flight at a kill. */
const SETTLE_MS = 500;

const EXPLAINED = ['unknown', 'rejected', 'cancelled', 'lapsed', 'suppressed', 'abandoned'];

export function figuresOf(events: readonly HistoryEvent[]): Figures {
  const rows = [...lastReports(events).values()].flat();
  const times = new Map<string, number>();
  for (const { campaign, accepted } of deliveriesOf(events)) {
    for (const [number, list] of accepted) times.set(`${number} ${campaign}`, list.length);
  }
  const acceptedOf = ({ recipient, campaign }: (typeof rows)[number]): number =>
    times.get(`${recipient} ${campaign}`) ?? 0;
  const unknown = rows.filter(({ status }) => status === 'unknown');
  const requests = eventsOf(events, 'request');
  const byKey = groupBy(requests, ({ key }) => key);
  const counts = [...times.values()];
  const recovered = recoveryTimes(events, SETTLE_MS).sort((a, b) => a - b);
  const recoveredIn = (share: number): number => recovered[Math.ceil(recovered.length * share) - 1] ?? 0;
  return {
    recipients: counts.length,
    once: counts.filter((count) => count === 1).length,
    twice: counts.filter((count) => count > 1).length,
    lost: rows.filter((row) => acceptedOf(row) === 0 && !EXPLAINED.includes(row.status)).length,
    unknown: unknown.length,
    unknownAccepted: unknown.filter((row) => acceptedOf(row) > 0).length,
    statuses: eventsOf(events, 'status').length,
    fullestWindow: Math.max(
      0,
      ...eventsOf(events, 'run').flatMap(({ quotas }) =>
        quotas.map(({ key, quota, windowMs }) => {
          const arrived = (byKey.get(key) ?? []).map(({ at }) => at).sort((a, b) => a - b);
          return maxInWindow(arrived, windowMs).max / quota;
        }),
      ),
    ),
    throttled: requests.filter(({ outcome }) => outcome === 'quotaExceeded').length,
    faults: eventsOf(events, 'fault').length,
    recoveryMs: { median: recoveredIn(0.5), p99: recoveredIn(0.99), max: recoveredIn(1) },
  };
}

/**
 * The time from each kill to the next accepted request of the key that waits longest, ms. Requests within `settleMs` do not
 * count, because they were in flight at the kill. Neither do keys without a later request.
 */
export function recoveryTimes(events: readonly HistoryEvent[], settleMs: number): number[] {
  const accepted = eventsOf(events, 'request').filter(({ outcome }) => outcome === 'accepted');
  const byKey = [...groupBy(accepted, ({ key }) => key).values()].map((list) =>
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

/** The index of the first of these ascending times that is later than `time`. */
function firstAfter(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
