import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { BearerOutcome, TokenSource } from '../../../src/engine/jobs/token-source.js';
import type { Messages } from '../../../src/engine/sending/message.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { createMessagingClient } from '../../../src/service/client/messaging.js';
import type { openDefaultLane } from '../lane/lane-fixture.js';

/** Answers the nth request, from 1. */
export type Answer = (request: IncomingMessage, response: ServerResponse, attempt: number) => void;

/** Answers every request with this status and JSON body. */
export const json = (status: number, body: object, headers: Record<string, string> = {}): Answer => {
  return (_request, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));
};

/** Accepts a request, as request `r1`. */
export const ACCEPTED = json(201, {
  outboundSMSMessageRequest: { resourceURL: 'http://service.example/outbound/ACME/requests/r1' },
});

/** A token that the service refuses once: the one that replaces it is `new`. `refused` lists the generations that were given back. */
export function renewedToken(): { tokens: TokenSource; refused: number[] } {
  let token: BearerOutcome = { kind: 'token', bearer: { authorization: 'old' }, generation: 1 };
  const refused: number[] = [];
  const get = async (): Promise<BearerOutcome> => token;
  const replaceRefused = async (generation: number): Promise<BearerOutcome> => {
    refused.push(generation);
    token = { kind: 'token', bearer: { authorization: 'new' }, generation: 2 };
    return token;
  };
  return { refused, tokens: { get, getForRequest: get, newerThan: get, replaceRefused, worked: () => {} } };
}

/** Refuses the old token of {@link renewedToken}, and answers the new one. */
export const onlyForNew =
  (answer: Answer): Answer =>
  (request, response, attempt) =>
    (request.headers.authorization === 'Bearer new' ? answer : json(401, {}))(request, response, attempt);

/** What a turn uses and how it runs, where a test needs something else. */
type TurnParts = Partial<Parameters<typeof sendTurn>[1]> & { readonly signal?: AbortSignal };

/** One turn of a lane, as `openDefaultLane` opens it, that sends these messages to a service. */
export async function sendOnce(
  { lane, tokens }: Pick<ReturnType<typeof openDefaultLane>, 'lane' | 'tokens'>,
  { baseUrl }: { readonly baseUrl: string },
  messages: Messages,
  { signal = new AbortController().signal, ...change }: TurnParts = {},
) {
  const client = createMessagingClient({ baseUrl, timeoutMs: 20_000 });
  const parts = { client, tokens, messages, recent: recentClaims(lane.monotonic), claims: sendClaims(lane) };
  const sending = { ...parts, failed: () => {}, ...change };
  const end = await sendTurn(lane, sending, { turnMs: 20_000, waitHereMs: 0, signal });
  client.close();
  return end;
}

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
