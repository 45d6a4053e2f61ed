/** Pure: what a contestant's run came to, decided from the service's own books alone. All times in ms. */
import type { Arrival } from '../../src/simulator/arrivals.js';
import type { LedgerEntry } from '../../src/simulator/ledger.js';
import type { Scenario } from './scenario.js';

/** The books of one contestant, both in order of time. */
export interface Books {
  /** Everything that came. */
  readonly arrivals: readonly Pick<Arrival, 'at' | 'kind' | 'outcome' | 'requestId'>[];
  /** What was accepted. */
  readonly ledger: readonly Pick<LedgerEntry, 'at' | 'requestId' | 'recipients'>[];
}

export interface Figures {
  /** From the first request to the poll that told the last recipient's final status, or to the last request. */
  readonly tookMs: number;
  /** Requests that the quota let in. */
  readonly sends: number;
  readonly polls: number;
  /** Requests answered 429. */
  readonly throttled: number;
  /** Let in ÷ what the quota would have let in, over the windows before the last; NaN if there was but one. */
  readonly utilisation: number;
  /** The most requests that came within a window, wherever it begins, those answered 429 included. */
  readonly worstWindow: number;
  /** Texts sent beyond the first to a number. */
  readonly duplicates: number;
  /** Recipients never sent to. */
  readonly notSent: number;
  /** Recipients sent to, whose final status was never asked for late enough. */
  readonly notFinal: number;
}

type Rules = Pick<Scenario, 'quota' | 'windowMs' | 'model' | 'deliveryMs'>;

/** Throws where a number was accepted that is not on the list, or nothing came at all. */
export function figuresOf(list: readonly string[], { arrivals, ledger }: Books, rules: Rules): Figures {
  const [first, last] = [arrivals[0], arrivals.at(-1)];
  if (first === undefined || last === undefined) throw new Error('no request came');
  const letIn = arrivals.filter(({ outcome }) => outcome !== 'quotaExceeded');
  const told = toldFinal(letIn, ledger, rules.deliveryMs);
  const texts = new Map(list.map((number) => [number, 0]));
  const finalAt = new Map<string, number>();
  for (const { requestId, recipients } of ledger) {
    const at = told.get(requestId);
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
    sends: letIn.filter(({ kind }) => kind === 'send').length,
    polls: letIn.filter(({ kind }) => kind === 'poll').length,
    throttled: arrivals.length - letIn.length,
    utilisation: utilisation(
      letIn.map(({ at }) => at),
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

/** When the final status of each request was first told: a poll that came `deliveryMs` after acceptance, or later. */
function toldFinal(
  letIn: Books['arrivals'],
  ledger: Books['ledger'],
  deliveryMs: number,
): Map<string, number> {
  const acceptedAt = new Map(ledger.map(({ requestId, at }) => [requestId, at]));
  const told = new Map<string, number>();
  for (const { at, outcome, requestId } of letIn) {
    if (outcome !== 'infos' || requestId === undefined || told.has(requestId)) continue;
    if (at - (acceptedAt.get(requestId) ?? Number.POSITIVE_INFINITY) >= deliveryMs) told.set(requestId, at);
  }
  return told;
}

/** The most of these times, in order, that lie in any (t − windowMs, t]. */
export function mostWithin(times: readonly number[], windowMs: number): number {
  let [oldest, most] = [0, 0];
  for (const [at, time] of times.entries()) {
    while ((times[oldest] ?? time) <= time - windowMs) oldest += 1;
    most = Math.max(most, at - oldest + 1);
  }
  return most;
}

/**
 * The last window is left out: in it there was not enough left to do. Windows begin with the first request, or by the clock
 * where the service counts so. NaN where the first is the last.
 */
function utilisation(letIn: readonly number[], [first, last]: [number, number], rules: Rules): number {
  const { quota, windowMs, model } = rules;
  const begin = model === 'clock' ? first - (first % windowMs) : first;
  const windows = Math.floor((last - begin) / windowMs);
  return letIn.filter((at) => at < begin + windows * windowMs).length / (quota * windows);
}
