import { onTestFinished } from 'vitest';
import type { Clocks, Machine } from '../../../src/base/clock.js';
import { createMessagingClient, type MessagingClient } from '../../../src/service/client/messaging.js';
import { PERMIT, reply } from '../raw-server.js';

export const MESSAGE = { sender: 'ACME', recipients: ['+358401234567'], text: 'Hello' };
/** The response to a send that is accepted as the request `r1`. */
export const CREATED = reply(['HTTP/1.1 201 Created', 'Location: http://h/outbound/ACME/requests/r1']);

interface Settings {
  readonly timeoutMs?: number;
  readonly clocks?: Clocks & Pick<Machine, 'renewUptime'>;
}

/** A client, until the test ends. */
export function clientOf(baseUrl: string, settings: Settings = {}): MessagingClient {
  const client = createMessagingClient({ baseUrl, timeoutMs: 10_000, ...settings });
  onTestFinished(() => client.close());
  return client;
}

export const send = (client: MessagingClient, signal?: AbortSignal) =>
  client.send(MESSAGE, { authorization: 'KEY-1' }, PERMIT, signal);
export const poll = (client: MessagingClient, signal?: AbortSignal) =>
  client.deliveryInfos('ACME', 'r1', { authorization: 'KEY-1' }, PERMIT, signal);
