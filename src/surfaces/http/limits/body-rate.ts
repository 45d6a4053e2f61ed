import type { IncomingMessage } from 'node:http';
import { durationOption } from '../../../base/duration.js';
import { rejectNonHttp } from '../server/connections.js';

/** A list of 10 MB takes at most a quarter of an hour. */
const MIN_BYTES_PER_SECOND = 10_000;
/** A pause of a client may be this long, if it was fast before or is after. */
const PERIOD_MS = 10_000;
const LOOKS_PER_PERIOD = 10;

/** How slowly a body may arrive. */
export interface BodyRate {
  readonly minBytesPerSecond?: number | undefined;
  readonly period?: string | undefined;
}

/**
 * Ends a request, with a 408 if it has no response yet, once less of its body arrives in a period than the minimum: it holds memory and a place
 * among the uploads of its key. Only the time during which the server reads counts, not that in which it cannot take more.
 */
export function requireBodyRate(
  request: IncomingMessage,
  hasResponse: () => boolean,
  { minBytesPerSecond = MIN_BYTES_PER_SECOND, period }: BodyRate = {},
): void {
  if (request.complete || !hasBody(request)) return;
  const { socket } = request;
  const periodMs = durationOption('period', period, PERIOD_MS);
  let readingMs = 0;
  let atStart = socket.bytesRead;
  const everyMs = periodMs / LOOKS_PER_PERIOD;
  const timer = setInterval(() => {
    if (request.complete || socket.destroyed) {
      clearInterval(timer);
      return;
    }
    // Node reads no more from the connection while this much waits for the route.
    if (request.readableLength < request.readableHighWaterMark) readingMs += everyMs;
    if (readingMs < periodMs) return;
    if ((socket.bytesRead - atStart) * 1_000 < minBytesPerSecond * readingMs) {
      clearInterval(timer);
      if (hasResponse()) socket.destroy();
      else rejectNonHttp(Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
      return;
    }
    [readingMs, atStart] = [0, socket.bytesRead];
  }, everyMs);
  timer.unref();
  request.once('close', () => clearInterval(timer));
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
