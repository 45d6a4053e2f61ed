import { type DeliveryStatus, isDeliveryStatus } from '../campaign/recipient.js';
import { numberOf } from './address.js';
import type { Exchange, Failure, Reply } from './exchange.js';
import { quoteOf, reasonOf } from './reason.js';
import { requestIdOf } from './request-id.js';
import { retryAfterMs } from './retry-after.js';
import {
  type DeliveryInfoList,
  isEmptyOrObject,
  readDeliveryInfoList,
  readOutboundRequest,
} from './schemas.js';

/** How sending one request ended; what follows from each is the pipeline's to decide. */
export type SendOutcome =
  /** Taken. Without a request id it cannot be followed up. The statuses are those of the request's own recipients. */
  | { kind: 'accepted'; requestId: string | null; statuses: ReadonlyMap<string, DeliveryStatus> }
  /** Not taken: more requests in the last hour than the API key permits (429). */
  | { kind: 'throttled'; retryAfterMs: number | null }
  /** Not taken: the key is missing or invalid (401); a newer token may be. */
  | { kind: 'unauthorised'; reason: string }
  /** Not taken, and no other request will be: wrong key or wrong address. */
  | { kind: 'stopped'; reason: string }
  /** Not taken: something in this request is wrong (400, 413, 422). */
  | { kind: 'refused'; reason: string }
  /** Certain that no byte left. */
  | { kind: 'notSent'; reason: string }
  /** It may have been taken, or not. Never send it again by yourself. */
  | { kind: 'unknown'; reason: string };

/** How asking for delivery infos ended. */
export type PollOutcome =
  /**
   * `unlisted` holds the status words the interface page does not list; they say nothing final. `unread`: there are
   * entries without a number that could be read, so the infos may speak of others besides.
   */
  | {
      kind: 'infos';
      statuses: ReadonlyMap<string, DeliveryStatus>;
      unlisted: readonly string[];
      unread?: true;
    }
  /** The service has no infos for this request: no such message (404), gone, or it does not like this one address. */
  | { kind: 'missing' }
  | { kind: 'throttled'; retryAfterMs: number | null }
  | { kind: 'unauthorised'; reason: string }
  | { kind: 'stopped'; reason: string }
  | { kind: 'notSent'; reason: string }
  | { kind: 'unanswered'; reason: string };

/** What a reply is read with: the time (ms since the epoch), and texts that no reason may repeat. */
export interface Reading {
  readonly now: number;
  readonly secrets: readonly string[];
}

/** The outcome of a send, for every status and every failure. `recipients` are the numbers it was for, E.164 with plus. */
export function sendOutcome(
  exchange: Exchange,
  recipients: readonly string[],
  reading: Reading,
): SendOutcome {
  if (exchange.kind === 'failure') {
    return failed(exchange, (what) => ({
      kind: 'unknown',
      reason: `${what} after the request may have left.`,
    }));
  }
  const { status } = exchange;
  if (status >= 200 && status < 300) return sendSuccess(exchange, recipients);
  if (status === 429) return throttled(exchange, reading);
  if (status === 401) return { kind: 'unauthorised', reason: explain(exchange, reading) };
  if (isRefusal(status)) return { kind: 'refused', reason: explain(exchange, reading) };
  if (status >= 300 && status < 500 && status !== 408)
    return { kind: 'stopped', reason: explain(exchange, reading) };
  return { kind: 'unknown', reason: explain(exchange, reading) };
}

/** The outcome of a poll, for every status and every failure. */
export function pollOutcome(exchange: Exchange, reading: Reading): PollOutcome {
  if (exchange.kind === 'failure') {
    return failed(exchange, (what) => ({
      kind: 'unanswered',
      reason: `${what} before the service had answered.`,
    }));
  }
  const { status } = exchange;
  if (status >= 200 && status < 300) return pollSuccess(exchange);
  if (status === 429) return throttled(exchange, reading);
  if (status === 401) return { kind: 'unauthorised', reason: explain(exchange, reading) };
  if (status === 404 || status === 410 || isRefusal(status)) return { kind: 'missing' };
  if (status >= 300 && status < 500 && status !== 408)
    return { kind: 'stopped', reason: explain(exchange, reading) };
  return { kind: 'unanswered', reason: explain(exchange, reading) };
}

/**
 * An OutboundRequest is taken. A 201 is as well without one, as its status alone says so, if the rest of the reply
 * does not cast doubt on it: its head names the request, or its body is empty or at least an object.
 */
function sendSuccess(reply: Reply, recipients: readonly string[]): SendOutcome {
  const body = reply.body === null ? null : readOutboundRequest(reply.body);
  const located = requestIdOf(reply.headers.location);
  const created = reply.status === 201 && (located !== null || isEmptyOrObject(reply.body));
  if (body === null && !created) {
    return {
      kind: 'unknown',
      reason: `The service answered ${reply.status}, but its reply could not be read, so it may have taken the request.`,
    };
  }
  const requestId =
    requestIdOf(body?.resourceURL) ?? requestIdOf(body?.deliveryInfoList?.resourceURL) ?? located;
  const infos = body?.deliveryInfoList?.deliveryInfo ?? [];
  return { kind: 'accepted', requestId, statuses: statusesOf(infos, new Set(recipients)).statuses };
}

function pollSuccess(reply: Reply): PollOutcome {
  const list = reply.body === null ? null : readDeliveryInfoList(reply.body);
  const entries = list?.deliveryInfo ?? [];
  if (list === null || (entries.length > 0 && entries.every((entry) => entry === null))) {
    return {
      kind: 'unanswered',
      reason: `The service answered ${reply.status}, but its delivery infos could not be read.`,
    };
  }
  const isUnread = entries.some((entry) => entry === null || numberOf(entry.address) === null);
  return { kind: 'infos', ...statusesOf(entries), ...(isUnread ? { unread: true } : {}) };
}

/** The listed statuses by number, of those numbers alone if `only` is given; a number's final status wins over others. */
function statusesOf(
  entries: DeliveryInfoList['deliveryInfo'],
  only?: ReadonlySet<string>,
): { statuses: Map<string, DeliveryStatus>; unlisted: string[] } {
  const statuses = new Map<string, DeliveryStatus>();
  const unlisted = new Set<string>();
  for (const entry of entries) {
    const number = entry && numberOf(entry.address);
    if (!entry || number === null || (only && !only.has(number))) continue;
    const status = entry.deliveryStatus;
    if (!isDeliveryStatus(status)) unlisted.add(quoteOf(status));
    else if (status !== 'DeliveredToNetwork' || !statuses.has(number)) statuses.set(number, status);
  }
  return { statuses, unlisted: [...unlisted] };
}

/** What no reply means, of a send as of a poll; `left`: what it means once the request may have left. */
function failed<Left>(
  failure: Failure,
  left: (what: string) => Left,
): Left | { kind: 'stopped' | 'notSent'; reason: string } {
  switch (failure.cause) {
    case 'unsendable':
      return { kind: 'stopped', reason: UNSENDABLE };
    case 'aborted':
    case 'timeout':
    case 'network':
      return failure.left
        ? left(whatFailed(failure))
        : { kind: 'notSent', reason: `${whatFailed(failure)} before anything was sent.` };
    default:
      return failure.cause satisfies never;
  }
}

const UNSENDABLE =
  'The request cannot be written as HTTP: check the key for line breaks and foreign characters.';

/** What broke off, in words that are the same for every way of asking. */
export function whatFailed({ cause, code }: Failure): string {
  switch (cause) {
    case 'aborted':
      return 'It was called off';
    case 'timeout':
      return 'The time for an answer ran out';
    case 'unsendable':
      return 'The request could not be written';
    case 'network':
      return `The connection failed (${quoteOf(code)})`;
    default:
      return cause satisfies never;
  }
}

function throttled(reply: Reply, { now }: Reading): { kind: 'throttled'; retryAfterMs: number | null } {
  return { kind: 'throttled', retryAfterMs: retryAfterMs(reply.headers['retry-after'], now) };
}

function isRefusal(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}

function explain(reply: Reply, { secrets }: Reading): string {
  return reasonOf(meaningOf(reply.status), reply.body ?? '', secrets);
}

/** What a status means here, and whose turn it is (interface page, area A HTTP statuses; RFC 9110 for the others). */
function meaningOf(status: number): string {
  if (status === 401) return 'The service answered 401: the API key or token is missing or invalid.';
  if (status === 403) return 'The service answered 403: it cannot be used with this API key.';
  if (status === 404) return 'The service answered 404: check the base URL.';
  if (status >= 300 && status < 400) return `The service answered ${status}, a redirect: check the base URL.`;
  if (isRefusal(status)) return `The service answered ${status}: it refuses this request.`;
  return `The service answered ${status}.`;
}
