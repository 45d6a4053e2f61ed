import { describe, expect, test } from 'vitest';
import type { ConformanceOptions } from '../../../src/tools/conformance/report.js';
import { startSimulator } from '../../scene/closing.js';
import { closedPort, rawServer, reply } from '../raw-server.js';
import { conformanceTests, type Found } from './conformance-run.js';

const run = conformanceTests('conformance-v3');

const TO = '+4791000001';
const ALL: ConformanceOptions = {
  send: { to: TO, sender: 'tel:+4790000001', twice: true },
  subscribe: { url: 'https://hook.example/notifications' },
};
const JSON_TYPE = 'Content-Type: application/json';

/** Written by hand: the responses of version 3. `<DATA>` and `<CORRELATOR>` repeat those of the request. */
const INFOS =
  '{"deliveryInfoList":{"resourceURL":"https://messaging.example/sms/v3/outbound/tel%3A%2B4790000001/requests/7/deliveryInfos","smsParts":1,"deliveryInfo":[{"address":"tel:+4791000001","deliveryStatus":"DeliveryUncertain","deliveryStatusCode":7,"callbackData":"<DATA>"}]}}';
const CREATED =
  '{"outboundSMSMessageRequest":{"resourceURL":"https://messaging.example/sms/v3/outbound/tel%3A%2B4790000001/requests/7","address":["tel:+4791000001"],"senderAddress":"tel:+4790000001","outboundSMSTextMessage":{"message":"This is a test of the messaging service."},"clientCorrelator":"<CORRELATOR>","callbackData":"<DATA>","asynchronous":false}}';
const CALLBACK = '{"callback":{"url":"<URL>","securityToken":"<TOKEN>","finalDelivery":false}}';
const CONFORMING: Readonly<Record<string, string>> = {
  token: reply(
    ['HTTP/1.1 200 OK', JSON_TYPE],
    '{"access_token":"opaque-1234","token_type":"Bearer","expires_in":300}',
  ),
  unauthorised: reply(['HTTP/1.1 401 Unauthorized']),
  sent: reply(['HTTP/1.1 201 Created', JSON_TYPE], CREATED),
  'sent again': reply(['HTTP/1.1 201 Created', JSON_TYPE], CREATED),
  infos: reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS),
  'not found': reply(['HTTP/1.1 404 Not Found']),
  subscription: reply(['HTTP/1.1 200 OK', JSON_TYPE], CALLBACK),
  malformed: reply(['HTTP/1.1 400 Bad Request']),
  insecure: reply(
    ['HTTP/1.1 406 Not Acceptable', JSON_TYPE],
    '{"code":"NOT_HTTPS","description":"only https"}',
  ),
  second: reply(['HTTP/1.1 406 Not Acceptable', JSON_TYPE], '{"code":"EXISTS"}'),
  created: reply(['HTTP/1.1 201 Created', JSON_TYPE], CALLBACK),
  deleted: 'HTTP/1.1 204 No Content\r\n\r\n',
};

/** Tests a service of version 3 that gives these responses; the others are as documented. */
async function answering(responses: Readonly<Record<string, string>> = {}, options = ALL): Promise<Found> {
  let callback = { url: '', securityToken: '' };
  const sent = { callbackData: '', clientCorrelator: '', count: 0 };
  const named = (request: string): string => {
    const [line = ''] = request.split('\r\n', 1);
    const body = request.split('\r\n\r\n')[1] ?? '';
    if (line.startsWith('POST /token')) return 'token';
    if (!request.includes('Bearer opaque-1234')) return 'unauthorised';
    if (line.includes('/requests/7/')) return line.includes('4790000001') ? 'infos' : 'not found';
    if (line.includes('/deliveryInfos')) return 'not found';
    if (line.startsWith('POST /sms/v3/outbound/tel')) {
      Object.assign(sent, JSON.parse(body).outboundSMSMessageRequest, { count: sent.count + 1 });
      return sent.count === 1 ? 'sent' : 'sent again';
    }
    const exists = callback.url !== '';
    if (line.startsWith('GET')) return exists ? 'subscription' : 'not found';
    if (line.startsWith('DELETE')) {
      callback = { url: '', securityToken: '' };
      return exists ? 'deleted' : 'not found';
    }
    if (body === '{}') return 'malformed';
    if (body.includes('"http:')) return 'insecure';
    if (exists) return 'second';
    ({ callback } = JSON.parse(body));
    return 'created';
  };
  const server = await rawServer((socket, request) => {
    const name = named(request);
    const [head = '', body = ''] = (responses[name] ?? CONFORMING[name] ?? '').split('\r\n\r\n');
    const filled = body
      .replaceAll('<DATA>', sent.callbackData)
      .replace('<CORRELATOR>', sent.clientCorrelator)
      .replace('<URL>', callback.url)
      .replace('<TOKEN>', callback.securityToken);
    const sized = head.replace(/Content-Length: \d+/, `Content-Length: ${Buffer.byteLength(filled)}`);
    socket.write(`${sized}\r\n\r\n${filled}`);
  });
  const lane = {
    name: 'marketing',
    profile: 'v3',
    baseUrl: `${server.origin}/sms/v3`,
    client: { id: 'id', secret: 'secret', product: 'sms-a2p-marketing' },
  };
  const env = {
    TOKEN_URL: `${server.origin}/token`,
    MESSAGING_BASE_URL: server.origin,
  };
  return run(env, options, [lane]);
}

describe('A conformance test of a service of version 3', () => {
  test('passes if the service keeps to the documents, and leaves out what they show', async () => {
    const { failed, skipped, ways, checks } = await answering();
    expect(failed).toEqual({});
    expect(skipped).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual([
      'POST to the token address',
      'GET /outbound/subscriptions',
      'GET /outbound/subscriptions, without a key',
      'GET /outbound/subscriptions, with an unknown key',
      'GET the delivery infos of an unknown request',
      'GET the delivery infos of an unknown request, without a key',
      'GET the delivery infos of an unknown request, with an unknown key',
      'POST /outbound/subscriptions without a callback',
      'POST /outbound/subscriptions with an http address',
      'POST /outbound/subscriptions',
      'GET /outbound/subscriptions, created',
      'POST a message',
      'GET the delivery infos of a request',
      'GET the delivery infos of a request with another sender',
      'GET the delivery infos below the returned resourceURL',
      'POST the same message with the same clientCorrelator',
      'DELETE /outbound/subscriptions',
      'GET /outbound/subscriptions, deleted',
      'DELETE /outbound/subscriptions, without a subscription',
      'DELETE /outbound/subscriptions, without a key',
    ]);
    expect(ways).toMatchObject({
      'whether a response repeats the clientCorrelator': 'it repeats that of the request',
      'how long tokens last': 'the access token lasts 5m',
    });
    expect(Object.keys(ways)).not.toContain('whether a repeated clientCorrelator sends twice');
    expect(Object.keys(ways)).not.toContain('what Authorization and X-Authorization carry');
  });

  test.each<[violation: string, responses: Readonly<Record<string, string>>, check: string, found: RegExp]>([
    [
      'a repeated correlator that sends again',
      {
        'sent again': reply(['HTTP/1.1 201 Created', JSON_TYPE], CREATED.replace('requests/7', 'requests/8')),
      },
      'POST the same message with the same clientCorrelator',
      /^it names another request than the first/,
    ],
    [
      'delivery infos without the callbackData of the request',
      { infos: reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS.replace('<DATA>', 'other')) },
      'GET the delivery infos of a request',
      /^callbackData is not that of the request/,
    ],
    [
      'a delivery status that does not exist',
      { infos: reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS.replace('DeliveryUncertain', 'Unknown')) },
      'GET the delivery infos of a request',
      /deliveryStatus must be one of MessageAccepted, .*, InvalidDestAddress/,
    ],
    [
      'a subscription with an http address',
      { insecure: reply(['HTTP/1.1 406 Not Acceptable', JSON_TYPE], '{"code":"NO"}') },
      'POST /outbound/subscriptions with an http address',
      /^the code is not NOT_HTTPS/,
    ],
    [
      'a token of another type',
      { token: reply(['HTTP/1.1 200 OK', JSON_TYPE], '{"access_token":"opaque-1234","token_type":"mac"}') },
      'POST to the token address',
      /^token_type must match pattern/,
    ],
    [
      'a response without a request id',
      { sent: reply(['HTTP/1.1 201 Created', JSON_TYPE], CREATED.replace(/"resourceURL":"[^"]*",/, '')) },
      'POST a message',
      /^the response contains no request id/,
    ],
  ])('names %s', async (_violation, responses, check, found) => {
    const { failed } = await answering(responses);
    expect(failed[check]).toMatch(found);
  });

  test('passes with the simulator, which shows the same ways as with version 1', async () => {
    const simulator = await startSimulator({ clients: [{ id: 'id', secret: 'secret' }] });
    const { messagingBaseUrl, tokenUrl } = simulator.v3;
    const client = { id: 'id', secret: 'secret', product: 'sms-a2p-marketing' };
    const env = { TOKEN_URL: tokenUrl, MESSAGING_BASE_URL: messagingBaseUrl };
    const lanes = [{ name: 'marketing', profile: 'v3', client }];
    const { failed, skipped, ways } = await run(env, ALL, lanes);
    expect({ failed, skipped }).toEqual({ failed: {}, skipped: [] });
    expect(ways).toMatchObject({
      'whether a response repeats the clientCorrelator': 'it repeats that of the request',
      'which fields contain the request id': 'in the body and Location',
    });
    expect(simulator.summary().requests).toBe(1);
  });

  test.each(['<CORRELATOR>', 'another'])(
    'advises no setting that the profile determines when the response has the correlator %s',
    async (correlator) => {
      const sent = reply(['HTTP/1.1 201 Created', JSON_TYPE], CREATED.replace('<CORRELATOR>', correlator));
      const { advice } = await answering({ sent });
      expect(advice['whether a response repeats the clientCorrelator']).toBe(
        'Nothing to set: every request of this profile carries one.',
      );
      expect(Object.values(advice).join(' ')).not.toContain('clientCorrelator of the lane');
    },
  );

  test.each([
    ['short', 'Hi', '2 for 1 recipient'],
    ['long', 'x'.repeat(307), '3 for 1 recipient'],
  ])('checks the notifications of a %s message', async (_length, text, found) => {
    const simulator = await startSimulator({
      clients: [{ id: 'id', secret: 'secret' }],
      deliveryTime: 50,
    });
    const { messagingBaseUrl, tokenUrl } = simulator.v3;
    const client = { id: 'id', secret: 'secret', product: 'sms-a2p-marketing' };
    const env = { TOKEN_URL: tokenUrl, MESSAGING_BASE_URL: messagingBaseUrl };
    const lanes = [{ name: 'marketing', profile: 'v3', client }];
    const url = `http://127.0.0.1:${await closedPort()}/in`;
    const send = { to: TO, sender: 'ACME', text };
    const { checks, ways } = await run(env, { send, listen: { url } }, lanes);
    expect(checks.find(({ name }) => name === 'Notifications of the message')).toMatchObject({
      result: 'passed',
      found,
    });
    expect(ways['how a notification differs from a poll']).toContain(
      'it adds deliveryInfoList.securityToken',
    );
  });

  test('can be made with --profile on a lane of version 1', async () => {
    const server = await rawServer(reply(['HTTP/1.1 400 Bad Request']));
    const env = { MESSAGING_BASE_URL: server.origin, API_KEY: 'k' };
    const send = { to: TO, sender: 'ACME' };
    const [v1, v3] = [await run(env, { send }), await run(env, { send, profile: 'v3' })];
    expect(v1.failed['POST a message']).toMatch(/^the status 400 is not documented/);
    expect(v3.failed['POST a message']).toMatch(/^the status 400 does not belong here/);
  });
});
