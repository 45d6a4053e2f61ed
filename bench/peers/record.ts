/** Pure: the result of a contestant, computed only from the simulator's logs. All times in ms. */
import type { Arrival } from '../../src/tools/simulator/state/arrivals.js';
import type { LedgerEntry } from '../../src/tools/simulator/state/ledger.js';
import type { Scenario } from './scenario.js';

/** The logs of one contestant, in order of time. */
export interface ServiceLogs {
  /** All requests that arrived. */
  readonly arrivals: readonly Pick<Arrival, 'at' | 'kind' | 'outcome' | 'requestId'>[];
  /** The accepted send requests. */
  readonly ledger: readonly Pick<LedgerEntry, 'at' | 'requestId' | 'recipients'>[];
}

export interface Figures {
  /** From the first request to the poll that returned the last final status, or to the last request. */
  readonly tookMs: number;
  /** Requests that the quota admitted. */
  readonly sends: number;
  readonly polls: number;
  /** Requests answered 429. */
  readonly throttled: number;
  /** Admitted requests divided by the quota, over all windows but the last; NaN if there was only one. */
  readonly utilisation: number;
  /** The largest number of requests in any rolling window, including those answered 429. */
  readonly worstWindow: number;
  /** Messages to a number beyond the first. */
  readonly duplicates: number;
  /** Recipients without any accepted request. */
  readonly notSent: number;
  /** Recipients whose final status was never returned by a poll. */
  readonly notFinal: number;
}

type Rules = Pick<Scenario, 'quota' | 'windowMs' | 'model' | 'deliveryMs'>;

/** Throws if a number was accepted that is not on the list, or if no request arrived. */
export function figuresOf(list: readonly string[], { arrivals, ledger }: ServiceLogs, rules: Rules): Figures {
  const [first, last] = [arrivals[0], arrivals.at(-1)];
  if (first === undefined || last === undefined) throw new Error('no request arrived');
  const admitted = arrivals.filter(({ outcome }) => outcome !== 'quotaExceeded');
  const reported = finalReports(admitted, ledger, rules.deliveryMs);
  const texts = new Map(list.map((number) => [number, 0]));
  const finalAt = new Map<string, number>();
  for (const { requestId, recipients } of ledger) {
    const at = reported.get(requestId);
    for (const number of recipients) {
      const before = texts.get(number);
      if (before === undefined) throw new Error(`${number} is not on the list`);
      texts.set(number, before + 1);
      if (at !== undefined) finalAt.set(number, Math.min(at, finalAt.get(number) ?? at));
    }
  }
  const counts = [...texts.values()];
  const notSent = counts.filter((count) => count === 0).length;
  const isComplete = finalAt.size === list.length;
  const endedAt = isComplete ? Math.max(...finalAt.values()) : last.at;
  return {
    tookMs: endedAt - first.at,
    sends: admitted.filter(({ kind }) => kind === 'send').length,
    polls: admitted.filter(({ kind }) => kind === 'poll').length,
    throttled: arrivals.length - admitted.length,
    utilisation: utilisation(
      admitted.map(({ at }) => at),
      [first.at, last.at],
      rules,
    ),
    worstWindow: mostWithin(
      arrivals.map(({ at }) => at),
      rules.windowMs,
    ),
    duplicates: counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
    notSent,
    notFinal: list.length - notSent - finalAt.size,
  };
}

/** When a poll first returned the final status of each request: at least `deliveryMs` after acceptance. */
function finalReports(
  admitted: ServiceLogs['arrivals'],
  ledger: ServiceLogs['ledger'],
  deliveryMs: number,
): Map<string, number> {
  const acceptedAt = new Map(ledger.map(({ requestId, at }) => [requestId, at]));
  const reported = new Map<string, number>();
  for (const { at, outcome, requestId } of admitted) {
    if (outcome !== 'infos' || requestId === undefined || reported.has(requestId)) continue;
    if (at - (acceptedAt.get(requestId) ?? Number.POSITIVE_INFINITY) >= deliveryMs)
      reported.set(requestId, at);
  }
  return reported;
}

/** The largest number of these ascending times in any (t − windowMs, t]. */
export function mostWithin(times: readonly number[], windowMs: number): number {
  let [oldest, most] = [0, 0];
  for (const [at, time] of times.entries()) {
    while ((times[oldest] ?? time) <= time - windowMs) oldest += 1;
    most = Math.max(most, at - oldest + 1);
  }
  return most;
}

/**
 * Excludes the last window, in which the list ran out. Windows begin with the first request, or by the clock if the service
 * counts that way. NaN if there is only one window.
 */
function utilisation(admitted: readonly number[], [first, last]: [number, number], rules: Rules): number {
  const { quota, windowMs, model } = rules;
  const begin = model === 'clock' ? first - (first % windowMs) : first;
  const windows = Math.floor((last - begin) / windowMs);
  return admitted.filter((at) => at < begin + windows * windowMs).length / (quota * windows);
}
