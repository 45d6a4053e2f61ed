import { describe, expect, test } from 'vitest';
import { CONFORMANCE_ROWS } from '../../tools/conformance/rows.js';
import { rawServer, reply } from '../raw-server.js';
import { ACCOUNT, ALL, type Found, HOOK, SENDER, servicesTested, TO } from './conformance-run.js';

const { tested, simulated } = servicesTested('conformance-violations');

/** A part of a service that keeps to the documentation: the status line, headers, and body of each response, as they are on the wire. */
type Responses = Readonly<Record<string, string>>;

const JSON_TYPE = 'Content-Type: application/json';
const CALLBACK = (request: string): string => request.split('\r\n\r\n')[1] ?? '';
const INFOS =
  '{"deliveryInfoList":{"resourceURL":"https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B4790000001/requests/7/deliveryInfos","deliveryInfo":[{"address":"tel:+4791000001","deliveryStatus":"DeliveredToTerminal"}]}}';
const CREATED =
  '{"outboundSMSMessageRequest":{"address":["tel:+4791000001"],"deliveryInfoList":{"resourceURL":"https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B4790000001/requests/7/deliveryInfos","deliveryInfo":[{"address":"tel:+4791000001","deliveryStatus":"DeliveredToNetwork"}]},"senderAddress":"tel:+4790000001","outboundSMSTextMessage":{"message":"This is a test of the messaging service."},"clientCorrelator":"abc","senderName":"Volley","resourceURL":"https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B4790000001/requests/7"}}';
const LOCATION =
  'Location: https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B4790000001/requests/7';
const ok = (body: string): string => reply(['HTTP/1.1 200 OK', JSON_TYPE], body);
const madeAs = (body: string): string => reply(['HTTP/1.1 201 Created', JSON_TYPE, LOCATION], body);
const JWT = 'eyJhbGciOiJub25lIn0.eyJpYXQiOjE3MDAwMDAwMDAsImV4cCI6MTcwMDAwMDkwMH0.c2ln';

/** After a refresh. It begins like the first one. */
const RENEWED = `${JWT}Mg`;

/** Instead of a response. */
const RESET = 'reset';
const CONFORMING: Responses = {
  'no subscription': reply(['HTTP/1.1 404 Not Found']),
  'the subscription': ok('{"callback":{"url":"<URL>","securityToken":"<TOKEN>"}}'),
  'without a callback': reply(['HTTP/1.1 400 Bad Request']),
  created: reply(
    ['HTTP/1.1 201 Created', JSON_TYPE],
    '{"callback":{"url":"<URL>","securityToken":"<TOKEN>"}}',
  ),
  'a second': reply(['HTTP/1.1 406 Not Acceptable']),
  deleted: 'HTTP/1.1 204 No Content\r\n\r\n',
  'without a key': reply(['HTTP/1.1 401 Unauthorized']),
  'no such message': reply(['HTTP/1.1 404 Not Found']),
  infos: ok(INFOS),
  sent: madeAs(CREATED),
  tokens: ok(`{"AccessToken":"${JWT}","RefreshToken":"${JWT}"}`),
  renewed: ok(`{"AccessToken":"${RENEWED}","RefreshToken":"${RENEWED}"}`),
  'another sender': reply(['HTTP/1.1 404 Not Found']),
};

/** Tests a service that gives these responses; the others are as documented. */
async function answering(
  responses: Responses,
  options = ALL,
  env: Readonly<Record<string, string>> = ACCOUNT,
): Promise<Found> {
  let callback = '';
  const named = (request: string): string => {
    const line = request.split('\r\n', 1)[0] ?? '';
    if (line.includes('/api/RefreshToken')) return 'renewed';
    if (line.includes('/api/')) return 'tokens';
    if (!request.includes(JWT)) return 'without a key';
    if (line.startsWith('POST /v1/outbound/tel')) return 'sent';
    if (line.includes('/requests/7/')) return line.includes('4790000001') ? 'infos' : 'another sender';
    if (line.includes('/deliveryInfos')) return 'no such message';
    if (line.startsWith('GET')) return callback === '' ? 'no subscription' : 'the subscription';
    if (line.startsWith('DELETE')) {
      const name = callback === '' ? 'no subscription' : 'deleted';
      callback = '';
      return name;
    }
    if (CALLBACK(request) === '{}') return 'without a callback';
    if (callback !== '') return 'a second';
    callback = CALLBACK(request);
    return 'created';
  };
  const server = await rawServer((socket, request) => {
    const name = named(request);
    const answer = responses[name] ?? CONFORMING[name] ?? '';
    if (answer === RESET) {
      socket.destroy();
      return;
    }
    const { url = '', securityToken = '' } = callback === '' ? {} : JSON.parse(callback).callback;
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    const filled = body.replace('<URL>', url).replace('<TOKEN>', securityToken);
    const sized = head.replace(/Content-Length: \d+/, `Content-Length: ${Buffer.byteLength(filled)}`);
    socket.write(`${sized}\r\n\r\n${filled}`);
  });
  const addresses = { messagingBaseUrl: `${server.origin}/v1`, accountBaseUrl: server.origin };
  return tested(addresses, env, options);
}

describe('A conformance test of a service that violates one rule names it', () => {
  test('and passes if there is no violation', async () => {
    const { failed, skipped, ways, checks } = await answering({});
    expect(failed).toEqual({});
    const made = new Set(checks.map(({ name }) => name));
    const others = CONFORMANCE_ROWS.filter(({ name }) => !made.has(name)).map(({ name }) => name);
    expect(others.sort()).toEqual([
      'GET the delivery infos of a request, after its notifications',
      'Notifications of the message',
      'POST /outbound/subscriptions with an http address',
      'POST the same message with the same clientCorrelator',
      'POST to the token address',
    ]);
    expect(skipped).toEqual([]);
    expect(ways['the bodies of errors']).toBe('400: no body; 401: no body; 404: no body');
  });

  test.each<[violation: string, responses: Responses, failed: Readonly<Record<string, string | RegExp>>]>([
    [
      'an undocumented status',
      { 'no subscription': 'HTTP/1.1 204 No Content\r\n\r\n' },
      {
        'GET /outbound/subscriptions':
          'the status 204 is not documented (200, 401, 404); the service answered 204 without a body',
      },
    ],
    [
      'a status that means something else',
      {
        'no such message': ok('{"deliveryInfoList":{"resourceURL":"https://a.example/","deliveryInfo":[]}}'),
      },
      { 'GET the delivery infos of an unknown request': /^the status 200 does not belong here; / },
    ],
    [
      'requests without a key',
      { 'without a key': reply(['HTTP/1.1 404 Not Found']) },
      {
        'GET /outbound/subscriptions, without a key': /^the status 404 does not belong here/,
        'GET the delivery infos of an unknown request, with an unknown key': /^the status 404/,
      },
    ],
    [
      'a malformed subscription',
      { 'without a callback': reply(['HTTP/1.1 422 Unprocessable']) },
      {
        'POST /outbound/subscriptions without a callback':
          /^the status 422 is not documented \(201, 400, 406\)/,
      },
    ],
    [
      'a callback without its wrapper',
      { created: reply(['HTTP/1.1 201 Created', JSON_TYPE], '{"url":"<URL>","securityToken":"<TOKEN>"}') },
      {
        'POST /outbound/subscriptions':
          'the body must have required property \'callback\'; the service answered 201, {"url":"…","securityToken":"…"}',
      },
    ],
    [
      'a content after a delete',
      { deleted: ok('{}') },
      { 'DELETE /outbound/subscriptions': /^the status 200 is not documented \(204, 401, 404\)/ },
    ],
    [
      'no Location',
      { sent: reply(['HTTP/1.1 201 Created', JSON_TYPE], CREATED) },
      { 'POST a message': /^the header Location is missing/ },
    ],
    [
      'another type than JSON',
      { sent: reply(['HTTP/1.1 201 Created', 'Content-Type: text/html', LOCATION], CREATED) },
      { 'POST a message': /^the Content-Type is text\/html, not application\/json/ },
    ],
    [
      'a delivery status that does not exist',
      { infos: ok(INFOS.replace('DeliveredToTerminal', 'Delivered')) },
      {
        'GET the delivery infos of a request':
          /deliveryStatus must be one of DeliveredToNetwork, DeliveredToTerminal, DeliveryImpossible; .*"deliveryStatus":"Delivered"/,
      },
    ],
    [
      'an address without its plus',
      { infos: ok(INFOS.replace('tel:+4791', 'tel:4791')) },
      {
        'GET the delivery infos of a request':
          /^deliveryInfoList\.deliveryInfo\.0\.address must match pattern/,
      },
    ],
    [
      'no entry for the recipient',
      { infos: ok(INFOS.replace('tel:+4791000001', 'tel:+4791000002')) },
      { 'GET the delivery infos of a request': /^there is no entry for the recipient/ },
    ],
    [
      'another text than was sent',
      { sent: madeAs(CREATED.replace('This is', 'That is')) },
      { 'POST a message': /^message is not that of the request/ },
    ],
    [
      'two ids',
      { sent: reply(['HTTP/1.1 201 Created', JSON_TYPE, LOCATION.replace(/7$/, '8')], CREATED) },
      { 'POST a message': /^Location names another request than resourceURL/ },
    ],
    [
      'a resourceURL outside smsmessaging/v1, which is shown without its sender and its id',
      {
        sent: madeAs(CREATED.replaceAll('/smsmessaging/v1/', '/v9/')),
      },
      {
        'POST a message':
          /(?=.*resourceURL must match pattern).*"resourceURL":"https:\/\/messaging\.example\/v9\/outbound\/\{sender\}\/requests\/\{id\}\/deliveryInfos"/s,
      },
    ],
    [
      'tokens that are no JSON Web Tokens',
      {
        tokens: ok(`{"AccessToken":"${JWT}","RefreshToken":"opaque"}`),
        renewed: ok(`{"AccessToken":"${RENEWED}","RefreshToken":"other"}`),
      },
      {
        'POST /api/login': /^RefreshToken must match pattern/,
        'GET /api/RefreshToken': /^RefreshToken must match/,
      },
    ],
    [
      'a refresh that returns the same pair',
      { renewed: CONFORMING['tokens'] ?? '' },
      { 'GET /api/RefreshToken': /^AccessToken and RefreshToken of the refresh: the same as before; / },
    ],
    [
      'a poll with another sender',
      { 'another sender': ok(INFOS) },
      { 'GET the delivery infos of a request with another sender': /^the status 200 does not belong here/ },
    ],
    [
      'a status that goes back',
      {
        sent: madeAs(CREATED.replace('DeliveredToNetwork', 'DeliveredToTerminal')),
        infos: ok(INFOS.replace('DeliveredToTerminal', 'DeliveredToNetwork')),
      },
      {
        'GET the delivery infos of a request':
          /^the status of a recipient went from DeliveredToTerminal to DeliveredToNetwork; /,
      },
    ],
  ])('%s', async (_violation, responses, expected) => {
    const { failed } = await answering(responses);
    for (const [name, found] of Object.entries(expected))
      expect(failed[name], name).toEqual(typeof found === 'string' ? found : expect.stringMatching(found));
  });

  test('and reports one fault once', async () => {
    const infos = ok(INFOS.replace('tel:+4791', 'tel:4791'));
    const { failed, checks } = await answering({ infos });
    expect(Object.keys(failed)).toEqual(['GET the delivery infos of a request']);
    expect(checks.find(({ name }) => name.includes('below the returned resourceURL'))).toMatchObject({
      result: 'skipped',
      found: expect.stringMatching(/^the same fault as in "GET the delivery infos of a request": /),
    });
  });

  test('and checks the entry of each of several recipients', async () => {
    const to = [TO, '+4791000002'];
    const { failed } = await answering({}, { send: { to, sender: SENDER } });
    expect(failed['POST a message']).toMatch(/^address is not that of the request/);
    const { failed: none, simulator } = await simulated({}, undefined, { send: { to, sender: SENDER } });
    expect(none).toEqual({});
    expect(simulator.summary()).toMatchObject({ requests: 1, recipients: 2 });
    const both = CREATED.replace('["tel:+4791000001"]', '["tel:+4791000001","tel:+4791000002"]');
    const sent = madeAs(both);
    const { failed: missing } = await answering({ sent }, { send: { to, sender: SENDER } });
    expect(missing['POST a message']).toMatch(/^deliveryInfo does not have one entry for each recipient/);
    expect(missing['GET the delivery infos of a request']).toMatch(/^there is no entry for the recipient/);
  });

  test('and never repeats a message that got no response', async () => {
    const { failed, checks } = await answering(
      { sent: RESET },
      { ...ALL, send: { to: TO, sender: SENDER, twice: true } },
    );
    expect(failed['POST a message']).toMatch(/^no response: the connection to .+ was reset/);
    expect(checks.filter(({ name }) => name.startsWith('POST')).at(-1)?.name).toBe('POST a message');
  });

  test('and shows no key, token, number, address, or text', async () => {
    const leaks = `{"message":"${JWT} ${TO} ${HOOK} This is a test of the messaging service."}`;
    const leaking = (status: string): string => reply([`HTTP/1.1 ${status}`, JSON_TYPE], leaks);
    const { checks, ways } = await answering({
      created: leaking('500 Oops'),
      sent: leaking('500 Oops'),
      infos: leaking('200 OK'),
      'the subscription': leaking('200 OK'),
    });
    const shown = JSON.stringify([checks, ways]);
    for (const secret of [JWT, TO, HOOK, 'This is a test']) expect(shown).not.toContain(secret);
  });

  test('and deletes a subscription that it created without being told so', async () => {
    const { failed, checks } = await answering({ created: reply(['HTTP/1.1 201 Created', JSON_TYPE], '{}') });
    expect(Object.keys(failed)).toContain('POST /outbound/subscriptions');
    expect(checks.find(({ name }) => name === 'GET /outbound/subscriptions, deleted')?.result).toBe('passed');
  });
});
