import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMessagingClient, type MessagingClient } from '../../../src/service/client/messaging.js';
import { type Answer, PERMIT, partsOf, type RawServer, rawServer, reply } from '../raw-server.js';

/** Written by hand from the interface page: area A, send message; OutboundRequest. */
const SENT = `{"outboundSMSMessageRequest": {
  "address": ["tel:+358401234567", "tel:+358409876543"],
  "deliveryInfoList": {
    "deliveryInfo": [
      {"address": "tel:+358401234567", "deliveryStatus": "DeliveredToNetwork"},
      {"address": "tel:+358409876543", "deliveryStatus": "DeliveryImpossible"}
    ],
    "resourceURL": "https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B358501112222/requests/b2c3-d4/deliveryInfos"
  },
  "senderAddress": "tel:+358501112222",
  "outboundSMSTextMessage": {"message": "Hyvää päivää €"},
  "clientCorrelator": "67893",
  "senderName": "Volley Oy",
  "resourceURL": "https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B358501112222/requests/b2c3-d4"
}}`;

/** Written by hand from the interface page: area A, get delivery infos; DeliveryInfoList. */
const INFOS = `{"deliveryInfoList": {
  "resourceURL": "https://messaging.example/smsmessaging/v1/outbound/ACME/requests/b2c3-d4/deliveryInfos",
  "deliveryInfo": [
    {"address": "tel:+358401234567", "deliveryStatus": "DeliveredToTerminal"},
    {"address": "tel:+358409876543", "deliveryStatus": "DeliveredToNetwork"}
  ]
}}`;

const CREATED = ['HTTP/1.1 201 Created', 'Content-Type: application/json'];
const OK = ['HTTP/1.1 200 OK', 'Content-Type: application/json'];

const TO = '+358401234567';
const MESSAGE = { sender: 'ACME', recipients: [TO], text: 'Hello' };
const NOW = Date.parse('2026-03-02T10:00:00Z');

let clients: MessagingClient[] = [];
beforeEach(() => {
  clients = [];
});
afterEach(() => {
  for (const client of clients) client.close();
});

function clientOf(server: RawServer, path = '/smsmessaging/v1'): MessagingClient {
  const client = createMessagingClient({
    baseUrl: `${server.origin}${path}`,
    timeoutMs: 10_000,
    clock: () => NOW,
  });
  clients.push(client);
  return client;
}

async function sent(answer: Answer, message: Parameters<MessagingClient['send']>[0] = MESSAGE) {
  const server = await rawServer(answer);
  const outcome = await clientOf(server).send(message, { authorization: 'KEY-1' }, PERMIT);
  return { server, outcome };
}

async function polled(answer: Answer) {
  const server = await rawServer(answer);
  const outcome = await clientOf(server).deliveryInfos('ACME', 'b2c3-d4', { authorization: 'KEY-1' }, PERMIT);
  return { server, outcome };
}

describe('a send, as on the interface page', () => {
  it('sends the path, headers, and body of the page', async () => {
    const { server } = await sent(reply(CREATED, SENT), {
      sender: 'tel:+358501112222',
      senderName: 'Volley Oy',
      recipients: ['+358401234567', '+358409876543'],
      text: 'Hyvää päivää €',
      clientCorrelator: '67893',
    });
    expect(server.requests).toHaveLength(1);
    const { line, headers, body } = partsOf(server.requests[0] ?? '');
    expect(line).toBe('POST /smsmessaging/v1/outbound/tel%3A%2B358501112222/requests HTTP/1.1');
    expect(headers).toContain('authorization: Bearer KEY-1');
    expect(headers).toContain('content-type: application/json');
    expect(headers).toContain('accept-encoding: identity');
    expect(headers).toContain(`content-length: ${Buffer.byteLength(body)}`);
    expect(body).toBe(
      '{"outboundSMSMessageRequest":{"address":["tel:+358401234567","tel:+358409876543"],' +
        '"senderAddress":"tel:+358501112222","outboundSMSTextMessage":{"message":"Hyvää päivää €"},' +
        '"senderName":"Volley Oy","clientCorrelator":"67893"}}',
    );
  });

  it('omits the sender name and the correlator if there are none', async () => {
    const { server } = await sent(reply(CREATED, SENT));
    expect(partsOf(server.requests[0] ?? '').body).toBe(
      '{"outboundSMSMessageRequest":{"address":["tel:+358401234567"],"senderAddress":"ACME",' +
        '"outboundSMSTextMessage":{"message":"Hello"}}}',
    );
  });

  it('reads the request id and the status of each recipient', async () => {
    const { outcome } = await sent(reply(CREATED, SENT), {
      ...MESSAGE,
      recipients: ['+358401234567', '+358409876543'],
    });
    expect(outcome).toEqual({
      kind: 'accepted',
      requestId: 'b2c3-d4',
      statuses: new Map([
        ['+358401234567', 'DeliveredToNetwork'],
        ['+358409876543', 'DeliveryImpossible'],
      ]),
    });
  });

  it('ignores the status of a number that is not in the request', async () => {
    const { outcome } = await sent(reply(CREATED, SENT));
    expect(outcome).toMatchObject({ statuses: new Map([[TO, 'DeliveredToNetwork']]) });
  });

  it('carries a key and an access token in the headers of their areas', async () => {
    const server = await rawServer(reply(CREATED, SENT));
    await clientOf(server).send(MESSAGE, { authorization: 'KEY-1', xAuthorization: 'TOKEN-1' }, PERMIT);
    const { headers } = partsOf(server.requests[0] ?? '');
    expect(headers).toContain('authorization: Bearer KEY-1');
    expect(headers).toContain('x-authorization: Bearer TOKEN-1');
  });

  it('sends requests with different keys over one connection', async () => {
    const server = await rawServer(reply(CREATED, SENT));
    const client = clientOf(server);
    // The first connections are not reused.
    for (let before = -1; before !== server.connections(); ) {
      before = server.connections();
      await client.send(MESSAGE, { authorization: 'KEY-1' }, PERMIT);
    }
    const before = server.connections();
    await client.send(MESSAGE, { authorization: 'KEY-2' }, PERMIT);
    expect(server.connections()).toBe(before);
    const keys = server.requests.map((request) => /Bearer (\S+)/.exec(request)?.[1]);
    expect(keys.slice(-2)).toEqual(['KEY-1', 'KEY-2']);
  });

  it('matches responses to concurrent requests', async () => {
    const echo: Answer = (socket, request) => {
      const id = /"message":"(\w+)"/.exec(request)?.[1];
      socket.write(reply([...CREATED, `Location: /outbound/ACME/requests/${id}`]));
    };
    const server = await rawServer(echo);
    const client = clientOf(server);
    const texts = Array.from({ length: 20 }, (_, index) => `text${index}`);
    const outcomes = await Promise.all(
      texts.map((text) => client.send({ ...MESSAGE, text }, { authorization: 'KEY-1' }, PERMIT)),
    );
    expect(outcomes.map((outcome) => outcome.kind === 'accepted' && outcome.requestId)).toEqual(texts);
  });
});

describe('the request id of a response', () => {
  it.each([
    [
      'in the nested list alone',
      reply(
        CREATED,
        '{"outboundSMSMessageRequest":{"deliveryInfoList":{"resourceURL":"https://h/v1/outbound/ACME/requests/r1/deliveryInfos","deliveryInfo":[]}}}',
      ),
    ],
    [
      'in the Location header alone',
      reply(
        [...CREATED, 'Location: /smsmessaging/v1/outbound/ACME/requests/r1'],
        '{"outboundSMSMessageRequest":{}}',
      ),
    ],
    [
      'in the Location header of a reply without a body',
      reply([...CREATED, 'Location: http://h/outbound/ACME/requests/r1']),
    ],
    [
      'in the Location header of a reply whose body is no JSON',
      reply([...CREATED, 'Location: http://h/outbound/ACME/requests/r1'], 'created'),
    ],
    ['without the wrapper', reply(CREATED, '{"resourceURL":"https://h/v1/outbound/ACME/requests/r1"}')],
    [
      'encoded',
      reply(
        CREATED,
        '{"outboundSMSMessageRequest":{"resourceURL":"https://h/outbound/requests/requests/r%31?x=/1"}}',
      ),
    ],
    [
      'in a 200 that carries an OutboundRequest',
      reply(OK, '{"outboundSMSMessageRequest":{"resourceURL":"https://h/outbound/ACME/requests/r1"}}'),
    ],
  ])('is found %s', async (_where, answer) => {
    const { outcome } = await sent(answer);
    expect(outcome).toMatchObject({ kind: 'accepted', requestId: 'r1' });
  });

  it.each([
    ['an empty 201', reply(CREATED)],
    ['a 201 with an object without an id', reply(CREATED, '{"outboundSMSMessageRequest":{"resourceURL":5}}')],
    [
      'an id that would change the path of a poll',
      reply(
        CREATED,
        '{"outboundSMSMessageRequest":{"resourceURL":"https://h/outbound/ACME/requests/%2E%2E"}}',
      ),
    ],
  ])('is missing from %s, which still means accepted', async (_what, answer) => {
    const { outcome } = await sent(answer);
    expect(outcome).toMatchObject({ kind: 'accepted', requestId: null });
  });

  it.each([
    ['a 200 without an OutboundRequest', reply(OK, '{}')],
    ['an empty 200', reply(OK)],
    ['a 204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['a 201 that is not JSON and has no Location', reply(CREATED, '<html>Created</html>')],
    ['a 201 whose JSON breaks off', reply(CREATED, SENT.slice(0, 80))],
  ])('is unknown after %s, and so is the outcome', async (_what, answer) => {
    const { outcome } = await sent(answer);
    expect(outcome.kind).toBe('unknown');
  });
});

describe('responses to a send other than success', () => {
  it('never follows a redirect, whether or not it changes the method', async () => {
    for (const [status, told] of [
      ['301 Moved', { kind: 'stopped', reason: expect.stringContaining('redirect') }],
      ['302 Found', { kind: 'stopped', reason: expect.stringContaining('redirect') }],
      ['303 See Other', { kind: 'unknown', reason: expect.stringContaining('303'), isAnswered: true }],
      ['307 Temporary', { kind: 'stopped', reason: expect.stringContaining('redirect') }],
      ['308 Permanent', { kind: 'stopped', reason: expect.stringContaining('redirect') }],
    ] as const) {
      const other = await rawServer(reply(CREATED, SENT));
      const { server, outcome } = await sent(
        reply([`HTTP/1.1 ${status}`, `Location: ${other.origin}/outbound`]),
      );
      expect(outcome).toEqual(told);
      expect(server.requests).toHaveLength(1);
      expect(other.connections()).toBe(0);
    }
  });

  it('reads a response that is compressed without being requested', async () => {
    const { gzipSync } = await import('node:zlib');
    const { outcome } = await sent((socket) => {
      const body = gzipSync(SENT);
      socket.write(
        [...CREATED, 'Content-Encoding: gzip', `Content-Length: ${body.length}`, '', ''].join('\r\n'),
      );
      socket.write(body);
    });
    expect(outcome).toMatchObject({ kind: 'accepted', requestId: 'b2c3-d4' });
  });
});

describe('delivery infos, as on the interface page', () => {
  it('polls the path of the request, with the key', async () => {
    const { server } = await polled(reply(OK, INFOS));
    const { line, headers, body } = partsOf(server.requests[0] ?? '');
    expect(line).toBe('GET /smsmessaging/v1/outbound/ACME/requests/b2c3-d4/deliveryInfos HTTP/1.1');
    expect(headers).toContain('authorization: Bearer KEY-1');
    expect(headers).toContain('content-type: application/json');
    expect(body).toBe('');
  });

  it('polls the configured host, whatever host the resourceURL names', async () => {
    const elsewhere = await rawServer(reply(OK, INFOS));
    const answer = SENT.replaceAll('https://messaging.example', elsewhere.origin);
    const server = await rawServer([reply(CREATED, answer), reply(OK, INFOS)]);
    const client = clientOf(server);
    const outcome = await client.send(MESSAGE, { authorization: 'KEY-1' }, PERMIT);
    if (outcome.kind !== 'accepted' || outcome.requestId === null) throw new Error('not accepted');
    await client.deliveryInfos('ACME', outcome.requestId, { authorization: 'KEY-1' }, PERMIT);
    expect(server.requests).toHaveLength(2);
    expect(elsewhere.connections()).toBe(0);
  });

  it('encodes special characters in a request id', async () => {
    const server = await rawServer(reply(OK, INFOS));
    await clientOf(server).deliveryInfos('ACME', 'a b/c?d', { authorization: 'KEY-1' }, PERMIT);
    expect(partsOf(server.requests[0] ?? '').line).toContain('/requests/a%20b%2Fc%3Fd/deliveryInfos');
  });

  it('returns statuses that the page does not list separately', async () => {
    const { outcome } = await polled(
      reply(
        OK,
        '{"deliveryInfoList":{"deliveryInfo":[{"address":"tel:+358401234567","deliveryStatus":"MessageWaiting"},{"address":"tel:+358409876543","deliveryStatus":"deliveredtoterminal"}]}}',
      ),
    );
    expect(outcome).toEqual({
      kind: 'infos',
      statuses: new Map(),
      unlisted: ['MessageWaiting', 'deliveredtoterminal'],
      words: new Map([
        ['+358401234567', { word: 'MessageWaiting', code: '' }],
        ['+358409876543', { word: 'deliveredtoterminal', code: '' }],
      ]),
    });
  });

  it('skips an invalid entry and reads the others', async () => {
    const { outcome } = await polled(
      reply(
        OK,
        '{"deliveryInfoList":{"deliveryInfo":[{"address":7},{"address":"tel:+358401234567","deliveryStatus":"DeliveredToTerminal"}]}}',
      ),
    );
    expect(outcome).toMatchObject({ kind: 'infos', statuses: new Map([[TO, 'DeliveredToTerminal']]) });
  });

  it.each([
    [
      'a list of one that is not in an array',
      '{"deliveryInfoList":{"deliveryInfo":{"address":"tel:+358401234567","deliveryStatus":"DeliveredToTerminal"}}}',
    ],
    [
      'no wrapper',
      '{"deliveryInfo":[{"address":"tel:+358401234567","deliveryStatus":"DeliveredToTerminal"}]}',
    ],
    [
      'undocumented fields',
      '{"x":1,"deliveryInfoList":{"y":2,"deliveryInfo":[{"z":3,"address":"tel:+358401234567","deliveryStatus":"DeliveredToTerminal"}]}}',
    ],
    [
      'a byte order mark',
      '\uFEFF{"deliveryInfoList":{"deliveryInfo":[{"address":"tel:+358401234567","deliveryStatus":"DeliveredToTerminal"}]}}',
    ],
  ])('tolerates %s', async (_what, body) => {
    const { outcome } = await polled(reply(OK, body));
    expect(outcome).toMatchObject({ statuses: new Map([[TO, 'DeliveredToTerminal']]) });
  });

  it.each(['{"deliveryInfoList":{"deliveryInfo":[{"status":"x"}]}}', '{}', 'OK'])(
    'are missing from a 200 with the body %s, which leaves the poll unanswered',
    async (body) => {
      const { outcome } = await polled(reply(OK, body));
      expect(outcome.kind).toBe('unanswered');
    },
  );
});
