import { type RequestError, readRequestError } from './read-response.js';

/**
 * What an error of the GSMA OneAPI family (`requestError`) says about a send, where its code says more than the HTTP status:
 *
 * - `unknown`: the service may have accepted the messages.
 * - `known`: the service knows the correlator, so it has received an earlier request with it.
 * - `recipient`, `text`, `size`: it refuses a recipient, the text, or so many recipients at once.
 * - `account`: it refuses the account, its contract, or its sender, and so would refuse every request.
 * - `stopped`: it refuses the request for a reason that it does not name.
 * - `throttled`: too many requests.
 */
export type ErrorMeaning =
  | 'unknown'
  | 'known'
  | 'recipient'
  | 'text'
  | 'size'
  | 'account'
  | 'stopped'
  | 'throttled';

/** A meaning, or how the words of the error decide it; `byStatus`: the code says no more than the HTTP status. */
type Row = ErrorMeaning | 'byStatus' | ((error: RequestError) => ErrorMeaning | 'byStatus');

/** SVC0002 and SVC0003 name the part of the request that is not valid, as their first variable. */
const byPart: Row = ({ variables: [part = ''] }) => {
  if (/sender|correlator|callback|notify|receipt|charset/i.test(part)) return 'account';
  if (/message|text/i.test(part)) return 'text';
  return /address|tel:/i.test(part) ? 'recipient' : 'byStatus';
};

/** Bizao, which resells Orange, answers with the code of a bad recipient to a bad sender, too. */
const byAddress: Row = (error) => (/sender/i.test(wordsOf(error)) ? 'account' : 'recipient');

/** Orange: "Not enough credit", "Expired contract", no contract; the WSO2.Telco hub: a number on a blacklist. */
const byPolicy: Row = (error) => {
  const words = wordsOf(error);
  if (/credit|balance|contract/i.test(words)) return 'account';
  return /black[ -]?list/i.test(words) ? 'recipient' : 'stopped';
};

/**
 * The codes, whichever of the two exceptions holds them. Sources: the error pages of Orange (sms-bw) and the OMA registry of exception
 * codes; what PowerMeMobile/k1api (K), WSO2Telco/component-dep (H, the hub of IdeaBiz), and Telia's clients do, read in their code; the
 * pages of IdeaBiz and Bizao. Where they disagree, the reading counts that loses no message and sends none twice.
 */
const ROWS: Readonly<Record<string, Row>> = {
  /** Service error. H also answers so when the operator's answer was lost, even in the middle of a list. */
  SVC0001: 'unknown',
  /** Invalid input value; the second lists the valid ones. */
  SVC0002: byPart,
  SVC0003: byPart,
  /** No valid address; a number of another network (H); an invalid address (H, policy). */
  SVC0004: byAddress,
  SVC0284: byAddress,
  POL0255: byAddress,
  /** Duplicate correlator: 409 by K, 400 by H. */
  SVC0005: 'known',
  /** The message is too long. */
  SVC0280: 'text',
  /** No delivery receipts; H spells it SCV0283. Volley asks for none in a request. */
  SVC0283: 'byStatus',
  SCV0283: 'byStatus',
  /** Delivered to none: H has no usable answer of the operator. */
  SVC0285: 'unknown',
  POL0257: 'unknown',
  /** No resources: 503 by K, 400 by H. */
  SVC1000: 'unknown',
  POL0001: byPolicy,
  /** Privacy. */
  POL0002: 'recipient',
  /** Too many addresses. */
  POL0003: 'size',
  /** Duplicate addresses: 400 by K, 403 by H. A body that H cannot read. Volley sends neither. */
  POL0013: 'byStatus',
  POL0299: 'byStatus',
  /** The service is not provisioned, or suspended. */
  POL1009: 'account',
  POL1010: 'account',
  /** Telia: too many requests; three ways to refuse a number. */
  POL3003: 'throttled',
  POL3006: 'recipient',
  POL3007: 'recipient',
  POL3101: 'recipient',
};

/** What the error in a response body means; undefined if it has none, or if its code says no more than the HTTP status. Never throws. */
export function errorMeaning(body: string | null): ErrorMeaning | undefined {
  const error = readRequestError(body ?? '');
  if (error === null) return undefined;
  const row = Object.hasOwn(ROWS, error.code) ? ROWS[error.code] : undefined;
  const meaning = typeof row === 'function' ? row(error) : row;
  return meaning === 'byStatus' ? undefined : meaning;
}

/** The variables and the text, which often repeats them. */
function wordsOf({ text, variables }: RequestError): string {
  return [...variables, text].join(' ');
}
