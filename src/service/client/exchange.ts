import type { IncomingHttpHeaders } from 'node:http';
import { type Request, RequestError } from 'got';

/** The service's response. `body` is null if the head arrived, but the body was incomplete, too long, or could not be decoded. */
export interface Reply {
  readonly kind: 'reply';
  readonly status: number;
  readonly statusText: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string | null;
}

/**
 * No response. `left` is false only where it is certain that not one byte of the request went to the service, and that none
 * will.
 */
export interface Failure {
  readonly kind: 'failure';
  readonly cause: 'aborted' | 'timeout' | 'unsendable' | 'network';
  /** The error's code, such as ECONNRESET; or its name if it has none. */
  readonly code: string;
  readonly left: boolean;
  /** The host, and its port unless it is the default one. */
  readonly host?: string;
  /** The day on which the certificate of the connection expired or will expire, such as `2026-01-02`. */
  readonly certificateExpiredOn?: string;
}

/** How one request ended. */
export type Exchange = Reply | Failure;

/** The request could not be written as HTTP at all, for instance because the key contains a line break. */
const UNSENDABLE = new Set([
  'ERR_INVALID_CHAR',
  'ERR_HTTP_INVALID_HEADER_VALUE',
  'ERR_UNESCAPED_CHARACTERS',
  'ERR_INVALID_URL',
]);

/** Ends a request whose caller aborted. It reaches `exchangeOf` unwrapped only if that was before the request started. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';
  readonly code = 'ERR_ABORTED';
}

/** Ends a request at its timeout. */
export class OverdueError extends Error {
  override readonly name = 'OverdueError';
  readonly code = 'ETIMEDOUT';
}

/** Ends a request that could only be written after its deadline; nothing of it was written. */
export class LateError extends Error {
  override readonly name = 'LateError';
  readonly code = 'ERR_LATE';
}

/** Ends a request whose response is too long. The rest is not read, and its connection is not used again. */
export class OversizeError extends Error {
  override readonly name = 'OversizeError';
  readonly code = 'ERR_OVERSIZE';
}

/**
 * What a thrown value says about the request. Total: a request that failed with an unknown error may have left. `request` is the
 * failed request, if it was created: on Node 24 a failed handshake arrives as the socket's own error, without it.
 */
export function exchangeOf(error: unknown, request?: Request): Exchange {
  if (error instanceof AbortedError) {
    return { kind: 'failure', cause: 'aborted', code: error.code, left: false };
  }
  const cause = error instanceof RequestError ? error.cause : error;
  if (cause instanceof LateError) {
    return { kind: 'failure', cause: 'timeout', code: cause.code, left: false };
  }
  if (!(error instanceof RequestError)) {
    const isSocketError = error instanceof Error && 'code' in error && request?.response === undefined;
    const left = !isSocketError || mayHaveLeft(request);
    return { kind: 'failure', cause: 'network', code: nameOf(error), left };
  }
  const response = error.response;
  if (response !== undefined) {
    const { statusCode: status, statusMessage: statusText = '', headers } = response;
    return { kind: 'reply', status, statusText, headers, body: null };
  }
  const left = error.request === undefined ? false : mayHaveLeft(error.request);
  return { kind: 'failure', cause: causeOf(error, left), code: error.code, left };
}

/**
 * A request is written as soon as its socket is connected (with TLS: when the handshake is done). Before that nothing has left,
 * and the end of the request takes its unconnected socket with it. On a reused socket the request is written at once.
 */
function mayHaveLeft(request: Request | undefined): boolean {
  if (request === undefined) return true;
  const { timings } = request;
  if (timings === undefined) return false;
  if (request.reusedSocket === true) return true;
  return request.options.url instanceof URL && request.options.url.protocol === 'https:'
    ? timings.secureConnect !== undefined
    : timings.connect !== undefined;
}

function causeOf(error: RequestError, left: boolean): Failure['cause'] {
  if (error.code === 'ERR_ABORTED') return 'aborted';
  if (error.cause instanceof OverdueError) return 'timeout';
  return !left && UNSENDABLE.has(error.code) ? 'unsendable' : 'network';
}

function nameOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : typeof error;
}
