import { findNodeAtLocation, type Node, type ParseError, parseTree } from 'jsonc-parser';
import type { Exchange, Failure, Reply } from '../service/client/exchange.js';
import { retryAfterMs } from '../service/client/read-response.js';
import { failureReason, PRIVATE_ADDRESS, quoteOf, reasonOf } from '../service/client/reason.js';
import type { Contract } from './contract.js';

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

/** What the service's word means. `unlisted`: the contract does not say. */
export type WordMeaning = 'pending' | 'ready' | 'failed' | 'expired' | 'empty' | 'unlisted';

/** How asking for the status ended. */
export type StatusOutcome =
  | {
      readonly kind: 'word';
      readonly word: string;
      readonly meaning: WordMeaning;
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

/** Texts that no reason may repeat, and the time. */
interface Reading {
  readonly secrets: readonly string[];
  readonly now: number;
}

/** The outcome of a request for records, for every status and every failure. */
export function requestOutcome(exchange: Exchange, contract: Contract, reading: Reading): RequestOutcome {
  if (exchange.kind === 'failure') {
    const reason = failureReason(exchange);
    if (isHopeless(exchange)) return { kind: 'refused', reason };
    if (!exchange.left) return { kind: 'notAccepted', reason, retryAfterMs: null };
    return { kind: 'unknown', reason: `${reason}; the service may have accepted the request` };
  }
  const { status, body } = exchange;
  if (status >= 200 && status < 300) {
    const serviceId = body === null ? null : textAt(body, contract.request.id);
    if (serviceId !== null && serviceId.trim() !== '' && serviceId.length <= MAX_ID)
      return { kind: 'accepted', serviceId };
    const where = contract.request.id === '' ? 'the body' : contract.request.id;
    return { kind: 'unknown', reason: `the service answered ${status} without a readable id at ${where}` };
  }
  const reason = explain(exchange, reading);
  if (status === 401) return { kind: 'unauthorised', reason };
  if (status === 429 || status === 425) {
    return {
      kind: 'notAccepted',
      reason,
      retryAfterMs: retryAfterMs(exchange.headers['retry-after'], reading.now),
    };
  }
  if (status === 408 || status < 200 || status >= 500) return { kind: 'unknown', reason };
  return { kind: 'refused', reason };
}

const MAX_ID = 512;

/** The outcome of a status request. */
export function statusOutcome(exchange: Exchange, contract: Contract, reading: Reading): StatusOutcome {
  if (exchange.kind === 'failure') return problemOf(exchange, reading);
  const { status, body } = exchange;
  if (status < 200 || status >= 300) return problemOf(exchange, reading);
  const word = body === null ? null : textAt(body, contract.status.word);
  if (word === null || body === null) {
    return {
      kind: 'later',
      reason: `the service answered ${status} without a readable status at ${contract.status.word || 'the body'}`,
      retryAfterMs: null,
    };
  }
  const kinds = ['pending', 'ready', 'failed', 'expired', 'empty'] as const;
  const meaning = kinds.find((kind) => contract.status[kind].includes(word)) ?? 'unlisted';
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
    return isHopeless(exchange) ? { kind: 'stopped', reason } : { kind: 'later', reason, retryAfterMs: null };
  }
  const { status, headers } = exchange;
  const reason = explain(exchange, reading);
  if (status === 401) return { kind: 'unauthorised', reason };
  // Many services answer 404 or 410 for a file that is not there yet or no longer; the next status says which.
  if ([404, 408, 410, 425, 429].includes(status) || status >= 500) {
    return { kind: 'later', reason, retryAfterMs: retryAfterMs(headers['retry-after'], reading.now) };
  }
  return { kind: 'stopped', reason };
}

/** The same request would fail again. */
function isHopeless({ cause, code }: Failure): boolean {
  return cause === 'unsendable' || code === PRIVATE_ADDRESS;
}

function explain({ status, body }: Reply, { secrets }: Reading): string {
  const isRedirect = status >= 300 && status < 400;
  const sentence = isRedirect
    ? `The service answered ${status}, a redirect, which is not followed: check the contract.`
    : `The service answered ${status}.`;
  return reasonOf(sentence, body ?? '', secrets).replace(/\.$/, '');
}

/** The text at a JSON pointer: a string, or a number exactly as it is written. Null if there is none. */
export function textAt(json: string, pointer: string): string | null {
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(json, errors, { disallowComments: true, allowTrailingComma: false });
  } catch {
    // Nested too deeply.
    return null;
  }
  if (root === undefined || errors.length > 0) return null;
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  let at: Node | undefined = root;
  for (const step of steps) {
    if (at === undefined) return null;
    if (at.type === 'array' && !/^(0|[1-9]\d*)$/.test(step)) return null;
    at = findNodeAtLocation(at, [at.type === 'array' ? Number(step) : step]);
  }
  if (at?.type === 'string') return String(at.value);
  // A number may have more digits than a double keeps.
  if (at?.type === 'number' || at?.type === 'boolean') return json.slice(at.offset, at.offset + at.length);
  return null;
}
