import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Answers the nth request, from 1. */
export type Answer = (request: IncomingMessage, response: ServerResponse, attempt: number) => void;

/** Answers every request with this status and JSON body. */
export const json = (status: number, body: object, headers: Record<string, string> = {}): Answer => {
  return (_request, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));
};

/** A messaging service that answers each request in this way. It keeps the authorisations and bodies that it received. */
export async function startService(answer: Answer) {
  const received: { authorisation: string; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    received.push({ authorisation: request.headers.authorization ?? '', body });
    answer(request, response, received.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  onTestFinished(close);
  return { baseUrl: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, received, close };
}
