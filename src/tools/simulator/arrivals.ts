import { Column } from './columns.js';

/** The purpose of a request to the messaging interface (area A). */
export const ARRIVAL_KINDS = ['send', 'poll', 'subscription', 'other'] as const;
/** See {@link ARRIVAL_KINDS}. */
export type ArrivalKind = (typeof ARRIVAL_KINDS)[number];

/** The outcome of a messaging request on the server's side; `repeated` means a known clientCorrelator. */
export const OUTCOMES = [
  'accepted',
  'repeated',
  'infos',
  'done',
  'quotaExceeded',
  'throttledByFault',
  'unauthorised',
  'forbidden',
  'badRequest',
  'notFound',
  'notAcceptable',
  'error',
  'reset',
  'hang',
] as const;
/** See {@link OUTCOMES}. */
export type Outcome = (typeof OUTCOMES)[number];

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

const NO_KEY = 0xffff;

/** Every messaging request in order of arrival. The quota is checked against this log. */
export class ArrivalLog {
  #at = new Column(Float64Array);
  #key = new Column(Uint16Array);
  #code = new Column(Uint16Array);
  #counts: number[] = [];
  #subjects: Subject[] = [];
  readonly #keyNames: string[] = [];

  get length(): number {
    return this.#at.length;
  }

  record(
    at: number,
    key: { index: number; name: string } | undefined,
    kind: ArrivalKind,
    outcome: Outcome,
    subject?: Subject,
  ): void {
    if (subject !== undefined) this.#subjects[this.#at.length] = subject;
    if (key !== undefined) this.#keyNames[key.index] = key.name;
    this.#at.push(at);
    this.#key.push(key?.index ?? NO_KEY);
    const what = codeOf(kind, outcome);
    this.#code.push(what);
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
  }

  *entries(): Generator<Arrival> {
    for (let row = 0; row < this.#at.length; row += 1) {
      const { kind, outcome } = this.#codeAt(row);
      const key = this.#keyNames[this.#key.at(row)] ?? '';
      yield { at: this.#at.at(row), key, kind, outcome, ...this.#subjects[row] };
    }
  }

  /** How many requests of this kind (default: of any kind) had this outcome. */
  count(outcome: Outcome, kind?: ArrivalKind): number {
    let sum = 0;
    for (const each of ARRIVAL_KINDS) {
      if (each === (kind ?? each)) sum += this.#counts[codeOf(each, outcome)] ?? 0;
    }
    return sum;
  }

  /** The largest number of a key's sends and polls within `windowMs`: all that arrived, and those that the quota admitted. */
  maxInWindow(keyIndex: number, windowMs: number): { admitted: number; arrived: number } {
    const arrived = rollingMaximum(windowMs);
    const admitted = rollingMaximum(windowMs);
    for (let row = 0; row < this.#at.length; row += 1) {
      const { kind, outcome } = this.#codeAt(row);
      if (this.#key.at(row) !== keyIndex || (kind !== 'send' && kind !== 'poll')) continue;
      arrived.add(this.#at.at(row));
      if (outcome !== 'quotaExceeded') admitted.add(this.#at.at(row));
    }
    return { admitted: admitted.maximum(), arrived: arrived.maximum() };
  }

  clear(): void {
    this.#at = new Column(Float64Array);
    this.#key = new Column(Uint16Array);
    this.#code = new Column(Uint16Array);
    this.#counts = [];
    this.#subjects = [];
  }

  #codeAt(row: number): { kind: ArrivalKind; outcome: Outcome } {
    const what = this.#code.at(row);
    const outcome = what % OUTCOMES.length;
    return {
      kind: ARRIVAL_KINDS[(what - outcome) / OUTCOMES.length] ?? 'other',
      outcome: OUTCOMES[outcome] ?? 'error',
    };
  }
}

function codeOf(kind: ArrivalKind, outcome: Outcome): number {
  return ARRIVAL_KINDS.indexOf(kind) * OUTCOMES.length + OUTCOMES.indexOf(outcome);
}

function rollingMaximum(windowMs: number): { add(at: number): void; maximum(): number } {
  const times = new Column(Float64Array);
  let oldest = 0;
  let maximum = 0;
  return {
    add(at) {
      times.push(at);
      while (times.at(oldest) <= at - windowMs) oldest += 1;
      maximum = Math.max(maximum, times.length - oldest);
    },
    maximum: () => maximum,
  };
}
