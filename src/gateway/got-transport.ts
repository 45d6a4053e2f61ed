import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { got, Options, type PlainResponse, type Request } from 'got';
import { AbortedError, type Exchange, exchangeOf, LateError, OverdueError } from './exchange.js';

/** One HTTP request, ready to be written. Header names in lower case; `body` already serialised. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Nothing is written after this moment of `performance.now()`, nor after the timeout. */
  readonly notAfter?: number;
}

/** Puts each request on the wire at most once and says how it ended; `exchange` never throws. */
export interface Transport {
  exchange(request: HttpRequest): Promise<Exchange>;
  /** Closes the idle connections; those of requests under way follow within seconds of their end. */
  close(): void;
}

/** How long a request may take, and how many at a time. */
export interface TransportSettings {
  /** From the start of a request to the last byte of its reply, in milliseconds. */
  readonly timeoutMs: number;
  /** Connections at a time; more requests than that wait for one. */
  readonly maxSockets: number;
}

/**
 * An idle connection is closed after 3 s, before a server would (Node's own closes after 5 s, most later): a request
 * that is written while the other side closes ends without an answer, and nobody knows whether it was read.
 */
const IDLE_MS = 3000;

const HEADERS = {
  'user-agent': 'volley',
  accept: 'application/json',
  'accept-encoding': 'identity',
  'content-type': 'application/json',
};

/**
 * HTTP by got, with everything switched off that could put a request on the wire a second time or on another host.
 *
 * It costs some two thirds of a plain `got.post(url, { json }).json()`: got copies one prepared Options instead of
 * merging and checking those of each call; it answers with a stream, without a promise's events around it, which also
 * leaves its retries no one to ask; and Node is handed the three options it needs instead of a list of some thirty.
 */
export function gotTransport({ timeoutMs, maxSockets }: TransportSettings): Transport {
  const sockets = { keepAlive: true, maxSockets, maxFreeSockets: 4_096, timeout: IDLE_MS };
  const agents = { http: new HttpAgent(sockets), https: new HttpsAgent(sockets) };
  const options = new Options(undefined, {
    retry: { limit: 0, enforceRetryRules: true },
    followRedirect: false,
    throwHttpErrors: false,
    isStream: true,
  });

  return {
    async exchange({ method, url, headers, body, signal, notAfter = Number.POSITIVE_INFINITY }) {
      const until = Math.min(notAfter, performance.now() + timeoutMs);
      let begun: Request | undefined;
      try {
        if (signal?.aborted) throw new AbortedError();
        options.method = method;
        options.url = url;
        options.headers = { ...HEADERS, ...headers };
        // Of a DELETE, which may have a body, got would wait for one to be written into its stream.
        options.body = method === 'DELETE' ? (body ?? '') : body;
        // got copies the options before it returns, so the next request may overwrite them.
        const request = got(undefined, undefined, options);
        if (!('options' in request)) throw new TypeError('got was asked for a stream');
        begun = request;
        request.once('request', (native) => writeUntil(until, native));
        const agent = url.startsWith('https:') ? agents.https : agents.http;
        Object.assign(request.options, {
          createNativeRequestOptions: () => ({ method, headers: request.options.headers, agent }),
        });
        return await answerTo(request, timeoutMs, signal);
      } catch (error) {
        return exchangeOf(error, begun);
      }
    },
    close() {
      for (const { freeSockets } of [agents.http, agents.https]) {
        for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
      }
    },
  };
}

/**
 * A process may be stopped between the start of a request and its first byte, most likely while a connection is being
 * made. When it goes on, the request has long been given up by others, and must not leave: the time is looked at again
 * when there is a socket, and what is to be written on a new one is kept back until it stands, and then let go only if
 * that was in time. `until` as `performance.now()` has it.
 */
function writeUntil(until: number, native: ClientRequest): void {
  const isLate = () => performance.now() > until;
  // Node writes right after this event.
  native.once('socket', (socket: Socket) => {
    if (isLate()) return void native.destroy(new LateError());
    if (!socket.connecting) return;
    socket.cork();
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
      if (isLate()) native.destroy(new LateError());
      else socket.uncork();
    });
  });
}

/** Waits for a request's whole reply; throws what ended it otherwise. */
function answerTo(request: Request, timeoutMs: number, signal: AbortSignal | undefined): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    let response: PlainResponse | undefined;
    let body = '';
    const abort = () => request.destroy(new AbortedError());
    const giveUp = () => request.destroy(new OverdueError());
    // A process that was busy for too long may have the reply waiting: it is read before the request is given up.
    const overdue = setTimeout(() => setImmediate(giveUp), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    request.setEncoding('utf8');
    request.on('error', reject);
    request.once('response', (head: PlainResponse) => {
      response = head;
    });
    request.on('data', (text: string) => {
      body += text;
    });
    request.once('end', () => {
      if (response === undefined) return;
      const { statusCode: status, statusMessage: statusText = '', headers } = response;
      resolve({ kind: 'reply', status, statusText, headers, body });
      request.destroy();
    });
    request.once('close', () => {
      clearTimeout(overdue);
      signal?.removeEventListener('abort', abort);
      if (!request.readableEnded) reject(new Error('The request was closed without an answer.'));
    });
  });
}
