import { describe, expect, it } from 'vitest';
import { checkSender, senderWarnings } from '../../src/campaign/text/sender.js';
import { createMessagingClient } from '../../src/service/client/messaging.js';
import { startSimulator } from '../scene/closing.js';
import { exchange, jsonOf, type RawReply, reply as rawReply } from '../tools/simulator/raw-http.js';
import { PERMIT, partsOf, rawServer, reply } from './raw-server.js';
import { SENDERS } from './senders.js';

const VALID = SENDERS.filter(({ form }) => form !== 'invalid');
const INVALID = SENDERS.filter(({ form }) => form === 'invalid');

describe('The client', () => {
  it.each(VALID)('sends from $sender, as $path in the path and unchanged in the body', async (row) => {
    const server = await rawServer(reply(['HTTP/1.1 201 Created'], '{}'));
    const client = createMessagingClient({ baseUrl: `${server.origin}/v1`, timeoutMs: 10_000 });
    const message = { sender: row.sender, recipients: ['+358401234567'], text: 'Hello' };
    await client.send(message, { authorization: 'KEY-1' }, PERMIT);
    await client.deliveryInfos(row.sender, 'b2c3', { authorization: 'KEY-1' }, PERMIT);
    client.close();
    const [sent, polled] = server.requests.map(partsOf);
    expect(sent?.line).toBe(`POST /v1/outbound/${row.path}/requests HTTP/1.1`);
    expect(JSON.parse(sent?.body ?? '')).toMatchObject({
      outboundSMSMessageRequest: { senderAddress: row.sender },
    });
    expect(polled?.line).toBe(`GET /v1/outbound/${row.path}/requests/b2c3/deliveryInfos HTTP/1.1`);
    expect(checkSender(row.sender)).toEqual({ kind: row.form });
  });

  it.each(INVALID)('sends nothing from $sender and says why', async ({ sender, reasons = ['', ''] }) => {
    const server = await rawServer(reply(['HTTP/1.1 201 Created'], '{}'));
    const client = createMessagingClient({ baseUrl: `${server.origin}/v1`, timeoutMs: 10_000 });
    const outcome = await client.send(
      { sender, recipients: ['+358401234567'], text: 'Hello' },
      { authorization: 'KEY-1' },
      PERMIT,
    );
    client.close();
    expect(outcome).toEqual({ kind: 'refused', reason: expect.stringContaining(reasons[0]) });
    expect(server.connections()).toBe(0);
  });

  it.each(SENDERS)('warns about $sender exactly where a stricter service might refuse it', (row) => {
    const found = senderWarnings(row.sender);
    const expected = [...(row.warnings ?? []), ...(row.form === 'text' ? ['is a name'] : [])];
    expect(found).toEqual(expected.map((part) => expect.stringContaining(part)));
  });
});

describe('The simulator', async () => {
  const simulator = await startSimulator({ allowedHosts: ['messaging.example'], keys: [{ key: 'KEY-1' }] });

  const send = (path: string, sender: string): Promise<RawReply> =>
    rawReply(
      simulator.accountBaseUrl,
      `POST /smsmessaging/v1/outbound/${path}/requests HTTP/1.1
Host: messaging.example
Authorization: Bearer KEY-1
Content-Type: application/json
Content-Length: *

{"outboundSMSMessageRequest":{"address":["tel:+358401234567"],"senderAddress":${JSON.stringify(sender)},"outboundSMSTextMessage":{"message":"Hello"}}}
`,
    );

  it.each(VALID)('accepts $sender, and the addresses that it returns lead to its request', async (row) => {
    const sent = await send(row.path, row.sender);
    expect(sent.statusLine).toBe('HTTP/1.1 201 Created');
    const { outboundSMSMessageRequest: created } = jsonOf(sent) as {
      outboundSMSMessageRequest: { resourceURL: string; deliveryInfoList: { resourceURL: string } };
    };
    expect(created.resourceURL).toContain(`/outbound/${row.path}/requests/`);
    expect(sent.headers.get('location')).toBe(created.resourceURL);
    // The path as returned: an HTTP client would normalise it.
    for (const url of [`${created.resourceURL}/deliveryInfos`, created.deliveryInfoList.resourceURL]) {
      const path = url.slice('https://messaging.example'.length);
      const polled = await exchange(
        simulator.accountBaseUrl,
        `GET ${path} HTTP/1.1\nHost: messaging.example\nAuthorization: Bearer KEY-1\n\n`,
      );
      expect(polled).toMatchObject({ statusLine: 'HTTP/1.1 200 OK' });
    }
  });

  it.each(INVALID)('rejects $sender and says why', async ({ path, sender, reasons = ['', ''] }) => {
    const before = simulator.ledger.requests;
    const refused = await send(path, sender);
    expect(refused.statusLine).toBe('HTTP/1.1 400 Bad Request');
    expect(refused.body).toContain(reasons[1]);
    expect(simulator.ledger.requests).toBe(before);
  });

  it('accepts tel: in the path or in the body alone, in upper or lower case', async () => {
    for (const [path, sender] of [
      ['TEL:16100', 'tel:16100'],
      ['16100', 'TEL:16100'],
      ['tel%3A16100', '16100'],
    ] as const) {
      expect((await send(path, sender)).statusLine).toBe('HTTP/1.1 201 Created');
    }
    expect((await send('tel:16100', 'tel:16101')).statusLine).toBe('HTTP/1.1 400 Bad Request');
  });
});
