import { PROFILES, type ServiceProfile } from '../../base/profiles/index.js';
import type { DeliveryStatus, StatusWord } from '../../campaign/states/recipient.js';
import { createdIdOf, numberOf, requestIdOf } from './address.js';
import type { Exchange, Failure, Reply } from './exchange.js';
import {
  type DeliveryInfoList,
  isEmptyOrObject,
  readDeliveryInfoList,
  readOutboundRequest,
  readRequestError,
  retryAfterMs,
} from './read-response.js';
import { failureReason, messageIn, quoteOf, reasonOf } from './reason.js';
import { type ErrorMeaning, errorMeaning } from './request-error.js';
import { statusWord } from './status-word.js';

/**
 * How sending one request ended. The sending stage decides what follows. `reason` says why, in a sentence that quotes the service;
 * `message` is only what the service wrote, if it wrote anything.
 */
export type SendOutcome =
  /**
   * Accepted. Without a request id it cannot be followed up. `statuses` contains only the request's own recipients.
   * `words`: the service's own, where they say more (status-word.ts). `contradicted`: final statuses of a number that has another
   * final one here, too. `otherCorrelator`: the response names this `clientCorrelator` instead of the one that the request carried.
   */
  | {
      kind: 'accepted';
      requestId: string | null;
      statuses: ReadonlyMap<string, DeliveryStatus>;
      words?: ReadonlyMap<string, StatusWord>;
      contradicted?: ReadonlyMap<string, DeliveryStatus>;
      otherCorrelator?: string;
    }
  /** Rejected: more requests in the last hour than the API key permits (429). */
  | { kind: 'throttled'; retryAfterMs: number | null; message?: string }
  /** Rejected: the key is missing or invalid (401); a newer token may be valid. */
  | { kind: 'unauthorised'; reason: string; message?: string }
  /**
   * Rejected, and so would be every other request: wrong key or wrong address. `isAccount`: an error code says so, but it may still
   * concern only this request. `isConflict`: 409, with which some services answer a correlator that they know.
   */
  | { kind: 'stopped'; reason: string; isAccount?: true; isConflict?: true }
  /**
   * Rejected: something in this request is wrong (400, 413, 422, or an error code). `isText`: its text. `recipients`: those that the
   * service names.
   */
  | { kind: 'refused'; reason: string; isText?: true; recipients?: readonly string[] }
  /** Not one byte left, for certain. */
  | { kind: 'notSent'; reason: string }
  /**
   * It may or may not have been accepted. Must not be sent again automatically, except under its correlator. `isFinal`: a repeat
   * would get the same response. `isAnswered`: there was a response, such as a 500. `isKnown`: the service knows the correlator.
   */
  | { kind: 'unknown'; reason: string; isFinal?: true; isAnswered?: true; isKnown?: true };

/** How a poll for delivery infos ended. */
export type PollOutcome =
  /**
   * `words`: the service's own, where they say more, also of unlisted statuses. `unlisted`: statuses that the interface page does not list; they are not final. `unread`: some entries have no readable
   * number, so the infos may also concern other recipients.
   */
  | {
      kind: 'infos';
      statuses: ReadonlyMap<string, DeliveryStatus>;
      words?: ReadonlyMap<string, StatusWord>;
      contradicted?: ReadonlyMap<string, DeliveryStatus>;
      unlisted: readonly string[];
      unread?: true;
    }
  /** The service has no infos for this request: 404, 410, or it refuses this address (400, 413, 422). */
  | { kind: 'missing'; message?: string }
  | { kind: 'throttled'; retryAfterMs: number | null; message?: string }
  | { kind: 'unauthorised'; reason: string; message?: string }
  /** Such as 403. It may concern only this request. */
  | { kind: 'stopped'; reason: string }
  | { kind: 'notSent'; reason: string }
  /** `isAnswered`: there was a 2xx, but its infos cannot be read. */
  | { kind: 'unanswered'; reason: string; isAnswered?: true };

/** The time (ms since the epoch), texts that no reason may repeat, and the profile of the service (default: v1). */
interface Reading {
  readonly now: number;
  readonly secrets: readonly string[];
  readonly profile?: ServiceProfile;
}

/** What a response to a send is compared with: the request's numbers, E.164 with the plus, and its correlator. */
type Sent = { readonly recipients: readonly string[]; readonly clientCorrelator?: string | undefined };

/** Characters of a correlator that are reported. */
const MAX_CORRELATOR = 100;

/** The outcome of a send, for every status, every error code, and every failure. */
export function sendOutcome(exchange: Exchange, sent: Sent, reading: Reading): SendOutcome {
  if (exchange.kind === 'failure') {
    return failed(exchange, (why) => ({
      kind: 'unknown',
      reason: `${why}; the service may have accepted the request`,
    }));
  }
  const { status } = exchange;
  if (status >= 200 && status < 300) return sendSuccess(exchange, sent, reading);
  const meaning = errorMeaning(exchange.body);
  if (meaning === 'known') return known(exchange, reading);
  if (status === 429) return throttled(exchange, reading);
  if (status === 401) return unauthorised(exchange, reading);
  // A 303 means that the request was handled (RFC 9110, section 15.4.4). A body that broke off may have had a code that decides.
  if (status === 303 || (isDecided(status) && exchange.body === null)) return unread(status);
  const mayBePart =
    status === 400 && sent.recipients.length > 1 && reading.profile?.badRequest === 'notAcceptedOrImpossible';
  if (mayBePart && (meaning === undefined || meaning === 'recipient'))
    return { kind: 'unknown', reason: explainBadRequest(exchange, reading), isFinal: true };
  if (meaning !== undefined && isDecided(status)) return sendError(meaning, exchange, sent, reading);
  if (isRefusal(status)) return { kind: 'refused', reason: explain(exchange, reading) };
  if (isDecided(status)) {
    const reason = explain(exchange, reading);
    return { kind: 'stopped', reason, ...(status === 409 ? { isConflict: true } : {}) };
  }
  return { kind: 'unknown', reason: explain(exchange, reading), isAnswered: true };
}

/** What an error code says of a send. */
function sendError(
  meaning: Exclude<ErrorMeaning, 'known'>,
  reply: Reply,
  { recipients }: Sent,
  reading: Reading,
): SendOutcome {
  const reason = (why: string): string =>
    reasonOf(`The service answered ${reply.status}: ${why}.`, reply.body, reading.secrets);
  switch (meaning) {
    case 'unknown':
      return { kind: 'unknown', reason: reason('it may have accepted the request'), isAnswered: true };
    case 'recipient': {
      const named = readRequestError(reply.body ?? '')?.variables.map(numberOf) ?? [];
      const refused = recipients.filter((number) => named.includes(number));
      const isPart = refused.length > 0 && refused.length < recipients.length;
      return {
        kind: 'refused',
        reason: reason('it refuses a recipient'),
        ...(isPart ? { recipients: refused } : {}),
      };
    }
    case 'text':
      return { kind: 'refused', reason: reason('it refuses the text'), isText: true };
    case 'size':
      return { kind: 'refused', reason: reason('it refuses so many recipients in one request') };
    case 'account':
      return { kind: 'stopped', reason: reason('it refuses the account or the sender'), isAccount: true };
    case 'stopped':
      return { kind: 'stopped', reason: explain(reply, reading) };
    case 'throttled':
      return throttled(reply, reading);
    default:
      return meaning satisfies never;
  }
}

/** The service has received a request with this correlator: the first one of a repeat, or one of which Volley knows nothing. */
function known({ body }: Reply, { secrets }: Reading): SendOutcome {
  const reason = reasonOf('the service knows this correlator, so it has an earlier request', body, secrets);
  return { kind: 'unknown', reason, isFinal: true, isAnswered: true, isKnown: true };
}

/** The outcome of a poll, for every status, every error code, and every failure. */
export function pollOutcome(exchange: Exchange, reading: Reading): PollOutcome {
  if (exchange.kind === 'failure') {
    return failed(exchange, (reason) => ({ kind: 'unanswered', reason }));
  }
  const { status } = exchange;
  if (status >= 200 && status < 300) return pollSuccess(exchange, reading);
  if (status === 429) return throttled(exchange, reading);
  if (status === 401) return unauthorised(exchange, reading);
  const meaning = isDecided(status) ? errorMeaning(exchange.body) : undefined;
  if (meaning === 'throttled') return throttled(exchange, reading);
  const isOfRequest = meaning !== undefined && !OF_ALL_REQUESTS.has(meaning);
  if (status === 404 || status === 410 || isRefusal(status) || isOfRequest) {
    return { kind: 'missing', ...messageOf(exchange, reading) };
  }
  const kind = isDecided(status) && meaning !== 'unknown' ? 'stopped' : 'unanswered';
  return { kind, reason: explain(exchange, reading) };
}

/** Meanings that do not say that something is wrong with one request. */
const OF_ALL_REQUESTS: ReadonlySet<ErrorMeaning> = new Set(['account', 'stopped', 'unknown']);

/**
 * A response with an OutboundRequest means accepted. So does a 201 without one, unless the rest of the response casts doubt on
 * it: its `Location` must name the request, or its body must be empty or at least an object.
 */
function sendSuccess(reply: Reply, { recipients, clientCorrelator }: Sent, reading: Reading): SendOutcome {
  const body = reply.body === null ? null : readOutboundRequest(reply.body);
  const located = createdIdOf(reply.headers.location);
  if (body === null && located === null && readRequestError(reply.body ?? '') !== null) {
    if (errorMeaning(reply.body) === 'known') return known(reply, reading);
    const reason = `The service answered ${reply.status} with an error; it may have accepted the request.`;
    return { kind: 'unknown', reason: reasonOf(reason, reply.body, reading.secrets), isAnswered: true };
  }
  const created = reply.status === 201 && (located !== null || isEmptyOrObject(reply.body));
  if (body === null && !created) return unread(reply.status);
  const requestId =
    createdIdOf(body?.resourceURL) ?? requestIdOf(body?.deliveryInfoList?.resourceURL) ?? located;
  const infos = body?.deliveryInfoList?.deliveryInfo ?? [];
  const { unlisted: _, ...statuses } = statusesOf(infos, reading, new Set(recipients));
  const correlator = body?.clientCorrelator;
  const isOther =
    clientCorrelator !== undefined && correlator !== undefined && correlator !== clientCorrelator;
  return {
    kind: 'accepted',
    requestId,
    ...statuses,
    ...(isOther ? { otherCorrelator: correlator.slice(0, MAX_CORRELATOR) } : {}),
  };
}

/** A response that does not say whether the request was accepted. */
function unread(status: number): SendOutcome {
  const reason = `The service answered ${status}, but not whether it has accepted the request.`;
  return { kind: 'unknown', reason, isAnswered: true };
}

function pollSuccess(reply: Reply, reading: Reading): PollOutcome {
  const list = reply.body === null ? null : readDeliveryInfoList(reply.body);
  const entries = list?.deliveryInfo ?? [];
  if (list === null || (entries.length > 0 && entries.every((entry) => entry === null))) {
    return {
      kind: 'unanswered',
      reason: `The service answered ${reply.status}, but its delivery infos could not be read.`,
      isAnswered: true,
    };
  }
  const isUnread = entries.some((entry) => entry === null || numberOf(entry.address) === null);
  return { kind: 'infos', ...statusesOf(entries, reading), ...(isUnread ? { unread: true } : {}) };
}

/**
 * How much each status says. Of two statuses of a number, the one that says more counts. Of two final ones, whatever their order, the
 * delivery counts: services are known to deliver a message that they have given up.
 */
const CERTAINTY: Readonly<Record<DeliveryStatus, number>> = {
  DeliveredToNetwork: 0,
  DeliveryUncertain: 1,
  DeliveryImpossible: 2,
  DeliveredToTerminal: 3,
};

const isFinal = (status: DeliveryStatus): boolean => CERTAINTY[status] > CERTAINTY.DeliveryUncertain;

/** The listed statuses by number, restricted to `only` if present. */
function statusesOf(
  entries: NonNullable<DeliveryInfoList['deliveryInfo']>,
  { profile = PROFILES.v1 }: Reading,
  only?: ReadonlySet<string>,
): {
  statuses: Map<string, DeliveryStatus>;
  words?: Map<string, StatusWord>;
  contradicted?: Map<string, DeliveryStatus>;
  unlisted: string[];
} {
  const contradicted = new Map<string, DeliveryStatus>();
  const statuses = new Map<string, DeliveryStatus>();
  const words = new Map<string, StatusWord>();
  const unlisted = new Set<string>();
  for (const entry of entries) {
    const number = entry && numberOf(entry.address);
    if (!entry || number === null || (only && !only.has(number))) continue;
    const status = statusOf(profile, entry.deliveryStatus);
    const known = statuses.get(number);
    const word = statusWord(entry.deliveryStatus, entry.deliveryStatusCode);
    if (status === undefined) {
      unlisted.add(quoteOf(entry.deliveryStatus));
      if (known === undefined && word !== undefined) words.set(number, word);
      continue;
    }
    if (known !== undefined && known !== status && isFinal(known) && isFinal(status))
      contradicted.set(number, 'DeliveryImpossible');
    if (known === undefined || (CERTAINTY[status] > 0 && CERTAINTY[status] >= CERTAINTY[known])) {
      statuses.set(number, status);
      if (word === undefined) words.delete(number);
      else words.set(number, word);
    }
  }
  return {
    statuses,
    unlisted: [...unlisted],
    ...(words.size === 0 ? {} : { words }),
    ...(contradicted.size === 0 ? {} : { contradicted }),
  };
}

/** What a word of the service for a delivery status means; undefined if its profile does not list it. */
export function statusOf(profile: ServiceProfile, word: string): DeliveryStatus | undefined {
  return Object.hasOwn(profile.statuses, word) ? profile.statuses[word] : undefined;
}

/** The outcome of a request without a response. `whenLeft` returns it for a request that may have left. */
function failed<Left>(
  failure: Failure,
  whenLeft: (reason: string) => Left,
): Left | { kind: 'stopped' | 'notSent'; reason: string } {
  const reason = failureReason(failure);
  if (failure.cause === 'unsendable') return { kind: 'stopped', reason };
  return failure.left ? whenLeft(reason) : { kind: 'notSent', reason };
}

function throttled(reply: Reply, reading: Reading) {
  const wait = retryAfterMs(reply.headers['retry-after'], reading.now);
  return { kind: 'throttled', retryAfterMs: wait, ...messageOf(reply, reading) } as const;
}

function unauthorised(reply: Reply, reading: Reading) {
  return { kind: 'unauthorised', reason: explain(reply, reading), ...messageOf(reply, reading) } as const;
}

function messageOf(reply: Reply, { secrets }: Reading): { message?: string } {
  const message = messageIn(reply.body, secrets);
  return message === '' ? {} : { message };
}

/** Whether a status says that the request was not accepted. */
function isDecided(status: number): boolean {
  return status >= 300 && status < 500 && status !== 408;
}

function isRefusal(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
}

function explain(reply: Reply, { secrets }: Reading): string {
  return reasonOf(meaningOf(reply.status), reply.body, secrets);
}

function explainBadRequest({ body }: Reply, { secrets }: Reading): string {
  return reasonOf(
    'The service answered 400: it refuses this request, or one of its messages cannot be delivered.',
    body,
    secrets,
  );
}

/** What a status means and what to check (interface page, area A HTTP statuses; RFC 9110 for the others). */
function meaningOf(status: number): string {
  if (status === 401) return 'The service answered 401: the API key or token is missing or invalid.';
  if (status === 403) return 'The service answered 403: it cannot be used with this API key.';
  if (status === 404) return 'The service answered 404: check the base URL.';
  if (status >= 300 && status < 400) return `The service answered ${status}, a redirect: check the base URL.`;
  if (isRefusal(status)) return `The service answered ${status}: it refuses this request.`;
  return `The service answered ${status}.`;
}
