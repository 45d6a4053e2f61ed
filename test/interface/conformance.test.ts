import { describe, expect, test } from 'vitest';
import type { ConformanceOptions } from '../../src/tools/conformance/report.js';
import type { SimulatorOptions } from '../../src/tools/simulator/index.js';
import { startSimulator } from '../scene/closing.js';
import { CONFORMANCE_ROWS } from '../tools/conformance/rows.js';
import { conformanceTests, type Found } from './conformance-run.js';
import { closedPort, rawServer, reply } from './raw-server.js';

const run = conformanceTests('conformance');

const TO = '+4791000001';
const SENDER = 'tel:+4790000001';
const HOOK = 'https://hook.example/notifications';
/** Everything that a test can do. */
const ALL: ConformanceOptions = { send: { to: TO, sender: SENDER }, subscribe: { url: HOOK } };

/** Tests the service at these addresses. */
const tested = (
  {
    messagingBaseUrl,
    accountBaseUrl,
  }: { readonly messagingBaseUrl: string; readonly accountBaseUrl: string },
  env: Readonly<Record<string, string>>,
  options: ConformanceOptions = ALL,
  lanes?: readonly object[],
): Promise<Found> =>
  run({ MESSAGING_BASE_URL: messagingBaseUrl, ACCOUNT_BASE_URL: accountBaseUrl, ...env }, options, lanes);

async function simulated(
  simulatorOptions: SimulatorOptions,
  env: Readonly<Record<string, string>> = { API_KEY: 'k' },
  options?: ConformanceOptions,
  lanes?: readonly object[],
): Promise<Found & { simulator: Awaited<ReturnType<typeof startSimulator>> }> {
  const simulator = await startSimulator({ keys: [{ key: 'k' }, { key: 'other' }], ...simulatorOptions });
  return { ...(await tested(simulator, env, options, lanes)), simulator };
}

const ACCOUNT = { ACCOUNT_USERNAME: 'ann', ACCOUNT_PASSWORD: 'secret' };
const accounts = [{ username: 'ann', password: 'secret' }];
const HEADERS = 'what Authorization and X-Authorization carry';

describe('A conformance test of the simulator', () => {
  test('passes, and shows which ways the simulator takes', async () => {
    const { failed, skipped, ways, simulator } = await simulated({}, undefined, {
      ...ALL,
      send: { to: TO, sender: SENDER, twice: true },
    });
    expect(failed).toEqual({});
    expect(skipped).toEqual(['POST /api/login', 'GET /api/RefreshToken']);
    expect(ways).toEqual({
      [HEADERS]: 'accepts the API key alone',
      'the bodies of errors': '400: JSON with message; 401: JSON with message; 404: JSON with message',
      'one subscription per key, or one for all': null,
      'whether a subscription shows its security token': 'it is shown',
      'the response to a second subscription': '406, JSON with message',
      'the response to a subscription without a key': '401, JSON with message',
      'which fields contain the request id': 'in the body and Location',
      'the address in resourceURL':
        'to https://messaging.example/smsmessaging/v1, not to the base URL of the test',
      'which spellings of the sender the path accepts':
        'percent-encoded, or with : + and punctuation as they are',
      'whether a response repeats the clientCorrelator': 'it repeats that of the request',
      'whether a repeated clientCorrelator sends twice': 'it sends a second message',
      'the Retry-After of a 429': null,
      'headers that name the quota': 'there are none',
      'how a notification differs from a poll': null,
      'where a notification has the security token': null,
      'how long tokens last': null,
    });
    expect(simulator.summary()).toMatchObject({ requests: 2 });
  });

  test('sends and changes nothing unless an option allows it', async () => {
    const { failed, simulator } = await simulated({}, undefined, {});
    expect(failed).toEqual({});
    const kinds = [...simulator.arrivals()].map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['subscription', 'poll']));
    expect(simulator.summary()).toMatchObject({ requests: 0 });
  });

  test.each([
    ['key', { API_KEY: 'k' }, 'accepts the API key alone'],
    ['token', ACCOUNT, 'accepts the access token alone, and the access token in both headers'],
    [
      'both',
      { API_KEY: 'k', ...ACCOUNT, AUTHORIZATION_HEADER: 'apiKey', X_AUTHORIZATION_HEADER: 'accessToken' },
      'accepts the API key with the access token in X-Authorization; refuses the API key alone (401), and the access token alone (401), and the access token in both headers (401)',
    ],
  ] as const)('shows which headers it accepts: %s', async (accepts, env, headers) => {
    const { failed, ways } = await simulated({ accepts, accounts }, env);
    expect(failed).toEqual({});
    expect(ways[HEADERS]).toBe(headers);
    expect(ways['how long tokens last']).toBe(
      accepts === 'key' ? null : 'the access token lasts 15m, the refresh token lasts 30d',
    );
  });

  test.each([
    ['key', 'the lanes one and two have one each'],
    ['client', 'the lanes one and two have the same one'],
  ] as const)('shows whether there is one subscription per %s', async (subscriptionPer, found) => {
    const lanes = [
      { name: 'one', apiKey: 'k' },
      { name: 'two', apiKey: 'other' },
    ];
    const { failed, ways } = await simulated({ subscriptionPer }, {}, { ...ALL, lane: 'one' }, lanes);
    expect(failed).toEqual({});
    expect(ways['one subscription per key, or one for all']).toBe(found);
  });

  test('shows errors of the OneAPI family, a repeated request that is not sent again, and the callback in a 406', async () => {
    const { failed, ways, simulator } = await simulated(
      { errorBody: 'oneApi', deduplicates: true, notAcceptableBody: 'callback', subscriptionWithoutKey: 400 },
      undefined,
      { ...ALL, send: { to: TO, sender: SENDER, twice: true } },
    );
    expect(failed).toEqual({});
    expect(ways).toMatchObject({
      'the bodies of errors':
        '400: OneAPI error (SVC0002); 401: OneAPI error (POL0001); 404: OneAPI error (SVC0002)',
      'whether a repeated clientCorrelator sends twice': 'it returns the first request',
      'the response to a second subscription': '406, the callback that exists',
      'the response to a subscription without a key': '400, OneAPI error (SVC0002)',
    });
    expect(simulator.summary()).toMatchObject({ requests: 1 });
  });

  test.each(['text', 'html', 'none'] as const)('accepts errors of any form: %s', async (errorBody) => {
    expect((await simulated({ errorBody })).failed).toEqual({});
  });

  test('fails if the correlator is omitted, which the documentation says is there', async () => {
    const { failed, ways } = await simulated({ correlatorInReply: 'none' });
    expect(failed).toEqual({
      'POST a message': expect.stringContaining("must have required property 'clientCorrelator'"),
    });
    expect(ways['whether a response repeats the clientCorrelator']).toBe(
      'there is none in the response; the request had none',
    );
  });

  test.each(['interrupted', 'left'] as const)('deletes its subscription if it is %s', async (how) => {
    const { volley, simulator } = await simulated({}, undefined, {});
    const control = new AbortController();
    for await (const result of volley.conformance({ ...ALL, signal: control.signal })) {
      if (result.kind !== 'check' || result.name !== 'POST /outbound/subscriptions') continue;
      expect(result.result).toBe('passed');
      if (how === 'left') break;
      control.abort();
    }
    const response = await fetch(`${simulator.messagingBaseUrl}/outbound/subscriptions`, {
      headers: { authorization: 'Bearer k' },
    });
    expect(response.status).toBe(404);
    expect(simulator.summary().requests).toBe(0);
  });

  test('leaves a subscription alone that exists', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const subscribe = async (): Promise<number> => {
      const response = await fetch(`${simulator.messagingBaseUrl}/outbound/subscriptions`, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
        body: JSON.stringify({ callback: { url: 'https://other.example/', securityToken: 's' } }),
      });
      return response.status;
    };
    expect(await subscribe()).toBe(201);
    const { failed, skipped } = await tested(simulator, { API_KEY: 'k' });
    expect(failed).toEqual({});
    expect(skipped).toContain('POST /outbound/subscriptions');
    expect(await subscribe()).toBe(406);
  });
});

describe('The requests of a conformance test', () => {
  test('take permits of the lane, and stop when its quota is used', async () => {
    const { skipped, checks, simulator, volley } = await simulated(
      { keys: [{ key: 'k', quota: 4 }] },
      { API_KEY: 'k', HOURLY_QUOTA: '4' },
    );
    expect(simulator.summary()).toMatchObject({ throttled: 0 });
    expect(skipped).toContain('POST a message');
    expect(checks.find(({ name }) => name === 'POST a message')?.found).toMatch(/quota/);
    expect(await volley.lanes()).toMatchObject([{ quota: { used: { send: 0, poll: 4 } } }]);
  });

  test('let the lane back off if the service answers 429, whose Retry-After is shown', async () => {
    const { failed, ways, volley } = await simulated({
      keys: [{ key: 'k', quota: 0 }],
      quotaRetryAfter: 'seconds',
    });
    expect(failed).toEqual({});
    expect(ways['the Retry-After of a 429']).toBe('in seconds');
    expect(await volley.lanes()).toMatchObject([{ state: 'backingOff', throttled: 1 }]);
  });

  test('are not sent from a lane that an operator holds', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const { volley } = await tested(simulator, { API_KEY: 'k' }, {});
    await volley.holdLane('default');
    const before = simulator.summary();
    const found: string[] = [];
    for await (const result of volley.conformance(ALL))
      if (result.kind === 'check' && result.name.includes('unknown request')) found.push(result.found);
    expect(new Set(found)).toEqual(new Set(['the lane default is held by an operator']));
    expect(simulator.summary()).toEqual(before);
  });

  test('keep the tokens of another account service apart', async () => {
    const other = await startSimulator({ accounts });
    const { messagingBaseUrl: baseUrl, accountBaseUrl } = other;
    const { failed, checks, volley } = await simulated({}, ACCOUNT, { baseUrl, accountBaseUrl });
    expect(failed).toEqual({});
    expect(checks.find(({ name }) => name === 'POST /api/login')?.result).toBe('passed');
    expect(await volley.token('default')?.show()).toMatchObject({ state: 'none', login: { proven: false } });
  });

  test('are not sent to a suppressed number', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const { volley } = await tested(simulator, { API_KEY: 'k' }, {});
    await volley.suppression.add([TO]);
    const repeated = async (): Promise<void> => {
      for await (const _ of volley.conformance(ALL));
    };
    await expect(repeated()).rejects.toThrow('the number is on a suppression list');
  });
});

describe('The notifications of a conformance test', () => {
  const DIFFERENCE = 'how a notification differs from a poll';
  const PLACE = 'where a notification has the security token';
  const listening = async (simulatorOptions: SimulatorOptions, wait = '10s') => {
    const url = `http://127.0.0.1:${await closedPort()}/in`;
    const to = [TO, '+4791000002'];
    const options = { send: { to, sender: SENDER }, listen: { url, wait } };
    const found = await simulated({ deliveryTime: 50, ...simulatorOptions }, undefined, options);
    return {
      ...found,
      url,
      notified: found.checks.find(({ name }) => name === 'Notifications of the message'),
    };
  };

  test('are recorded and checked while the subscription exists, which is deleted afterwards', async () => {
    const { failed, notified, checks, ways } = await listening({});
    expect(failed).toEqual({});
    expect(notified).toMatchObject({ result: 'passed', found: '4 for 2 recipients' });
    expect(checks.find(({ name }) => name.endsWith('after its notifications'))?.result).toBe('passed');
    expect(checks.find(({ name }) => name === 'GET /outbound/subscriptions, deleted')?.result).toBe('passed');
    expect(ways).toMatchObject({
      [DIFFERENCE]: 'POST, with what a poll returns',
      [PLACE]: 'in the header securitytoken',
    });
  });

  test.each<[string, SimulatorOptions['notifications'], RegExp]>([
    ['lost', { loss: 1 }, /^no notification arrived$/],
    [
      'repeated',
      { duplicates: 1 },
      /^DeliveredToNetwork of a recipient arrived twice; the first came by POST, /,
    ],
  ])('fail if they are %s, and show no secret', async (_fault, notifications, problem) => {
    const { failed, checks, ways, url } = await listening({ notifications }, '1s');
    expect(Object.keys(failed)).toEqual(['Notifications of the message']);
    expect(failed['Notifications of the message']).toMatch(problem);
    for (const secret of [TO, '4790000001', url, 'conformance-'])
      expect(JSON.stringify([checks, ways])).not.toContain(secret);
  });

  test('show where they differ from a poll, and have their token', async () => {
    const { failed, ways } = await listening({
      notifications: { shape: 'unwrapped', securityTokenIn: 'body' },
    });
    expect(failed).toEqual({});
    expect(ways[DIFFERENCE]).toContain('it adds resourceURL; ');
    expect(ways[DIFFERENCE]).toContain('it adds securityToken; ');
    expect(ways[PLACE]).toBe('in the body');
  });

  test('need an http address of this machine, and a message', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }] });
    const send = { to: TO, sender: SENDER };
    await expect(
      tested(simulator, { API_KEY: 'k' }, { send, listen: { url: 'https://a.example/' } }),
    ).rejects.toThrow('`listen` must be an http address on this machine');
    await expect(
      tested(simulator, { API_KEY: 'k' }, { listen: { url: 'http://127.0.0.1:9/' } }),
    ).rejects.toThrow('send one with it');
    expect(simulator.summary().arrivals).toBe(0);
  });
});

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
const JWT = 'eyJhbGciOiJub25lIn0.eyJpYXQiOjE3MDAwMDAwMDAsImV4cCI6MTcwMDAwMDkwMH0.c2ln';

/** After a refresh. It begins like the first one. */
const RENEWED = `${JWT}Mg`;

/** Instead of a response. */
const RESET = 'reset';
const CONFORMING: Responses = {
  'no subscription': reply(['HTTP/1.1 404 Not Found']),
  'the subscription': reply(
    ['HTTP/1.1 200 OK', JSON_TYPE],
    '{"callback":{"url":"<URL>","securityToken":"<TOKEN>"}}',
  ),
  'without a callback': reply(['HTTP/1.1 400 Bad Request']),
  created: reply(
    ['HTTP/1.1 201 Created', JSON_TYPE],
    '{"callback":{"url":"<URL>","securityToken":"<TOKEN>"}}',
  ),
  'a second': reply(['HTTP/1.1 406 Not Acceptable']),
  deleted: 'HTTP/1.1 204 No Content\r\n\r\n',
  'without a key': reply(['HTTP/1.1 401 Unauthorized']),
  'no such message': reply(['HTTP/1.1 404 Not Found']),
  infos: reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS),
  sent: reply(['HTTP/1.1 201 Created', JSON_TYPE, LOCATION], CREATED),
  tokens: reply(['HTTP/1.1 200 OK', JSON_TYPE], `{"AccessToken":"${JWT}","RefreshToken":"${JWT}"}`),
  renewed: reply(['HTTP/1.1 200 OK', JSON_TYPE], `{"AccessToken":"${RENEWED}","RefreshToken":"${RENEWED}"}`),
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
        'no such message': reply(
          ['HTTP/1.1 200 OK', JSON_TYPE],
          '{"deliveryInfoList":{"resourceURL":"https://a.example/","deliveryInfo":[]}}',
        ),
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
      { deleted: reply(['HTTP/1.1 200 OK', JSON_TYPE], '{}') },
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
      { infos: reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS.replace('DeliveredToTerminal', 'Delivered')) },
      {
        'GET the delivery infos of a request':
          /deliveryStatus must be one of DeliveredToNetwork, DeliveredToTerminal, DeliveryImpossible; .*"deliveryStatus":"Delivered"/,
      },
    ],
    [
      'an address without its plus',
      { infos: reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS.replace('tel:+4791', 'tel:4791')) },
      {
        'GET the delivery infos of a request':
          /^deliveryInfoList\.deliveryInfo\.0\.address must match pattern/,
      },
    ],
    [
      'no entry for the recipient',
      { infos: reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS.replace('tel:+4791000001', 'tel:+4791000002')) },
      { 'GET the delivery infos of a request': /^there is no entry for the recipient/ },
    ],
    [
      'another text than was sent',
      { sent: reply(['HTTP/1.1 201 Created', JSON_TYPE, LOCATION], CREATED.replace('This is', 'That is')) },
      { 'POST a message': /^message is not that of the request/ },
    ],
    [
      'two ids',
      { sent: reply(['HTTP/1.1 201 Created', JSON_TYPE, LOCATION.replace(/7$/, '8')], CREATED) },
      { 'POST a message': /^Location names another request than resourceURL/ },
    ],
    [
      'a resourceURL outside smsmessaging/v1',
      {
        sent: reply(
          ['HTTP/1.1 201 Created', JSON_TYPE, LOCATION],
          CREATED.replaceAll('/smsmessaging/v1/', '/v9/'),
        ),
      },
      { 'POST a message': /resourceURL must match pattern/ },
    ],
    [
      'tokens that are no JSON Web Tokens',
      {
        tokens: reply(['HTTP/1.1 200 OK', JSON_TYPE], `{"AccessToken":"${JWT}","RefreshToken":"opaque"}`),
        renewed: reply(['HTTP/1.1 200 OK', JSON_TYPE], `{"AccessToken":"${RENEWED}","RefreshToken":"other"}`),
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
      { 'another sender': reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS) },
      { 'GET the delivery infos of a request with another sender': /^the status 200 does not belong here/ },
    ],
    [
      'a status that goes back',
      {
        sent: reply(
          ['HTTP/1.1 201 Created', JSON_TYPE, LOCATION],
          CREATED.replace('DeliveredToNetwork', 'DeliveredToTerminal'),
        ),
        infos: reply(
          ['HTTP/1.1 200 OK', JSON_TYPE],
          INFOS.replace('DeliveredToTerminal', 'DeliveredToNetwork'),
        ),
      },
      {
        'GET the delivery infos of a request':
          /^the status of a recipient went from DeliveredToTerminal to DeliveredToNetwork; /,
      },
    ],
    [
      'a resourceURL that leads elsewhere, without its sender and its id',
      {
        sent: reply(
          ['HTTP/1.1 201 Created', JSON_TYPE, LOCATION],
          CREATED.replaceAll('/smsmessaging/v1/', '/v9/'),
        ),
      },
      {
        'POST a message':
          /"resourceURL":"https:\/\/messaging\.example\/v9\/outbound\/\{sender\}\/requests\/\{id\}\/deliveryInfos"/,
      },
    ],
  ])('%s', async (_violation, responses, expected) => {
    const { failed } = await answering(responses);
    for (const [name, found] of Object.entries(expected))
      expect(failed[name], name).toEqual(typeof found === 'string' ? found : expect.stringMatching(found));
  });

  test('and reports one fault once', async () => {
    const infos = reply(['HTTP/1.1 200 OK', JSON_TYPE], INFOS.replace('tel:+4791', 'tel:4791'));
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
    const sent = reply(['HTTP/1.1 201 Created', JSON_TYPE, LOCATION], both);
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
