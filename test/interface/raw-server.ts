import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
// The first request of a process loads this module, which takes up to two seconds on a busy machine and counts towards its timeout.
import '../../src/service/client/got-transport.js';
import { freePort } from '../../src/base/redis/private-server.js';

/** The answer to a complete request: text is written as it is, a function does what it likes. */
export type Answer = string | ((socket: Socket, request: string) => void);

/** A server that only knows where a request ends, so that both sides of the wire are literal text. */
export interface RawServer {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly port: number;
  /** Every complete request, byte for byte. */
  readonly requests: readonly string[];
  /** All bytes received, of complete requests or not. */
  readonly received: () => string;
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

/**
 * Starts a raw server that answers its requests with one answer after another, and all further ones with the last. `greet`
 * receives each connection before anything is read. Closed when the test ends; a test that runs beside others gives `afterTest`.
 */
export async function rawServer(
  answers: Answer | readonly Answer[],
  greet: (socket: Socket) => void = () => {},
  afterTest: typeof onTestFinished = onTestFinished,
): Promise<RawServer> {
  const script: readonly Answer[] = Array.isArray(answers) ? answers : [answers as Answer];
  const requests: string[] = [];
  const open = new Set<Socket>();
  let received = '';
  let connections = 0;

  const server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
    let pending = '';
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      received += text;
      pending += text;
      for (let end = endOfRequest(pending); end !== null; end = endOfRequest(pending)) {
        const request = Buffer.from(pending.slice(0, end), 'latin1').toString('utf8');
        pending = pending.slice(end);
        const answer = script[Math.min(requests.length, script.length - 1)] ?? '';
        requests.push(request);
        if (typeof answer === 'string') socket.write(answer);
        else answer(socket, request);
      }
    });
    greet(socket);
  });
  const port = await listening(server);

  const close = async () => {
    for (const socket of open) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  afterTest(close);
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    received: () => received,
    connections: () => connections,
    close,
  };
}

/** A loopback port on which nothing listens. */
export const closedPort = (): Promise<number> => freePort();

/** A literal response: the lines of its head, an empty line, and its body; adds `Content-Length`. */
export function reply(head: readonly string[], body = ''): string {
  return [...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
}

/** A request's line, headers, and body. */
export function partsOf(request: string): { line: string; headers: string[]; body: string } {
  const [head = '', body = ''] = request.split('\r\n\r\n');
  const [line = '', ...headers] = head.split('\r\n');
  return { line, headers, body };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Where the first request in `text` ends, in bytes (latin1 characters); null if it is not complete yet. */
function endOfRequest(text: string): number | null {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return null;
  const length = Number(/^content-length: *(\d+)$/im.exec(text.slice(0, head))?.[1] ?? 0);
  const end = head + 4 + length;
  return text.length >= end ? end : null;
}

/** A permit without a deadline. */
export const PERMIT = { isExpired: () => false };
