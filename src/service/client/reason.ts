import { SAYS } from '../../campaign/text/service-message.js';
import type { Failure } from './exchange.js';
import { type RequestError, readRequestError } from './read-response.js';

/** The code of a failure to connect to a private address that is not allowed. Nothing left. */
export const PRIVATE_ADDRESS = 'ERR_PRIVATE_ADDRESS';

const MAX_LENGTH = 200;

/** Digits that may be a phone number or part of one, also with separators. */
const NUMBERS = /\+?\d(?:[\s().-]{0,2}\d){6,}/g;

/** Runs that may be a key or a token: long, without spaces, and with digits. */
const TOKENS = /\b(?=[\w.~+/=-]*\d)[\w.~+/=-]{20,}|\bBearer\s+\S+/gi;

/**
 * Text from the service, made fit for logs and people: one line of at most 200 characters, without markup and without anything
 * that may be a phone number, a key, or a token. `secrets` are removed too, such as the key and the message of the request.
 */
export function quoteOf(text: string, secrets: readonly string[] = []): string {
  let quote = text.slice(0, 100_000);
  for (const secret of secrets) {
    if (secret === '') continue;
    quote = quote.replaceAll(secret, '…').replaceAll(JSON.stringify(secret).slice(1, -1), '…');
  }
  quote = quote
    .slice(0, 20 * MAX_LENGTH)
    .replace(/<[^>]*>/g, ' ')
    .replace(TOKENS, '…')
    .replace(NUMBERS, '…')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return bounded(quote);
}

/** The service's message in the body of an error, as {@link quoteOf} writes it; empty if there is none. */
export function messageIn(body: string | null, secrets: readonly string[] = []): string {
  const error = readRequestError(body ?? '');
  return quoteOf(error === null ? (body ?? '') : filledIn(error), secrets);
}

/** The code of an error of the OneAPI family, and its text with the variables filled in: `POL0013: Duplicated addresses …`. */
function filledIn({ code, text, variables }: RequestError): string {
  const filled = text.replace(/%(\d+)/g, (place, at) => variables[Number(at) - 1] ?? place);
  return filled === '' ? [code, ...variables].join(' ') : `${code}: ${filled}`;
}

/** A sentence followed by the service's message, if its response has one; at most 200 characters together. */
export function reasonOf(
  sentence: string,
  body: string | null = '',
  secrets: readonly string[] = [],
): string {
  return bounded(withMessage(sentence, messageIn(body, secrets)));
}

/** A sentence, with or without its full stop, followed by a message of the service, if there is one. */
export function withMessage(sentence: string, message: string | undefined): string {
  if (message === undefined || message === '') return sentence;
  return `${sentence}${/[.!?…]$/.test(sentence) ? '' : '.'}${SAYS}${message}`;
}

function bounded(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}

/**
 * Why a request got no response, for people: `cannot resolve host api.example (ENOTFOUND)`. It names the host but no path, and
 * has no full stop, so that a sentence may go on.
 */
export function failureReason(failure: Failure): string {
  const { cause, left } = failure;
  switch (cause) {
    case 'aborted':
      return left ? 'the request was cancelled' : 'the request was cancelled before it was sent';
    case 'timeout':
      return left ? 'no response within the request timeout' : 'the request timed out before it was sent';
    case 'unsendable':
      return 'the request cannot be written as HTTP: check the key for line breaks and other invalid characters';
    case 'network':
      return `${networkProblem(failure)} (${quoteOf(failure.code)})`;
    default:
      return cause satisfies never;
  }
}

/** The codes are those of Node's `dns`, `net`, and `tls` modules and of OpenSSL's certificate checks. */
function networkProblem({ code, host = 'the service', certificateExpiredOn }: Failure): string {
  const hostname = host.replace(/:\d+$/, '');
  const [, refused] = /^ERR_PROXY_(\d+)$/.exec(code) ?? [];
  if (refused !== undefined)
    return `the proxy refuses to connect to ${host} and answers ${refused}; check HTTPS_PROXY`;
  switch (code) {
    case 'ERR_PROXY':
      return `the proxy cannot be reached or does not answer; check HTTPS_PROXY`;
    case 'ENOTFOUND':
      return `cannot resolve host ${hostname}`;
    case 'EAI_AGAIN':
      return `cannot resolve host ${hostname}: the name server does not answer`;
    case 'ECONNREFUSED':
      return `${host} refuses connections`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `the connection to ${host} was reset`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `${host} cannot be reached`;
    case 'ETIMEDOUT':
      return `${host} does not accept the connection in time`;
    case PRIVATE_ADDRESS:
      return `${hostname} is a private address that privateAddresses does not list`;
    case 'CERT_HAS_EXPIRED':
      return certificateExpiredOn === undefined
        ? `the certificate of ${hostname} has expired`
        : `the certificate of ${hostname} expired on ${certificateExpiredOn}`;
    case 'CERT_NOT_YET_VALID':
      return `the certificate of ${hostname} is not valid yet`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return `the certificate of ${hostname} is self-signed`;
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `the certificate of ${hostname} is not signed by a trusted authority`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate is not valid for ${hostname}`;
    default:
      return /^(EPROTO$|ERR_SSL)/.test(code)
        ? `the TLS handshake with ${host} failed`
        : `the connection to ${host} failed`;
  }
}
