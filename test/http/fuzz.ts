import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import type { OpenAPIV3_1 } from 'openapi-types';
import { type Malformed, malformedRequests } from './malformed.js';

export interface FuzzOptions {
  readonly origin: string;
  readonly keys: readonly string[];
  readonly ids: readonly string[];
  readonly seed: number;
  readonly count: number;
}

export interface Fuzzed {
  /** How many were answered with each status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Answers that must not be: a status of the server's, an error that is no problem, no answer at all. */
  readonly wrong: readonly string[];
}

const AT_ONCE = 16;
/** Far longer than any of them takes. */
const PATIENCE_MS = 20_000;

/** What the library of schemas says where nothing else is said. */
const SCHEMA_WORDS = /: (Invalid (input|option|string|type|key)|Too (small|big)|Unrecognized)/;

/** Bytes that are no HTTP. */
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

/** Sends malformed requests, drawn from the document that the server gives of itself; the same seed draws the same. */
export async function fuzz({ origin, keys, ids, seed, count }: FuzzOptions): Promise<Fuzzed> {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as OpenAPIV3_1.Document;
  const drawn = fc.sample(malformedRequests(document, keys, ids), { numRuns: count, seed });
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const statuses = new Map<number, number>();
  const wrong: string[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let at = next++; at < drawn.length; at = next++) {
      const given = drawn[at];
      if (given === undefined) return;
      const isNoise = at % 100 === 99;
      const answer = isNoise
        ? await noise(origin, NOISE[((at / 100) % NOISE.length) | 0] ?? '')
        : await send(origin, given, agent);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      const fault = faultOf(answer) ?? (isNoise ? undefined : untoldOf(document, given, answer));
      if (fault !== undefined)
        wrong.push(
          `${fault}: ${given.method} ${given.path} -> ${answer.status} ${answer.body.slice(0, 300)}`,
        );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  agent.destroy();
  return { statuses, wrong };
}

/** What an address answers that the document does not say it may. */
function untoldOf(
  { paths = {} }: OpenAPIV3_1.Document,
  { method, path }: Malformed,
  { status }: Answered,
): string | undefined {
  const [address = ''] = path.split('?');
  const pattern = Object.keys(paths).find((one) =>
    new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(address),
  );
  const operation = Object.entries(paths[pattern ?? ''] ?? {}).find(
    ([name]) => name === method.toLowerCase(),
  );
  if (operation === undefined) return undefined;
  const { responses = {} } = operation[1] as OpenAPIV3_1.OperationObject;
  return status in responses ? undefined : 'a status that the document does not tell';
}

interface Answered {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

function faultOf({ status, type, body }: Answered): string | undefined {
  if (status === 0) return 'no answer';
  if (status >= 500) return 'a fault of the server';
  if (status < 400) return undefined;
  if (!type.startsWith('application/problem+json')) return 'an error that is no problem';
  const said: Record<string, unknown> = JSON.parse(body);
  const isWhole =
    said['status'] === status &&
    ['type', 'title', 'code', 'detail'].every((name) => typeof said[name] === 'string');
  if (!isWhole) return 'a problem that lacks something';
  return SCHEMA_WORDS.test(String(said['detail'])) ? "a problem in a library's words" : undefined;
}

function send(origin: string, { method, path, headers, body }: Malformed, agent: Agent): Promise<Answered> {
  return new Promise((resolve) => {
    const none = (why: string): void => resolve({ status: 0, type: '', body: why });
    const { hostname, port } = new URL(origin);
    const sent = request({ hostname, port, method, path, headers, agent, timeout: PATIENCE_MS }, (reply) => {
      const { statusCode: status = 0 } = reply;
      const type = reply.headers['content-type'] ?? '';
      // A stream of events has no end; that it began is all there is to see.
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
      none('too late');
      sent.destroy();
    });
    sent.on('error', ({ message }) => none(message));
    sent.end(body);
  });
}

/** An answer to HEAD has no body to look at. */
function headless(status: number): string {
  return JSON.stringify({ status, type: '', title: '', code: '', detail: '' });
}

async function noise(origin: string, bytes: string): Promise<Answered> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  const over = new Promise<void>((resolve) => {
    socket.setTimeout(PATIENCE_MS, () => resolve());
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
  // Some noise is so short that nobody would answer it: then the connection is closed.
  if (text === '') return { status: 400, type: 'application/problem+json', body: headless(400) };
  return { status: Number(head.split(' ')[1]), type, body: rest.join('\r\n\r\n') };
}
