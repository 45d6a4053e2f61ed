import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Letters, digits, and the signs of UUIDs, trace ids, and Base64. */
const REQUEST_ID = /^[\w.:/+=@-]{1,128}$/;

/** An id for a request whose client sent none. */
export const newRequestId = (): string => randomUUID();

/** The `X-Request-Id` of a request, or a new id if it has none that is valid. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
}

/** The content security policy of a page, which loads its own files and calls this server, and nothing else. */
export const pagePolicy = ({ script = '', style = "'self'", form = "'none'" }): string =>
  [
    "default-src 'none'",
    `script-src 'self'${script}`,
    `style-src ${style}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    `form-action ${form}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** The headers of every response. A route may replace them. */
export function standardHeaders(requestId: string) {
  return {
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  };
}
