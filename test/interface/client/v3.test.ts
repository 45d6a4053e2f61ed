import { describe, expect, it, onTestFinished } from 'vitest';
import { PROFILES } from '../../../src/base/profiles/index.js';
import { createClientTokens } from '../../../src/service/client/client-tokens.js';
import { createMessagingClient, type SendRequest } from '../../../src/service/client/messaging.js';
import { reportsIn } from '../../../src/service/client/notification.js';
import { listCarriesToken } from '../../../src/service/client/notification-token.js';
import { createSubscriptionClient } from '../../../src/service/client/subscriptions.js';
import { type Answer, PERMIT, partsOf, rawServer, reply } from '../raw-server.js';

const { v1, v3 } = PROFILES;
const JSON_TYPE = 'Content-Type: application/json';
const CREATED = ['HTTP/1.1 201 Created', JSON_TYPE];
const OK = ['HTTP/1.1 200 OK', JSON_TYPE];
const BAD_REQUEST = ['HTTP/1.1 400 Bad Request', JSON_TYPE];

/** Written by hand: the response of version 3 to a send. */
const SENT = `{"outboundSMSMessageRequest": {
  "address": ["tel:+358401234567"],
  "deliveryInfoList": {
    "deliveryInfo": [{"address": "tel:+358401234567", "deliveryStatus": "MessageAccepted", "deliveryStatusCode": 12,
      "callbackData": "c1-0-1"}],
    "resourceURL": "https://api.example/sms/v3/outbound/ACME/requests/r-1/deliveryInfos"
  },
  "senderAddress": "ACME",
  "outboundSMSTextMessage": {"message": "Hello"},
  "clientCorrelator": "c1-0-1",
  "callbackData": "c1-0-1",
  "resourceURL": "https://api.example/sms/v3/outbound/ACME/requests/r-1"
}}`;

/** Written by hand: delivery infos with every status of version 3, and one that it does not list. */
const INFOS = `{"deliveryInfoList": {
  "resourceURL": "https://api.example/sms/v3/outbound/ACME/requests/r-1/deliveryInfos",
  "smsParts": 2,
  "deliveryInfo": [
    {"address": "tel:+358401000001", "deliveryStatus": "MessageAccepted", "deliveryStatusCode": 12},
    {"address": "tel:+358401000002", "deliveryStatus": "DeliveredToNetwork", "deliveryStatusCode": 6},
    {"address": "tel:+358401000003", "deliveryStatus": "PartiallyDelivered", "deliveryStatusCode": 13,
     "smsPartsDeliveredToTerminal": 1, "smsPartsUndeliverable": 0, "smsPartsUncertain": 0},
    {"address": "tel:+358401000004", "deliveryStatus": "DeliveredToTerminal", "deliveryStatusCode": 2},
    {"address": "tel:+358401000005", "deliveryStatus": "DeliveryUncertain", "deliveryStatusCode": 7},
    {"address": "tel:+358401000006", "deliveryStatus": "DeliveryImpossible", "deliveryStatusCode": 3},
    {"address": "tel:+358401000007", "deliveryStatus": "InvalidSrcAddress", "deliveryStatusCode": 10},
    {"address": "tel:+358401000008", "deliveryStatus": "InvalidDestAddress", "deliveryStatusCode": 11},
    {"address": "tel:+358401000009", "deliveryStatus": "toString", "deliveryStatusCode": 99}
  ]
}}`;

/** Written by hand: a notification of version 3. */
const NOTIFICATION = {
  deliveryInfoList: {
    securityToken: 'a-token-of-some-length',
    resourceURL: 'https://api.example/sms/v3/outbound/ACME/requests/r-1/deliveryInfos',
    smsParts: 1,
    deliveryInfo: [
      {
        address: 'tel:+358401234567',
        deliveryStatus: 'InvalidDestAddress',
        deliveryStatusCode: 11,
        callbackData: 'c1-0-1',
      },
    ],
  },
};

const REQUEST: SendRequest = {
  sender: 'ACME',
  recipients: ['+358401234567'],
  text: 'Hello',
  clientCorrelator: 'c1-0-1',
  callbackData: 'c1-0-1',
};

async function clientOf(answer: Answer, profile = v3) {
  const server = await rawServer(answer);
  const client = createMessagingClient({ baseUrl: `${server.origin}/sms/v3`, timeoutMs: 10_000, profile });
  onTestFinished(() => client.close());
  return { server, client };
}

async function sent(answer: Answer, request = REQUEST, profile = v3) {
  const { server, client } = await clientOf(answer, profile);
  return { server, outcome: await client.send(request, { authorization: 'TOKEN' }, PERMIT) };
}

describe('A token for an OAuth 2 client', () => {
  const got = async (answer: Answer, secret = 'a b&c+é') => {
    const server = await rawServer(answer);
    const tokens = createClientTokens({ url: `${server.origin}/realms/r/token`, timeoutMs: 10_000 });
    onTestFinished(() => tokens.close());
    return { server, outcome: await tokens.get({ id: 'id-1', secret, scope: 'sms sms-a2p-marketing' }) };
  };

  it('is requested with a form', async () => {
    const { server, outcome } = await got(
      reply(OK, '{"access_token":"opaque-1","token_type":"Bearer","expires_in":300,"scope":"sms"}'),
    );
    const { line, headers, body } = partsOf(server.requests[0] ?? '');
    expect(line).toBe('POST /realms/r/token HTTP/1.1');
    expect(headers).toContain('content-type: application/x-www-form-urlencoded');
    expect(headers.join('\n')).not.toMatch(/authorization/i);
    expect(body).toBe(
      'grant_type=client_credentials&client_id=id-1&client_secret=a+b%26c%2B%C3%A9&scope=sms+sms-a2p-marketing',
    );
    expect(outcome).toEqual({
      kind: 'pair',
      accessToken: 'opaque-1',
      refreshToken: '',
      lifetimeMs: 300_000,
    });
  });

  it.each([
    ['"3600"', 3_600_000],
    ['3600.5', 3_600_500],
    ['7776000', 7_776_000_000],
    ['86400000', 86_400_000],
    ['-1', undefined],
    ['0', undefined],
    ['"soon"', undefined],
    ['null', undefined],
  ])('states its lifetime as %s', async (seconds, lifetimeMs) => {
    const { outcome } = await got(
      reply(OK, `{"access_token":"t","token_type":"bearer","expires_in":${seconds}}`),
    );
    const lifetime = lifetimeMs === undefined ? {} : { lifetimeMs };
    expect(outcome).toEqual({ kind: 'pair', accessToken: 't', refreshToken: '', ...lifetime });
  });

  it('may state no lifetime', async () => {
    const { outcome } = await got(reply(OK, '{"access_token":"t","token_type":"bearer"}'));
    expect(outcome).toEqual({ kind: 'pair', accessToken: 't', refreshToken: '' });
  });

  it.each([
    ['HTTP/1.1 401 Unauthorized', '{"error":"invalid_client","error_description":"Invalid client secret"}'],
    ['HTTP/1.1 400 Bad Request', '{"error":"invalid_scope"}'],
  ])('is refused with %s, which the reason quotes', async (status, body) => {
    const { outcome } = await got(reply([status, JSON_TYPE], body));
    const { error } = JSON.parse(body) as { error: string };
    expect(outcome).toEqual({ kind: 'refused', reason: expect.stringContaining(error) });
  });

  it.each([
    ['a 503', reply(['HTTP/1.1 503 Service Unavailable'])],
    ['a 429', reply(['HTTP/1.1 429 Too Many Requests'])],
    ['a 200 without a token', reply(OK, '{"token_type":"bearer"}')],
    ['a token of another type', reply(OK, '{"access_token":"t","token_type":"mac"}')],
    ['a token that cannot be a header value', reply(OK, '{"access_token":"a\\nb","token_type":"bearer"}')],
  ])('treats %s as no answer', async (_what, answer) => {
    expect((await got(answer)).outcome.kind).toBe('noAnswer');
  });

  it('never shows up in a reason, and neither does the secret', async () => {
    const body = '{"error":"invalid_client","error_description":"no client with secret hunter2222"}';
    const { outcome } = await got(reply(BAD_REQUEST, body), 'hunter2222');
    expect(JSON.stringify(outcome)).not.toContain('hunter2222');
  });
});

describe('A send with profile v3', () => {
  it('carries the reference of its batch twice, and reads MessageAccepted as open', async () => {
    const { server, outcome } = await sent(reply(CREATED, SENT));
    const { line, headers, body } = partsOf(server.requests[0] ?? '');
    expect(line).toBe('POST /sms/v3/outbound/ACME/requests HTTP/1.1');
    expect(headers).toContain('authorization: Bearer TOKEN');
    expect(JSON.parse(body)).toEqual({
      outboundSMSMessageRequest: {
        address: ['tel:+358401234567'],
        senderAddress: 'ACME',
        outboundSMSTextMessage: { message: 'Hello' },
        clientCorrelator: 'c1-0-1',
        callbackData: 'c1-0-1',
      },
    });
    expect(outcome).toEqual({
      kind: 'accepted',
      requestId: 'r-1',
      statuses: new Map([['+358401234567', 'DeliveredToNetwork']]),
      words: new Map([['+358401234567', { word: 'MessageAccepted', code: '12' }]]),
    });
  });

  it('to one recipient is refused by a 400', async () => {
    const { outcome } = await sent(reply(BAD_REQUEST, '{"code":"X","description":"delivery impossible"}'));
    expect(outcome).toEqual({ kind: 'refused', reason: expect.stringContaining('delivery impossible') });
  });

  it('to several recipients is unknown for good after a 400, which may be about one of them alone', async () => {
    const several = { ...REQUEST, recipients: ['+358401234567', '+358409876543'] };
    const { outcome } = await sent(reply(BAD_REQUEST), several);
    expect(outcome).toEqual({ kind: 'unknown', reason: expect.stringContaining('400'), isFinal: true });
    expect((await sent(reply(BAD_REQUEST), several, v1)).outcome.kind).toBe('refused');
  });

  it.each([
    ['a 500', reply(['HTTP/1.1 500 Internal Server Error', JSON_TYPE], '{"code":"X"}')],
    ['a 503', reply(['HTTP/1.1 503 Service Unavailable'])],
    ['a lost connection', (socket) => socket.destroy()],
  ] as [string, Answer][])('stays unknown after %s, and may be repeated', async (_what, answer) => {
    const { outcome } = await sent(answer);
    expect(outcome).toMatchObject({ kind: 'unknown', reason: expect.any(String) });
    expect(outcome).not.toHaveProperty('isFinal');
  });
});

/** What the words and codes of the infos say beyond their meaning. */
const WORDS = new Map(
  [
    ['+358401000001', 'MessageAccepted', '12'],
    ['+358401000003', 'PartiallyDelivered', '13'],
    ['+358401000005', 'DeliveryUncertain', '7'],
    ['+358401000006', 'DeliveryImpossible', '3'],
    ['+358401000007', 'InvalidSrcAddress', '10'],
    ['+358401000008', 'InvalidDestAddress', '11'],
    ['+358401000009', 'toString', '99'],
  ].map(([number, word, code]) => [number, { word, code }]),
);

describe('Delivery infos with profile v3', () => {
  const polled = async (profile: typeof v1) => {
    const { client } = await clientOf(reply(OK, INFOS), profile);
    return client.deliveryInfos('ACME', 'r-1', { authorization: 'TOKEN' }, PERMIT);
  };

  it('have eight statuses in four classes; any other is not final', async () => {
    expect(await polled(v3)).toEqual({
      kind: 'infos',
      statuses: new Map([
        ['+358401000001', 'DeliveredToNetwork'],
        ['+358401000002', 'DeliveredToNetwork'],
        ['+358401000003', 'DeliveredToNetwork'],
        ['+358401000004', 'DeliveredToTerminal'],
        ['+358401000005', 'DeliveryUncertain'],
        ['+358401000006', 'DeliveryImpossible'],
        ['+358401000007', 'DeliveryImpossible'],
        ['+358401000008', 'DeliveryImpossible'],
      ]),
      unlisted: ['toString'],
      words: WORDS,
    });
  });

  it('have three statuses with profile v1', async () => {
    expect(await polled(v1)).toEqual({
      kind: 'infos',
      statuses: new Map([
        ['+358401000002', 'DeliveredToNetwork'],
        ['+358401000004', 'DeliveredToTerminal'],
        ['+358401000006', 'DeliveryImpossible'],
      ]),
      unlisted: [
        'MessageAccepted',
        'PartiallyDelivered',
        'DeliveryUncertain',
        'InvalidSrcAddress',
        'InvalidDestAddress',
        'toString',
      ],
      words: WORDS,
    });
  });
});

describe('A notification with profile v3', () => {
  it('names its batch, and has the words of the profile', () => {
    expect(reportsIn(NOTIFICATION, v3)).toEqual([
      {
        requestId: 'r-1',
        sender: 'ACME',
        correlator: 'c1-0-1',
        number: '+358401234567',
        status: 'DeliveryImpossible',
        word: { word: 'InvalidDestAddress', code: '11' },
      },
    ]);
    // Version 1 does not list it, so it is not final.
    expect(reportsIn(NOTIFICATION, v1)).toMatchObject([
      { status: 'DeliveredToNetwork', word: { word: 'InvalidDestAddress', code: '11' } },
    ]);
  });

  it('proves itself with the token inside the list, and nowhere else', () => {
    const tokens = ['another-token-of-it', 'a-token-of-some-length'];
    expect(listCarriesToken(NOTIFICATION, tokens)).toBe(true);
    expect(listCarriesToken(NOTIFICATION.deliveryInfoList, tokens)).toBe(true);
    const { securityToken, ...list } = NOTIFICATION.deliveryInfoList;
    const [info] = list.deliveryInfo;
    for (const forged of [
      { deliveryInfoList: list, securityToken },
      { deliveryInfoList: { ...list, securityToken: 'a-token-of-some-lengtH' } },
      { deliveryInfoList: { ...list, deliveryInfo: [{ ...info, securityToken }] } },
      { deliveryInfoList: { ...list, securityToken: [securityToken] } },
      null,
    ]) {
      expect(listCarriesToken(forged, tokens)).toBe(false);
    }
  });
});

describe('A subscription with profile v3', () => {
  const created = async (body: string, profile: typeof v1) => {
    const server = await rawServer(reply(['HTTP/1.1 406 Not Acceptable', JSON_TYPE], body));
    const client = createSubscriptionClient({ baseUrl: server.origin, timeoutMs: 10_000, profile });
    onTestFinished(() => client.close());
    return client.create({ url: 'http://a.example', securityToken: 's' }, { authorization: 'TOKEN' });
  };
  const NOT_HTTPS = '{"code":"NOT_HTTPS","description":"use https"}';

  it('says what to do about a code that the profile documents', async () => {
    const { reason } = (await created(NOT_HTTPS, v3)) as { reason: string };
    expect(reason).toMatch(/406.*the address must be https; check CALLBACK_URL\./);
  });

  it.each([
    ['another code', '{"code":"constructor","description":"d"}', v3],
    ['profile v1', NOT_HTTPS, v1],
  ])('names no cause of a 406 with %s, and quotes the service', async (_what, body, profile) => {
    const { reason } = (await created(body, profile)) as { reason: string };
    expect(reason).toMatch(/; the cause is not documented\. The service says: /);
    expect(reason).not.toMatch(/one can exist|exists already/);
  });
});
