import { expect, it, onTestFinished } from 'vitest';
import { numberReader } from '../../src/campaign/numbers/number.js';
import { createMessagingClient } from '../../src/service/client/messaging.js';
import { startSimulator } from '../scene/closing.js';
import { reply as replyOf } from '../tools/simulator/raw-http.js';
import { PERMIT, partsOf, rawServer, reply } from './raw-server.js';

/** The interface page restricts no destination: an international number with a leading plus sign. */
const DESTINATIONS = [
  ['a mobile number', '+447700900123'],
  ['a landline', '+442079460123'],
  ['a premium rate number', '+449098790123'],
  ['a number of no country', '+881612345678'],
] as const;

it.each(DESTINATIONS)('The client sends to %s', async (_, number) => {
  expect(numberReader(undefined)(number)).toMatchObject({ ok: true, number });
  const server = await rawServer(reply(['HTTP/1.1 201 Created'], '{}'));
  const client = createMessagingClient({ baseUrl: server.origin, timeoutMs: 10_000 });
  onTestFinished(() => client.close());
  const message = { sender: 'ACME', recipients: [number], text: 'Hello' };
  await client.send(message, { authorization: 'KEY-1' }, PERMIT);
  expect(partsOf(server.requests[0] ?? '').body).toBe(
    `{"outboundSMSMessageRequest":{"address":["tel:${number}"],"senderAddress":"ACME","outboundSMSTextMessage":{"message":"Hello"}}}`,
  );
});

it.each(DESTINATIONS)('The simulator accepts %s', async (_, number) => {
  const simulator = await startSimulator({ keys: [{ key: 'KEY-1' }] });
  const request = `POST /smsmessaging/v1/outbound/ACME/requests HTTP/1.1
Host: localhost
Authorization: Bearer KEY-1
Content-Type: application/json
Content-Length: *

{"outboundSMSMessageRequest":{"address":["tel:${number}"],"senderAddress":"ACME","outboundSMSTextMessage":{"message":"Hello"}}}
`;
  expect((await replyOf(simulator.accountBaseUrl, request)).statusLine).toBe('HTTP/1.1 201 Created');
});
