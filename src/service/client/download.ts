import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { got, Options, type PlainResponse, type Request, RequestError } from 'got';
import { AbortedError, type Exchange, exchangeOf, OverdueError, OversizeError } from './exchange.js';
import { writeInTime } from './got-transport.js';
import type { AgentFactory } from './keep-alive.js';
import { SEND_ONCE } from './send-once.js';

/** One download. Header names in lower case. */
interface DownloadRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Absolute. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Nothing is written once this is true. */
  readonly isLate?: () => boolean;
}

/** The limits of a download, in ms and bytes. */
interface DownloadLimits {
  readonly timeoutMs: number;
  /** The longest time without a byte. */
  readonly silenceMs: number;
  readonly maxBytes: number;
  readonly agents: AgentFactory;
}

/** The file, while it arrives. `body` fails if the file is incomplete, too long, or too slow. */
interface OpenedDownload {
  readonly kind: 'file';
  readonly headers: IncomingHttpHeaders;
  /** Null if the service does not state it, or compresses the file. */
  readonly length: number | null;
  readonly body: AsyncIterable<Buffer>;
  /** Ends the download, if the body will not be read. */
  discard(): void;
}

/** The start of a response that is no file; more of it is not read. */
const MAX_ERROR_BYTES = 10_000;

/**
 * Opens a download with got: the response is streamed no faster than it is read, no redirect is followed, and nothing is sent
 * twice. Never throws. Only status 200 is a file.
 */
export async function openDownload(
  { method, url, headers, body, signal, isLate = () => false }: DownloadRequest,
  limits: DownloadLimits,
): Promise<OpenedDownload | Exchange> {
  const { host } = new URL(url);
  const agent = limits.agents(url, { keepAlive: false });
  const options = new Options(undefined, SEND_ONCE);
  options.method = method;
  options.url = url;
  options.headers = { 'user-agent': 'volley', 'accept-encoding': 'identity', ...headers };
  options.body = method === 'GET' ? undefined : (body ?? '');

  let request: Request | undefined;
  const timers: NodeJS.Timeout[] = [];
  const abort = (): void => void request?.destroy(new AbortedError());
  const finish = (): void => {
    for (const timer of timers) clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  };
  try {
    if (signal?.aborted) throw new AbortedError();
    const made = got(undefined, undefined, options);
    if (!('options' in made)) throw new TypeError('got did not return a stream');
    request = made;
    made.once('request', (native) => writeInTime(isLate, native, () => {}));
    Object.assign(made.options, {
      createNativeRequestOptions: () => ({ method, headers: made.options.headers, agent }),
    });
    signal?.addEventListener('abort', abort, { once: true });
    const overdue = (): void => void made.destroy(new OverdueError());
    timers.push(setTimeout(overdue, limits.timeoutMs));
    const silence = silenceTimer(limits.silenceMs, overdue);
    made.once('close', finish).once('close', silence.stop);
    silence.start();
    const response = await headOf(made);
    const { statusCode: status, statusMessage: statusText = '', headers: received } = response;
    if (status !== 200) {
      const text = await startOf(made);
      silence.stop();
      return { kind: 'reply', status, statusText, headers: received, body: text };
    }
    const encoding = received['content-encoding']?.trim().toLowerCase();
    const decoder = encoding === undefined || encoding === 'identity' ? undefined : decoderFor(encoding);
    if (decoder === null) {
      made.destroy();
      return { kind: 'reply', status, statusText, headers: received, body: null };
    }
    silence.stop();
    const length = decoder === undefined ? lengthOf(received) : null;
    return {
      kind: 'file',
      headers: received,
      length,
      body: bounded(made, decoder, limits.maxBytes, silence),
      discard: () => void made.destroy(),
    };
  } catch (error) {
    finish();
    const exchange = exchangeOf(error, request);
    return exchange.kind === 'reply' ? exchange : { ...exchange, host };
  }
}

function headOf(request: Request): Promise<PlainResponse> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
    request.once('close', () => reject(new Error('The request was closed without a response.')));
  });
}

/** The start of a body that is not a file, for a message to people. */
async function startOf(request: Request): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
      if (size >= MAX_ERROR_BYTES) break;
    }
  } catch {
    // The status says enough.
  }
  request.destroy();
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString();
}

/** The content of the response. Leaving the loop early ends the request. `silence` runs only while the reader waits for bytes. */
async function* bounded(
  request: Request,
  decoder: Transform | undefined,
  maxBytes: number,
  silence: SilenceTimer,
): AsyncGenerator<Buffer> {
  const source: Readable = decoder === undefined ? request : pipeline(request, decoder, () => {});
  let size = 0;
  try {
    silence.start();
    for await (const chunk of source) {
      silence.stop();
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > maxBytes) throw new OversizeError();
      yield bytes;
      silence.start();
    }
  } catch (error) {
    throw brokenBy(error);
  } finally {
    silence.stop();
    request.destroy();
  }
}

/** Ends a download while its service is silent. A reader that pauses stops it. */
function silenceTimer(silenceMs: number, overdue: () => void) {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  return {
    stop,
    start(): void {
      stop();
      timer = setTimeout(overdue, silenceMs);
    },
  };
}

type SilenceTimer = ReturnType<typeof silenceTimer>;

/** The file did not arrive complete. */
export class BrokenDownloadError extends Error {
  override readonly name = 'BrokenDownloadError';
  /** Whether another download may succeed. */
  readonly mayRepeat: boolean;

  constructor(message: string, mayRepeat: boolean) {
    super(message);
    this.mayRepeat = mayRepeat;
  }
}

function brokenBy(error: unknown): BrokenDownloadError {
  const cause = error instanceof RequestError ? error.cause : error;
  if (cause instanceof OversizeError) {
    return new BrokenDownloadError('the file is longer than the contract allows', false);
  }
  if (cause instanceof AbortedError) return new BrokenDownloadError('the download was cancelled', false);
  if (cause instanceof OverdueError) return new BrokenDownloadError('the file did not arrive in time', true);
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return new BrokenDownloadError(`the download broke off before the end of the file${code}`, true);
}

/** A service may compress without being asked. Null for an encoding that is not known. */
function decoderFor(encoding: string): Transform | null {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
    case 'deflate':
      return createUnzip();
    case 'br':
      return createBrotliDecompress();
    default:
      return null;
  }
}

function lengthOf(headers: IncomingHttpHeaders): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN);
  return Number.isSafeInteger(length) ? length : null;
}
