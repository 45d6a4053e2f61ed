import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import type { OpenAPIV3_1 } from 'openapi-types';
import { messagesOf, notSentences } from '../../../sentence-rule.js';
import { type Malformed, malformedRequests } from './malformed.js';

export interface FuzzOptions {
  readonly origin: string;
  readonly keys: readonly string[];
  readonly ids: readonly string[];
  readonly seed: number;
  readonly count: number;
}

export interface FuzzResult {
  /** The number of responses with each status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Responses that must not occur: a server error, an error without a problem document, or no response. */
  readonly wrong: readonly string[];
}

const CONCURRENCY = 16;
/** Far longer than any request takes. */
const TIMEOUT_MS = 20_000;

/** Bytes that are not HTTP. */
const NOISE = [
  '\r\n\r\n',
  'GET\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'POST /v1/campaigns HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
  'POST /v1/campaigns HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /v1/campaigns HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(3_000)}\r\n`,
  'GET /v1/lanes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer hunter2\x01\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
];

/** Sends malformed requests that are derived from the server's OpenAPI document; the same seed sends the same requests. */
export async function fuzz({ origin, keys, ids, seed, count }: FuzzOptions): Promise<FuzzResult> {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
  const drawn = fc.sample(malformedRequests(document, keys, ids), { numRuns: count, seed });
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const statuses = new Map<number, number>();
  const wrong: string[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let at = next++; at < drawn.length; at = next++) {
      const drawnRequest = drawn[at];
      if (drawnRequest === undefined) return;
      const isNoise = at % 100 === 99;
      const response = isNoise
        ? await noise(origin, NOISE[((at / 100) % NOISE.length) | 0] ?? '')
        : await send(origin, drawnRequest, agent);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      const error =
        errorOf(response) ?? (isNoise ? undefined : undocumentedStatus(document, drawnRequest, response));
      if (error !== undefined)
        wrong.push(
          `${error}: ${drawnRequest.method} ${drawnRequest.path} -> ${response.status} ${response.body.slice(0, 300)}`,
        );
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, one));
  agent.destroy();
  return { statuses, wrong };
}

/** A status that the document does not list for the operation. */
function undocumentedStatus(
  { paths = {} }: OpenAPIV3_1.Document,
  { method, path }: Malformed,
  { status }: FuzzResponse,
): string | undefined {
  const [address = ''] = path.split('?');
  // An address without a parameter is its own operation, not a value of one.
  const pattern = Object.keys(paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .find((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(address));
  const operation = Object.entries(paths[pattern ?? ''] ?? {}).find(
    ([name]) => name === method.toLowerCase(),
  );
  if (operation === undefined) return undefined;
  const { responses = {} } = operation[1] as OpenAPIV3_1.OperationObject;
  return status in responses ? undefined : 'a status that the document does not list';
}

interface FuzzResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

function errorOf({ status, type, body }: FuzzResponse): string | undefined {
  if (status === 0) return 'no response';
  if (status >= 500) return 'a server error';
  if (status < 400) return undefined;
  if (!type.startsWith('application/problem+json')) return 'an error without a problem document';
  const json: Record<string, unknown> = JSON.parse(body);
  const isComplete =
    json['status'] === status &&
    ['type', 'title', 'code', 'detail'].every((name) => typeof json[name] === 'string');
  if (!isComplete) return 'a problem document that lacks a member';
  const wrong = json['detail'] === '' ? [] : notSentences(messagesOf(json));
  return wrong.length === 0 ? undefined : `messages that are not sentences: ${wrong.join(' | ')}`;
}

function send(
  origin: string,
  { method, path, headers, body }: Malformed,
  agent: Agent,
): Promise<FuzzResponse> {
  return new Promise((resolve) => {
    const none = (reason: string): void => resolve({ status: 0, type: '', body: reason });
    const { hostname, port } = new URL(origin);
    const sent = request({ hostname, port, method, path, headers, agent, timeout: TIMEOUT_MS }, (reply) => {
      const { statusCode: status = 0 } = reply;
      const type = reply.headers['content-type'] ?? '';
      // An event stream has no end, so its beginning suffices.
      if (type.startsWith('text/event-stream')) {
        resolve({ status, type, body: '' });
        sent.destroy();
        return;
      }
      let text = '';
      reply.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      reply.on('end', () =>
        resolve({
          status,
          type,
          body: method === 'HEAD' && text === '' && status >= 400 ? headless(status) : text,
        }),
      );
      reply.on('error', ({ message }) => none(message));
    });
    sent.on('timeout', () => {
      none('timeout');
      sent.destroy();
    });
    sent.on('error', ({ message }) => none(message));
    sent.end(body);
  });
}

/** The response to HEAD has no body: a document that passes the check. */
function headless(status: number): string {
  return JSON.stringify({ status, type: '', title: '', code: '', detail: '' });
}

async function noise(origin: string, bytes: string): Promise<FuzzResponse> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  const over = new Promise<void>((resolve) => {
    socket.setTimeout(TIMEOUT_MS, () => resolve());
    socket.on('data', (piece) => {
      text += piece;
      resolve();
    });
    socket.on('error', () => resolve()).on('close', () => resolve());
  });
  socket.end(Buffer.from(bytes, 'latin1'));
  await over;
  socket.destroy();
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const type = /content-type: (\S+)/i.exec(head)?.[1] ?? '';
  // The server closes the connection without a response if the bytes are too short to be a request.
  if (text === '') return { status: 400, type: 'application/problem+json', body: headless(400) };
  return { status: Number(head.split(' ')[1]), type, body: rest.join('\r\n\r\n') };
}
