import { expect, onTestFinished, test } from 'vitest';
import { createMessagingClient, type MessagingClient } from '../../../src/service/client/messaging.js';
import { PERMIT, rawServer, reply } from '../raw-server.js';

const MESSAGE = { sender: 'ACME', recipients: ['+358401234567'], text: 'Hello' };
const CREATED = reply(['HTTP/1.1 201 Created', 'Location: http://h/outbound/ACME/requests/r1']);
/** Servers close a connection that is idle for this long. */
const SERVER_MS = 5_000;

test('A client closes an idle connection before a server would, and all idle ones on close', async () => {
  const closed: string[] = [];
  const began = performance.now();
  const served = async (name: string): Promise<MessagingClient> => {
    const server = await rawServer(CREATED, (socket) => socket.once('close', () => closed.push(name)));
    const client = createMessagingClient({ baseUrl: server.origin, timeoutMs: 5000 });
    onTestFinished(() => client.close());
    await client.send(MESSAGE, { authorization: 'KEY-1' }, PERMIT);
    return client;
  };
  await served('idle');
  const closing = await served('closing');
  closing.close();
  // Otherwise, the one that has been idle for longer would close first.
  await expect.poll(() => closed).toEqual(['closing']);
  await expect.poll(() => closed, { timeout: SERVER_MS }).toEqual(['closing', 'idle']);
  expect(performance.now() - began).toBeGreaterThan(2500);
});
