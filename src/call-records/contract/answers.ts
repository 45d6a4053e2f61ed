import { findNodeAtLocation, type Node, type ParseError, parseTree } from 'jsonc-parser';
import type { Exchange, Failure, Reply } from '../../service/client/exchange.js';
import { retryAfterMs } from '../../service/client/read-response.js';
import { failureReason, PRIVATE_ADDRESS, quoteOf, reasonOf } from '../../service/client/reason.js';
import { type Contract, MEANINGS } from './contract.js';

/** How asking for records ended. */
export type RequestOutcome =
  | { readonly kind: 'accepted'; readonly serviceId: string }
  /** 401: a newer token may be valid. */
  | { readonly kind: 'unauthorised'; readonly reason: string }
  /** Certainly not accepted: the same request may be sent again. */
  | { readonly kind: 'notAccepted'; readonly reason: string; readonly retryAfterMs: number | null }
  /** The service refuses the request. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** It may or may not have been accepted. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** How asking for the status ended. */
export type StatusOutcome =
  | {
      readonly kind: 'word';
      readonly word: string;
      /** `unlisted`: the contract does not say. */
      readonly meaning: (typeof MEANINGS)[number] | 'unlisted';
      /** Of the file; null if the response has none. */
      readonly address: string | null;
    }
  | NoAnswer;

/** No usable answer; the request at the service is as it was. */
export type NoAnswer =
  | { readonly kind: 'unauthorised'; readonly reason: string }
  /** Asking again later may help. */
  | { readonly kind: 'later'; readonly reason: string; readonly retryAfterMs: number | null }
  /** Asking again does not help. */
  | { readonly kind: 'stopped'; readonly reason: string };

/** An answer that another attempt may improve. */
export const later = (reason: string, retryAfter: number | null = null): NoAnswer => ({
  kind: 'later',
  reason,
  retryAfterMs: retryAfter,
});

/** Texts that no reason may repeat, and the time. */
interface Reading {
  readonly secrets: readonly string[];
  readonly now: number;
}

const MAX_ID = 512;

/** The outcome of a request for records, for every status and every failure. */
export function requestOutcome(exchange: Exchange, contract: Contract, reading: Reading): RequestOutcome {
  if (exchange.kind === 'failure') {
    const reason = failureReason(exchange);
    if (isHopeless(exchange)) return { kind: 'refused', reason };
    if (!exchange.left) return { kind: 'notAccepted', reason, retryAfterMs: null };
    return { kind: 'unknown', reason: `${reason}; the service may have accepted the request` };
  }
  const { status, headers } = exchange;
  if (isSuccess(exchange)) {
    const serviceId = textAt(exchange.body, contract.request.id);
    if (serviceId !== null && serviceId.trim() !== '' && serviceId.length <= MAX_ID)
      return { kind: 'accepted', serviceId };
    return { kind: 'unknown', reason: unreadable(status, 'id', contract.request.id) };
  }
  const reason = explain(exchange, reading);
  if (status === 401) return { kind: 'unauthorised', reason };
  if (status === 429 || status === 425)
    return { kind: 'notAccepted', reason, retryAfterMs: retryAfterMs(headers['retry-after'], reading.now) };
  return { kind: status === 408 || status < 200 || status >= 500 ? 'unknown' : 'refused', reason };
}

/** The outcome of a status request. */
export function statusOutcome(exchange: Exchange, contract: Contract, reading: Reading): StatusOutcome {
  if (exchange.kind === 'failure' || !isSuccess(exchange)) return problemOf(exchange, reading);
  const { status, body } = exchange;
  const word = textAt(body, contract.status.word);
  if (word === null) return later(unreadable(status, 'status', contract.status.word));
  const meaning = MEANINGS.find((each) => contract.status[each].includes(word)) ?? 'unlisted';
  const { address } = contract.download;
  return {
    kind: 'word',
    word: quoteOf(word),
    meaning,
    address: address === null ? null : textAt(body, address),
  };
}

/** Why a response is not what was asked for. */
export function problemOf(exchange: Exchange, reading: Reading): NoAnswer {
  if (exchange.kind === 'failure') {
    const reason = failureReason(exchange);
    return isHopeless(exchange) ? { kind: 'stopped', reason } : later(reason);
  }
  const { status, headers } = exchange;
  const reason = explain(exchange, reading);
  if (status === 401) return { kind: 'unauthorised', reason };
  // Many services answer 404 or 410 for a file that is not there yet or no longer; the next status says which.
  return [404, 408, 410, 425, 429].includes(status) || status >= 500
    ? later(reason, retryAfterMs(headers['retry-after'], reading.now))
    : { kind: 'stopped', reason };
}

/** The same request would fail again. */
function isHopeless({ cause, code }: Failure): boolean {
  return cause === 'unsendable' || code === PRIVATE_ADDRESS;
}

function isSuccess({ status }: Reply): boolean {
  return status >= 200 && status < 300;
}

function unreadable(status: number, what: string, pointer: string): string {
  return `the service answered ${status} without a readable ${what} at ${pointer || 'the body'}`;
}

function explain({ status, body }: Reply, { secrets }: Reading): string {
  const isRedirect = status >= 300 && status < 400;
  const redirect = isRedirect ? ', a redirect, which is not followed: check the contract' : '';
  return reasonOf(`The service answered ${status}${redirect}.`, body ?? '', secrets).replace(/\.$/, '');
}

/** The text at a JSON pointer: a string, or a number exactly as it is written, as it may have more digits than a double keeps. Null if there is none. */
export function textAt(json: string | null, pointer: string): string | null {
  const errors: ParseError[] = [];
  let at: Node | undefined;
  try {
    at = parseTree(json ?? '', errors, { disallowComments: true, allowTrailingComma: false });
  } catch {
    // Nested too deeply.
    return null;
  }
  if (json === null || errors.length > 0) return null;
  for (const escaped of pointer.split('/').slice(1)) {
    const step = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    const isIndex = at?.type === 'array' && /^(0|[1-9]\d*)$/.test(step);
    at = at && findNodeAtLocation(at, [isIndex ? Number(step) : step]);
  }
  switch (at?.type) {
    case 'string':
      return String(at.value);
    case 'number':
    case 'boolean':
      return json.slice(at.offset, at.offset + at.length);
    default:
      return null;
  }
}
