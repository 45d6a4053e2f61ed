import { describe, expect, it } from 'vitest';
import { startSimulator } from '../../scene/closing.js';
import { jsonOf, type RawReply, reply } from '../../tools/simulator/raw-http.js';

let now = Date.UTC(2026, 2, 2, 9, 30);
const simulator = await startSimulator(
  {
    allowedHosts: ['messaging.example'],
    keys: [
      { key: 'key-of-acme', quota: null },
      { key: 'key-of-another', quota: null },
      { key: 'key-without-service', quota: null, forbidden: true },
      { key: 'key-of-two-an-hour', quota: 2, model: 'sliding' },
    ],
    deliveryTime: 60_000,
    resourceHost: 'https://messaging.example',
  },
  { clock: () => now },
);
const origin = simulator.accountBaseUrl;

const SEND_TO_TWO = `POST /smsmessaging/v1/outbound/tel%3A%2B4790000001/requests HTTP/1.1
Host: messaging.example
Authorization: Bearer key-of-acme
Content-Type: application/json
Content-Length: *

{"outboundSMSMessageRequest":{"address":["tel:+4791000001","tel:+4791000002"],"senderAddress":"tel:+4790000001","outboundSMSTextMessage":{"message":"Grüße, O'Brien & Søn 🎉"},"clientCorrelator":"spring-1","senderName":"ACME"}}
`;

async function requestIdOf(sent: RawReply): Promise<string> {
  return sent.headers.get('location')?.split('/').at(-1) ?? '';
}

describe('POST /outbound/{senderAddress}/requests', () => {
  it('answers 201 with the OutboundRequest, DeliveredToNetwork for each recipient, and the id in Location', async () => {
    const sent = await reply(origin, SEND_TO_TWO);
    const id = await requestIdOf(sent);
    const resourceURL = `https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B4790000001/requests/${id}`;
    expect(sent.statusLine).toBe('HTTP/1.1 201 Created');
    expect(sent.headers.get('content-type')).toBe('application/json');
    expect(sent.headers.get('location')).toBe(resourceURL);
    expect(id).not.toBe('');
    expect(jsonOf(sent)).toEqual({
      outboundSMSMessageRequest: {
        address: ['tel:+4791000001', 'tel:+4791000002'],
        deliveryInfoList: {
          resourceURL: `${resourceURL}/deliveryInfos`,
          deliveryInfo: [
            { address: 'tel:+4791000001', deliveryStatus: 'DeliveredToNetwork' },
            { address: 'tel:+4791000002', deliveryStatus: 'DeliveredToNetwork' },
          ],
        },
        senderAddress: 'tel:+4790000001',
        outboundSMSTextMessage: { message: "Grüße, O'Brien & Søn 🎉" },
        clientCorrelator: 'spring-1',
        senderName: 'ACME',
        resourceURL,
      },
    });
  });

  it.each([
    ['no Authorization', 'Authorization: Bearer key-of-acme\n', '', 401],
    ['an unknown key', 'key-of-acme', 'key-unknown', 401],
    ['a scheme other than Bearer', 'Bearer key-of-acme', 'Basic key-of-acme', 401],
    ['a key that may not use the service', 'key-of-acme', 'key-without-service', 403],
    ['another Content-Type', 'application/json', 'text/plain', 400],
    ['an address without tel:', 'tel:+4791000002', '+4791000002', 400],
    ['a national number', 'tel:+4791000002', 'tel:91000002', 400],
    ['a misspelled field', '"senderName"', '"sendername"', 400],
    ['no text', '"outboundSMSTextMessage":{"message"', '"outboundSMSTextMessage":{"text"', 400],
    ['another sender in the body', '"tel:+4790000001"', '"tel:+4790000009"', 400],
    ['a body that is not JSON', '{"outbound', '{outbound', 400],
    ['no wrapper', 'outboundSMSMessageRequest', 'outboundRequest', 400],
    ['another path', '/requests', '/request', 404],
  ])('rejects %s', async (_, part, replacement, status) => {
    const before = simulator.ledger.requests;
    const refused = await reply(origin, SEND_TO_TWO.replace(part, replacement));
    expect(refused.statusLine).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(jsonOf(refused)).toHaveProperty('message');
    expect(simulator.ledger.requests).toBe(before);
  });

  it.each([
    ['that is not URL-encoded', "O'Brien", "O'Brien", 'not URL-encoded'],
    ['that is encoded in another way than UTF-8', 'S%F8n', 'Søn', 'not URL-encoded'],
  ])('rejects a sender %s', async (_, inPath, inBody, reason) => {
    const request = SEND_TO_TWO.replace('tel%3A%2B4790000001', inPath).replace(
      '"tel:+4790000001"',
      `"${inBody}"`,
    );
    const refused = await reply(origin, request);
    expect(refused.statusLine).toBe('HTTP/1.1 400 Bad Request');
    expect(refused.body).toContain(reason);
  });

  it.each([
    ['repeated', 'spring-1', expect.stringMatching(/^generated-/)],
    ['generated', expect.stringMatching(/^generated-/), expect.stringMatching(/^generated-/)],
    ['none', undefined, undefined],
  ] as const)('carries a clientCorrelator in the 201: %s', async (correlatorInReply, own, without) => {
    simulator.configure({ correlatorInReply });
    const correlatorOf = async (request: string) => {
      const body = jsonOf(await reply(origin, request)) as {
        outboundSMSMessageRequest: { clientCorrelator?: string };
      };
      return body.outboundSMSMessageRequest.clientCorrelator;
    };
    expect(await correlatorOf(SEND_TO_TWO)).toEqual(own);
    expect(await correlatorOf(SEND_TO_TWO.replace('"clientCorrelator":"spring-1",', ''))).toEqual(without);
    simulator.configure({ correlatorInReply: 'repeated' });
  });

  it('generates another correlator for each request, which is that of the request when it is repeated', async () => {
    const request = SEND_TO_TWO.replace('"clientCorrelator":"spring-1",', '');
    const [first, second] = [await reply(origin, request), await reply(origin, request)];
    expect(first.body).toContain(`"clientCorrelator":"generated-${await requestIdOf(first)}"`);
    expect(await requestIdOf(second)).not.toBe(await requestIdOf(first));
  });

  it('answers 429 to requests beyond the quota, polls included', async () => {
    const send = SEND_TO_TWO.replace('key-of-acme', 'key-of-two-an-hour');
    const sent = await reply(origin, send);
    const poll = `GET ${new URL(sent.headers.get('location') ?? '').pathname}/deliveryInfos HTTP/1.1
Host: messaging.example
Authorization: Bearer key-of-two-an-hour

`;
    expect((await reply(origin, poll)).statusLine).toBe('HTTP/1.1 200 OK');
    expect((await reply(origin, poll)).statusLine).toBe('HTTP/1.1 429 Too Many Requests');
    const refused = await reply(origin, send);
    expect(refused.statusLine).toBe('HTTP/1.1 429 Too Many Requests');
    expect(refused.headers.has('retry-after')).toBe(false);
  });
});

describe('The body of an error', () => {
  const NO_SENDER = SEND_TO_TWO.replace('tel%3A%2B4790000001', 'ACMEACMEACME');
  it.each([
    ['message', 'application/json', '{"message":"the API key was not mentioned or is invalid"}'],
    [
      'oneApi',
      'application/json',
      '{"requestError":{"policyException":{"messageId":"POL0001","text":"A policy error occurred. Error code is %1","variables":["the API key was not mentioned or is invalid"]}}}',
    ],
    ['text', 'text/plain', 'the API key was not mentioned or is invalid'],
    [
      'html',
      'text/html',
      '<html><body><h1>401</h1><p>the API key was not mentioned or is invalid</p></body></html>',
    ],
    ['none', undefined, ''],
  ] as const)('has the form %s that the options choose', async (errorBody, type, body) => {
    simulator.configure({ errorBody });
    const refused = await reply(origin, SEND_TO_TWO.replace('key-of-acme', 'key-unknown'));
    simulator.configure({ errorBody: 'message' });
    expect(refused.statusLine).toBe('HTTP/1.1 401 Unauthorized');
    expect(refused.headers.get('content-type')).toBe(type);
    expect(refused.body).toBe(body);
  });

  it('is a serviceException for a malformed request and a policyException for a refused key, in the form oneApi', async () => {
    simulator.configure({ errorBody: 'oneApi', magicRecipients: 'always' });
    const malformed = await reply(origin, NO_SENDER.replace('"tel:+4790000001"', '"ACMEACMEACME"'));
    const forbidden = await reply(origin, SEND_TO_TWO.replace('key-of-acme', 'key-without-service'));
    const broken = await reply(origin, SEND_TO_TWO.replace('4791000001', '4795550120'));
    simulator.configure({ errorBody: 'message', magicRecipients: 'first' });
    expect(jsonOf(malformed)).toMatchObject({ requestError: { serviceException: { messageId: 'SVC0002' } } });
    expect(jsonOf(forbidden)).toMatchObject({ requestError: { policyException: { messageId: 'POL0001' } } });
    expect(broken.statusLine).toBe('HTTP/1.1 500 Internal Server Error');
    expect(jsonOf(broken)).toMatchObject({ requestError: { serviceException: { messageId: 'SVC0001' } } });
  });
});

describe('GET /outbound/{senderAddress}/requests/{requestId}/deliveryInfos', () => {
  const poll = (
    id: string,
    sender = 'tel%3A%2B4790000001',
  ) => `GET /smsmessaging/v1/outbound/${sender}/requests/${id}/deliveryInfos HTTP/1.1
Host: messaging.example
Authorization: Bearer key-of-acme

`;

  it('answers 200 with the DeliveryInfoList, DeliveredToTerminal once the message has arrived', async () => {
    const id = await requestIdOf(await reply(origin, SEND_TO_TWO));
    const infos = (status: string) => ({
      deliveryInfoList: {
        resourceURL: `https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B4790000001/requests/${id}/deliveryInfos`,
        deliveryInfo: [
          { address: 'tel:+4791000001', deliveryStatus: status },
          { address: 'tel:+4791000002', deliveryStatus: status },
        ],
      },
    });
    now += 59_999;
    const early = await reply(origin, poll(id));
    expect(early.statusLine).toBe('HTTP/1.1 200 OK');
    expect(jsonOf(early)).toEqual(infos('DeliveredToNetwork'));
    now += 1;
    expect(jsonOf(await reply(origin, poll(id)))).toEqual(infos('DeliveredToTerminal'));
  });

  it('answers 404 to an unknown id, a sender spelled differently than in the send request, and another key', async () => {
    const id = await requestIdOf(await reply(origin, SEND_TO_TWO));
    const requests = [
      poll(`${id}0`),
      poll(id, '%2B4790000001'),
      poll(id, 'tel%3A4790000001'),
      poll(id).replace('key-of-acme', 'key-of-another'),
    ];
    for (const request of requests) {
      expect((await reply(origin, request)).statusLine).toBe('HTTP/1.1 404 Not Found');
    }
    expect((await reply(origin, poll(id, 'tel:+4790000001'))).statusLine).toBe('HTTP/1.1 200 OK');
  });

  it('answers 401 without a key and 403 with a key that may not use the service', async () => {
    const id = await requestIdOf(await reply(origin, SEND_TO_TWO));
    const nameless = await reply(origin, poll(id).replace('Authorization: Bearer key-of-acme\n', ''));
    expect(nameless.statusLine).toBe('HTTP/1.1 401 Unauthorized');
    const forbidden = await reply(origin, poll(id).replace('key-of-acme', 'key-without-service'));
    expect(forbidden.statusLine).toBe('HTTP/1.1 403 Forbidden');
  });
});
