import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorBody, errorBody } from '../rules/error-bodies.js';

/** The maximum size of a request body in bytes; larger ones get a 413. */
export const MAX_BODY_BYTES = 1024 * 1024;

/** A complete request. */
export interface Incoming {
  readonly method: string;
  /** The path exactly as received, without the query. */
  readonly path: string;
  /** After the question mark; may be empty. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The outcome for the client: a reply, a reset connection, or no answer at all. */
export type Answer =
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly headers: readonly string[];
      readonly body: string;
    }
  /** An error, whose body gets the form that the options choose. */
  | {
      readonly kind: 'failure';
      readonly status: number;
      readonly headers: readonly string[];
      readonly message: string;
    }
  /** The connection breaks after `length` bytes of the body. */
  | { readonly kind: 'cut'; readonly body: string; readonly length: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'silence' };

/** The connection is reset. */
export const RESET: Answer = { kind: 'reset' };
/** No reply at all. */
export const SILENCE: Answer = { kind: 'silence' };

/** A JSON reply; `headers` are additional ones, as alternating names and values. */
export function json(status: number, body: unknown, headers: readonly string[] = []): Answer {
  return {
    kind: 'reply',
    status,
    headers: ['Content-Type', 'application/json', ...headers],
    body: JSON.stringify(body),
  };
}

/** An error reply. The message helps the developer. */
export function failure(status: number, message: string, headers: readonly string[] = []): Answer {
  return { kind: 'failure', status, headers, message };
}

/** A reply without a body. */
export function empty(status: number): Answer {
  return { kind: 'reply', status, headers: [], body: '' };
}

/** A reply with truncated JSON. */
export function unreadable(status: number): Answer {
  return {
    kind: 'reply',
    status,
    headers: ['Content-Type', 'application/json'],
    body: '{"outboundSMSMessageRequ',
  };
}

/** Reads the body and passes it to `done`, or undefined if it is too large. An aborted upload never calls `done`. */
export function readBody(request: IncomingMessage, done: (body: string | undefined) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  });
  request.on('end', () => {
    const [first] = chunks;
    if (bytes > MAX_BODY_BYTES) done(undefined);
    else
      done(
        first === undefined ? '' : chunks.length === 1 ? first.toString() : Buffer.concat(chunks).toString(),
      );
  });
}

/** Sends an answer. Does nothing if the client has disconnected. `form`: of the body of an error. */
export function sendAnswer(answer: Answer, response: ServerResponse, form: ErrorBody = 'message'): void {
  switch (answer.kind) {
    case 'reply':
      write(response, answer.status, answer.headers, answer.body);
      return;
    case 'failure': {
      const { status, headers, message } = answer;
      const body = errorBody(form, status, message);
      const typed = body === undefined ? headers : ['Content-Type', body.type, ...headers];
      write(response, status, typed, body?.text ?? '');
      return;
    }
    case 'cut':
      response.writeHead(200, { 'Content-Length': String(Buffer.byteLength(answer.body)) });
      response.write(answer.body.slice(0, answer.length), () => response.socket?.destroy());
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'silence':
      return;
    default:
      answer satisfies never;
  }
}

function write(response: ServerResponse, status: number, headers: readonly string[], body: string): void {
  response.writeHead(status, [...headers, 'Content-Length', String(Buffer.byteLength(body))]);
  response.end(body);
}

/** Whether the content type is application/json, with or without parameters. */
export function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}
