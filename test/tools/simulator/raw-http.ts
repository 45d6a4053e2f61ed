import { connect } from 'node:net';

/** A raw reply. Header names are in lower case. */
export interface RawReply {
  statusLine: string;
  headers: Map<string, string>;
  body: string;
}

/** How a connection ended without a reply. */
export type NoReply = 'reset' | 'closed' | 'silence';

/**
 * Writes a request to a socket without an HTTP client and reads one reply. Line ends become CRLF, and `Content-Length: *` gets
 * the length of the body.
 */
export function exchange(origin: string, request: string, patienceMs = 5_000): Promise<RawReply | NoReply> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const end = (result: RawReply | NoReply) => {
      clearTimeout(patience);
      socket.destroy();
      resolve(result);
    };
    const patience = setTimeout(() => end('silence'), patienceMs);
    let received = Buffer.alloc(0);
    socket.on('connect', () => socket.write(bytesOf(request)));
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const reply = replyIn(received);
      if (reply !== undefined) end(reply);
    });
    socket.on('error', () => end('reset'));
    socket.on('close', () => end('closed'));
  });
}

/** The same, but throws if there is no reply. */
export async function reply(origin: string, request: string): Promise<RawReply> {
  const result = await exchange(origin, request);
  if (typeof result === 'string') throw new Error(`no reply: ${result}`);
  return result;
}

/** The JSON of a reply's body. */
export function jsonOf(raw: RawReply): unknown {
  return JSON.parse(raw.body);
}

function bytesOf(request: string): string {
  const [head = '', ...rest] = request.split('\n\n');
  const body = rest.join('\n\n').replace(/\n$/, '');
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return `${head.replace('Content-Length: *', length).replaceAll('\n', '\r\n')}\r\n\r\n${body}`;
}

function replyIn(received: Buffer): RawReply | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = received.subarray(0, headEnd).toString().split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const body = received.subarray(headEnd + 4);
  if (body.length < Number(headers.get('content-length') ?? 0)) return undefined;
  return { statusLine, headers, body: body.toString() };
}
