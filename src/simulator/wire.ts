import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** The most bytes of a request body that are read; a longer one is answered 413. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** A request, whole. */
export interface Incoming {
  readonly method: string;
  /** The path as it was spelled on the wire, without the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What happens on the wire in the end: a reply, a reset connection, or nothing for as long as the client waits. */
export type Answer =
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly headers: readonly string[];
      readonly body: string;
    }
  | { readonly kind: 'reset' }
  | { readonly kind: 'silence' };

/** The connection is reset. */
export const RESET: Answer = { kind: 'reset' };
/** No reply at all. */
export const SILENCE: Answer = { kind: 'silence' };

/** A JSON reply; `headers` are further ones, names and values in turn. */
export function json(status: number, body: unknown, headers: readonly string[] = []): Answer {
  return {
    kind: 'reply',
    status,
    headers: ['Content-Type', 'application/json', ...headers],
    body: JSON.stringify(body),
  };
}

/** A JSON reply that says what is wrong with the request. The page shows no error body; this one is for the reader. */
export function failure(status: number, message: string, headers: readonly string[] = []): Answer {
  return json(status, { message }, headers);
}

/** 201 with JSON that breaks off. */
export function unreadable(status: number): Answer {
  return {
    kind: 'reply',
    status,
    headers: ['Content-Type', 'application/json'],
    body: '{"outboundSMSMessageRequ',
  };
}

/** Reads the body and calls back once with it, or with undefined if it is too long. An aborted upload never calls back. */
export function readBody(request: IncomingMessage, done: (body: string | undefined) => void): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes <= MAX_BODY_BYTES) parts.push(part);
  });
  request.on('end', () => {
    const [first] = parts;
    if (bytes > MAX_BODY_BYTES) done(undefined);
    else
      done(
        first === undefined ? '' : parts.length === 1 ? first.toString() : Buffer.concat(parts).toString(),
      );
  });
}

/** Carries an answer out; a client that has gone away gets nothing. */
export function carryOut(answer: Answer, response: ServerResponse): void {
  switch (answer.kind) {
    case 'reply': {
      const length = String(Buffer.byteLength(answer.body));
      response.writeHead(answer.status, [...answer.headers, 'Content-Length', length]);
      response.end(answer.body);
      return;
    }
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'silence':
      return;
    default:
      answer satisfies never;
  }
}

/** The application/json media type, with or without parameters. */
export function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}
