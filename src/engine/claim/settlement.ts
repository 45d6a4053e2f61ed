import type { PlacedWord } from '../recipients/status-words.js';
import type { ScriptEvent } from '../scripts/script-events.js';

/** One letter per recipient of the batch: N, T, or I as reported, R if refused, S if suppressed, - if unchanged (states.lua). */
export type Letters = string;

/** The result of a settle script. `settled`: settlements that took effect; the others had been made before. */
export interface SettleResult {
  readonly settled: number;
  readonly events: readonly ScriptEvent[];
}

/** The segments of a text, and what each of its messages costs, in micros: once if all cost the same, and 0 without a price. */
export type Charge = readonly [segments: number, ...micros: number[]];

/** The common fields of send and poll settlements. */
export interface Settlement {
  readonly claim: {
    readonly number: number;
    readonly turn: string;
    readonly campaign: string;
    readonly first: number;
    readonly count?: number;
    readonly message?: string | undefined;
  };
  readonly result: string;
  /** With `accepted`, `unknown`, `unclear`, `partlySuppressed`, `refused`, and `infos`: one letter per recipient. */
  readonly letters?: Letters;
  /** Final statuses of recipients for whom the same response has another one, in `letters`; `-` for all others. */
  readonly contradicted?: Letters;
  /** The service's own words for the statuses of some recipients. */
  readonly words?: readonly PlacedWord[] | undefined;
  /** What the messages of a send are charged for. */
  readonly charge?: Charge | undefined;
  /** The service's id of the request. Required with `infos` and `missing` on lanes with notifications. */
  readonly requestId?: string;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** The claim's worker never settled it. */
  readonly overdue?: boolean;
  /** With `unknown` and `unclear`: a repeat under the same correlator would get the same response. */
  readonly isFinal?: boolean;
  /** With `unclear`: the service knows the correlator, so it has received an earlier request. */
  readonly isKnown?: boolean;
  /** With `refused`: the service refuses the text. */
  readonly isText?: boolean;
  /** The settlement of a send comes from a poll that confirmed a notification; the response to the send is not known. */
  readonly byNotification?: boolean;
}
