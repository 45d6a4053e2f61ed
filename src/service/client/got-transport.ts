import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { rootCertificates, TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';
import { got, Options, type PlainResponse, type Request } from 'got';
import { type Clocks, type Machine, startStopwatch, systemMachine } from '../../base/clock.js';
import {
  AbortedError,
  type Exchange,
  exchangeOf,
  LateError,
  OverdueError,
  OversizeError,
} from './exchange.js';
import { type AgentFactory, keepAlive } from './keep-alive.js';
import { proxyAgent } from './proxy.js';
import { SEND_ONCE } from './send-once.js';

/** One HTTP request. Header names in lower case; `body` already serialised. */
interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Follows the base URL; begins with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Nothing is written once this is true, nor after the timeout. */
  readonly isLate?: () => boolean;
}

/** Puts each request on the wire at most once and returns how it ended; `exchange` never throws. */
export interface Transport {
  exchange(request: HttpRequest): Promise<Exchange>;
  /** Closes the idle connections; those of requests in flight close within seconds after they end. */
  close(): void;
}

/** Where requests go, how long they may take, and how many run at a time. */
export interface TransportSettings {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** From the start of a request to the last byte of its response, in milliseconds. */
  readonly timeoutMs: number;
  /** The address of a proxy for an https service; default: none. */
  readonly proxy?: string | undefined;
  /** Certificates in PEM that an https service may use beside the public ones. */
  readonly ca?: string | undefined;
  /** Default: those of the system. */
  readonly clocks?: Clocks & Pick<Machine, 'renewUptime'>;
  /** Headers of every request. Default: those of the messaging and account areas. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A longer response is unreadable. Default: 1 MB. */
  readonly maxBodyBytes?: number | undefined;
  /** Creates the agents. Default: those of Node.js. */
  readonly agents?: AgentFactory | undefined;
}

/** The responses of the interface have a few hundred bytes per recipient. */
const MAX_BODY_BYTES = 1_000_000;

const HEADERS = {
  'user-agent': 'volley',
  accept: 'application/json',
  'accept-encoding': 'identity',
  'content-type': 'application/json',
};

/**
 * Sends HTTP requests with got. Everything that could put a request on the wire a second time or on another host is disabled.
 *
 * It takes about two thirds of the time of `got.post(url, { json }).json()`: got copies one prepared Options object instead of
 * merging and checking options per call; it returns a stream, without the events of a promise and without its retries; and Node
 * receives the three options it needs instead of some thirty.
 */
export function gotTransport(settings: TransportSettings): Transport {
  const { baseUrl, timeoutMs, clocks = systemMachine, maxBodyBytes = MAX_BODY_BYTES, agents } = settings;
  const { host } = new URL(baseUrl);
  const connections = keepAlive(
    (pooling) => (agents === undefined ? agentFor(settings, pooling) : agents(baseUrl, pooling)),
    clocks,
  );
  const options = new Options(undefined, SEND_ONCE);

  return {
    async exchange({ method, path, headers, body, signal, isLate = () => false }) {
      const age = startStopwatch(clocks);
      let begun: Request | undefined;
      let native: ClientRequest | undefined;
      let certificateExpiredOn: string | undefined;
      try {
        if (signal?.aborted) throw new AbortedError();
        options.method = method;
        options.url = baseUrl + path;
        options.headers = { ...(settings.headers ?? HEADERS), ...headers };
        // Other methods may have a body, and without one got would wait for data on its stream.
        options.body = method === 'GET' ? body : (body ?? '');
        // got copies the options before it returns, so the next request may overwrite them.
        const request = got(undefined, undefined, options);
        if (!('options' in request)) throw new TypeError('got did not return a stream');
        begun = request;
        const agent = connections.next();
        request.once('request', (made) => {
          native = made;
          writeInTime(
            () => {
              clocks.renewUptime?.();
              return isLate() || age() > timeoutMs;
            },
            made,
            (day) => {
              certificateExpiredOn = day;
            },
          );
        });
        Object.assign(request.options, {
          createNativeRequestOptions: () => ({ method, headers: request.options.headers, agent }),
        });
        return await responseTo(request, { timeoutMs, maxBodyBytes }, signal);
      } catch (error) {
        const exchange = exchangeOf(error, begun);
        if (exchange.kind === 'reply') return exchange;
        if (exchange.cause === 'network' && native !== undefined) connections.failed(native, exchange.code);
        return { ...exchange, host, ...(certificateExpiredOn !== undefined && { certificateExpiredOn }) };
      }
    },
    close: () => connections.close(),
  };
}

function agentFor({ baseUrl, timeoutMs, proxy, ca }: TransportSettings, pooling: AgentOptions): HttpAgent {
  if (!baseUrl.startsWith('https:')) return new HttpAgent(pooling);
  const settings = ca === undefined ? pooling : { ...pooling, ca: [...rootCertificates, ca] };
  return proxy === undefined ? new HttpsAgent(settings) : proxyAgent(proxy, settings, timeoutMs);
}

/**
 * A process or its machine may be suspended between the start of a request and its first byte, most likely while it connects. When
 * it resumes, other processes may have settled the request as unknown, so it must not leave. Therefore the time is checked again
 * when there is a socket. A new socket holds the bytes back until it is connected, and releases them only in time. `onCertificate`
 * receives the day on which the certificate of a new TLS connection expires.
 */
export function writeInTime(
  isLate: () => boolean,
  native: ClientRequest,
  onCertificate: (day: string) => void,
): void {
  // Node writes right after this event.
  native.once('socket', (socket: Socket) => {
    if (isLate()) return void native.destroy(new LateError());
    if (!isConnecting(socket)) return;
    socket.cork();
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
      if (isLate()) native.destroy(new LateError());
      else socket.uncork();
    });
    if (!(socket instanceof TLSSocket)) return;
    // Node emits `secure` after the handshake and before it rejects a certificate; afterwards the certificate is gone.
    socket.prependOnceListener('secure', () => {
      const expiry = Date.parse(socket.getPeerCertificate().valid_to);
      if (!Number.isNaN(expiry)) onCertificate(new Date(expiry).toISOString().slice(0, 10));
    });
  });
}

/** The TLS connection in the tunnel of a proxy has a connected socket from the start. */
function isConnecting(socket: Socket): boolean {
  return socket.connecting || ('secureConnecting' in socket && socket.secureConnecting === true);
}

/** Waits for a request's whole response; otherwise throws the error that ended the request. */
function responseTo(
  request: Request,
  { timeoutMs, maxBodyBytes }: { readonly timeoutMs: number; readonly maxBodyBytes: number },
  signal: AbortSignal | undefined,
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    let response: PlainResponse | undefined;
    let body = Buffer.alloc(0);
    let size = 0;
    const abort = () => request.destroy(new AbortedError());
    const giveUp = () => request.destroy(new OverdueError());
    // A busy process may have received a response that it has not read yet. It reads it before it gives up.
    const overdue = setTimeout(() => setImmediate(giveUp), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    request.on('error', reject);
    request.once('response', (head: PlainResponse) => {
      response = head;
    });
    request.on('data', (bytes: Buffer) => {
      if (size + bytes.length > maxBodyBytes) return void request.destroy(new OversizeError());
      // One buffer that grows, because a megabyte in chunks of one byte would be a million buffers.
      if (size + bytes.length > body.length) body = Buffer.concat([body], 2 * (size + bytes.length));
      size += bytes.copy(body, size);
    });
    request.once('end', () => {
      if (response === undefined) return;
      const { statusCode: status, statusMessage: statusText = '', headers } = response;
      const reply = { kind: 'reply', status, statusText, headers } as const;
      const read = body.subarray(0, size);
      const encoding = headers['content-encoding'];
      if (encoding === undefined || size === 0) resolve({ ...reply, body: read.toString() });
      else decoded(read, encoding, maxBodyBytes).then((text) => resolve({ ...reply, body: text }), reject);
      request.destroy();
    });
    request.once('close', () => {
      clearTimeout(overdue);
      signal?.removeEventListener('abort', abort);
      if (!request.readableEnded) reject(new Error('The request was closed without a response.'));
    });
  });
}

const DECODERS = new Map([
  ['gzip', promisify(unzip)],
  ['x-gzip', promisify(unzip)],
  ['deflate', promisify(unzip)],
  ['br', promisify(brotliDecompress)],
]);

/** Some services compress without being asked. Null if the body cannot be decompressed, or only to more than a body may have. */
async function decoded(body: Buffer, encoding: string, maxBytes: number): Promise<string | null> {
  const name = encoding.trim().toLowerCase();
  if (name === 'identity') return body.toString();
  const text = await DECODERS.get(name)?.(body, { maxOutputLength: maxBytes }).catch(() => null);
  return text?.toString() ?? null;
}
