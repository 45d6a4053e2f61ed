/** The purpose of a request to the messaging interface (area A). */
export type ArrivalKind = 'send' | 'poll' | 'subscription' | 'other';

/** The outcome of a messaging request on the server's side; `repeated` means a known clientCorrelator. */
export type Outcome =
  | 'accepted'
  | 'repeated'
  | 'infos'
  | 'done'
  | 'quotaExceeded'
  | 'throttledByFault'
  | 'unauthorised'
  | 'forbidden'
  | 'badRequest'
  | 'notFound'
  | 'notAcceptable'
  | 'error'
  | 'reset'
  | 'hang';

/** The content of a request, as far as it could be parsed. Recorded only with the option `wholeArrivals`. */
export interface Subject {
  /** For a send: its text and recipients, E.164 with the plus. */
  text?: string;
  recipients?: string[];
  /** For a poll. */
  requestId?: string;
}

/** One messaging request. `key` is empty when the request had no known credentials. */
export interface Arrival extends Subject {
  at: number;
  key: string;
  kind: ArrivalKind;
  outcome: Outcome;
}

/** The largest number of a key's requests in any rolling window of its quota: those that the quota admitted, and all. */
export interface WindowMaximum {
  key: string;
  quota: number | null;
  windowMs: number;
  admitted: number;
  arrived: number;
}

/** Every messaging request in order of arrival. The quota is checked against this log. */
export class ArrivalLog {
  #all: Arrival[] = [];

  get length(): number {
    return this.#all.length;
  }

  record(arrival: Arrival): void {
    this.#all.push(arrival);
  }

  entries(): readonly Arrival[] {
    return this.#all;
  }

  /** How many requests had this outcome. */
  count(outcome: Outcome): number {
    return this.#all.reduce((count, each) => (each.outcome === outcome ? count + 1 : count), 0);
  }

  /** The largest number of a key's sends and polls within `windowMs`: all that arrived, and those that the quota admitted. */
  maxInWindow(key: string, windowMs: number): { admitted: number; arrived: number } {
    const own = this.#all.filter(
      (each) => each.key === key && (each.kind === 'send' || each.kind === 'poll'),
    );
    const admitted = own.filter(({ outcome }) => outcome !== 'quotaExceeded');
    return { admitted: mostWithin(admitted, windowMs), arrived: mostWithin(own, windowMs) };
  }

  clear(): void {
    this.#all = [];
  }
}

function mostWithin(arrivals: readonly Arrival[], windowMs: number): number {
  let [oldest, most] = [0, 0];
  for (const [index, { at }] of arrivals.entries()) {
    while ((arrivals[oldest]?.at ?? at) <= at - windowMs) oldest += 1;
    most = Math.max(most, index - oldest + 1);
  }
  return most;
}
