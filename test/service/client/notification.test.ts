import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { reportsIn } from '../../../src/service/client/notification.js';
import { carriesToken, type IncomingNotification } from '../../../src/service/client/notification-token.js';
import { jsonOf } from '../../../src/service/client/read-response.js';
import { codePoint } from '../../base/code-point.js';

/** Written by hand from the interface page: "the same delivery information that the get-delivery-infos operation returns". */
const LIST = `{"deliveryInfoList": {
  "resourceURL": "https://messaging.example/smsmessaging/v1/outbound/tel%3A%2B358501112222/requests/b2c3-d4/deliveryInfos",
  "deliveryInfo": [
    {"address": "tel:+358401234567", "deliveryStatus": "DeliveredToTerminal"},
    {"address": "tel:+358409876543", "deliveryStatus": "DeliveryImpossible"}
  ]
}}`;

const URL_OF = 'https://messaging.example/smsmessaging/v1/outbound/ACME/requests/b2c3-d4';
const ONE = { address: 'tel:+358401234567', deliveryStatus: 'DeliveredToTerminal' };
const REPORT = {
  requestId: 'b2c3-d4',
  sender: 'ACME',
  correlator: null,
  number: '+358401234567',
  status: 'DeliveredToTerminal',
};

describe('reportsIn reads a notification', () => {
  it('with the delivery information that a poll returns', () => {
    expect(reportsIn(jsonOf(LIST))).toEqual([
      { ...REPORT, sender: '+358501112222' },
      { ...REPORT, sender: '+358501112222', number: '+358409876543', status: 'DeliveryImpossible' },
    ]);
  });

  it.each<[string, unknown, object?]>([
    ['without its wrapper', { resourceURL: `${URL_OF}/deliveryInfos`, deliveryInfo: [ONE] }],
    [
      'with one delivery information outside a list',
      { deliveryInfoList: { resourceURL: URL_OF, deliveryInfo: ONE } },
    ],
    [
      'in a deliveryInfoNotification with the request’s callbackData',
      { deliveryInfoNotification: { callbackData: 'c-1', deliveryInfo: ONE, resourceURL: URL_OF } },
      { correlator: 'c-1' },
    ],
    [
      'with a link to the request, as in related interfaces',
      {
        deliveryInfoNotification: {
          deliveryInfo: ONE,
          link: [{ rel: 'OutboundMessageRequest', href: URL_OF }],
        },
      },
    ],
    [
      'nested in an OutboundRequest',
      {
        outboundSMSMessageRequest: {
          address: ['tel:+358401234567'],
          clientCorrelator: 'c-1',
          deliveryInfoList: { deliveryInfo: [ONE] },
          senderAddress: 'tel:+358501112222',
          resourceURL: URL_OF,
        },
      },
      { correlator: 'c-1', sender: '+358501112222' },
    ],
    ['in a list of several', [{ deliveryInfoList: { resourceURL: URL_OF, deliveryInfo: [ONE] } }]],
    ['with a bare delivery information', { ...ONE, resourceURL: URL_OF }],
    ['with the request id in its own field', { ...ONE, requestId: 'b2c3-d4' }, { sender: null }],
    [
      'with the request id in each delivery information',
      { deliveryInfoList: { deliveryInfo: [{ ...ONE, requestId: 'b2c3-d4' }] } },
      { sender: null },
    ],
    ['with a request id that is a number', { ...ONE, requestId: 77 }, { sender: null, requestId: '77' }],
    [
      'with a number without `tel:`',
      { deliveryInfoList: { resourceURL: URL_OF, deliveryInfo: [{ ...ONE, address: '+358401234567' }] } },
    ],
    [
      'with the address as a list of one',
      { deliveryInfoList: { resourceURL: URL_OF, deliveryInfo: [{ ...ONE, address: [ONE.address] }] } },
    ],
    [
      'with field names in another case',
      {
        DeliveryInfoList: {
          ResourceUrl: URL_OF,
          DeliveryInfo: [{ Address: ONE.address, DeliveryStatus: ONE.deliveryStatus }],
        },
      },
    ],
    ['that does not name its request', { deliveryInfo: ONE }, { requestId: null, sender: null }],
  ])('%s', (_, document, change = {}) => {
    expect(reportsIn(document)).toEqual([{ ...REPORT, ...change }]);
  });

  it('with a list that has invalid entries', () => {
    const list = [
      null,
      { address: 'nobody', deliveryStatus: 'DeliveredToTerminal' },
      ONE,
      'x',
      { address: 7 },
    ];
    expect(reportsIn({ deliveryInfoList: { resourceURL: URL_OF, deliveryInfo: list } })).toEqual([REPORT]);
  });

  it('with an unlisted status, which is not final, and its word', () => {
    expect(reportsIn({ deliveryInfo: { ...ONE, deliveryStatus: 'MessageWaiting' } })).toMatchObject([
      { status: 'DeliveredToNetwork', word: { word: 'MessageWaiting', code: '' } },
    ]);
  });

  it('without an entry, which yields no report', () => {
    expect(reportsIn({ deliveryInfoList: { deliveryInfo: [] } })).toEqual([]);
  });

  it.each(['', '{', 'null', '[]', '{}', '"x"', '{"deliveryInfo":{"address":"tel:+358401234567"}}'])(
    'except for %j, which is not a notification',
    (body) => {
      expect(reportsIn(jsonOf(body))).toBeNull();
    },
  );
});

const TOKEN = 'a-token-of-some-length';
const incoming = (change: Partial<IncomingNotification> & { body?: string }): IncomingNotification => {
  const body = change.body ?? LIST;
  return { headers: {}, query: '', body, document: jsonOf(body), ...change };
};
const signature = (hash: string, encoding: 'hex' | 'base64') =>
  createHmac(hash, TOKEN).update(LIST).digest(encoding);

describe('carriesToken', () => {
  it.each<[string, Partial<IncomingNotification>]>([
    ['as a bearer token', { headers: { authorization: `Bearer ${TOKEN}` } }],
    ['alone in Authorization', { headers: { authorization: TOKEN } }],
    ['as the password of Basic', { headers: { authorization: `Basic ${btoa(`volley:${TOKEN}`)}` } }],
    ['as the user of Basic', { headers: { authorization: `Basic ${btoa(`${TOKEN}:`)}` } }],
    ['in its own header', { headers: { 'x-security-token': TOKEN } }],
    ['in a repeated header', { headers: { 'set-cookie': ['x', TOKEN] } }],
    ['in the query', { query: `a=b&securityToken=${TOKEN}` }],
    ['in the body', { body: `{"securityToken":"${TOKEN}","deliveryInfo":[]}` }],
    ['deep in the body', { body: `{"deliveryInfoNotification":{"callback":{"securityToken":"${TOKEN}"}}}` }],
    ['as a signature in hex', { headers: { 'x-signature': signature('sha256', 'hex') } }],
    [
      'as a signature with the name of its hash',
      { headers: { 'x-hub-signature-256': `sha256=${signature('sha256', 'hex')}` } },
    ],
    ['as a signature in base64', { headers: { 'x-signature': signature('sha1', 'base64') } }],
    ['as a longer signature', { headers: { 'x-signature': `sha512=${signature('sha512', 'base64')}` } }],
  ])('finds the security token %s', (_, change) => {
    expect(carriesToken(incoming(change), ['another-token-of-a-lane', TOKEN])).toBe(true);
    expect(carriesToken(incoming(change), ['b-token-of-some-length'])).toBe(false);
  });

  it('finds the security token in a query with unencoded plus signs', () => {
    const token = 'k+3/token+of+base64==';
    expect(carriesToken(incoming({ query: `securityToken=${token}` }), [token])).toBe(true);
    expect(carriesToken(incoming({ query: `securityToken=${encodeURIComponent(token)}` }), [token])).toBe(
      true,
    );
  });

  it('does not accept a signature of another body', () => {
    const headers = { 'x-signature': signature('sha256', 'hex') };
    expect(carriesToken(incoming({ headers, body: `${LIST} ` }), [TOKEN])).toBe(false);
  });
});

const text = fc.oneof(fc.string(), fc.string({ unit: codePoint }), fc.constant(TOKEN.slice(1)));
const anyDocument = fc.oneof(
  fc.json(),
  fc.string(),
  fc
    .jsonValue()
    .map((inner) => JSON.stringify({ deliveryInfoList: { deliveryInfo: inner, resourceURL: URL_OF } })),
  fc
    .array(
      fc.record(
        {
          address: fc.oneof(text, fc.stringMatching(/^(?:tel:)?\+\d{1,17}$/)),
          deliveryStatus: fc.oneof(
            text,
            fc.constantFrom('DeliveredToTerminal', 'DeliveryImpossible', 'Lost'),
          ),
          requestId: text,
          resourceURL: text,
          senderAddress: text,
        },
        { requiredKeys: [] },
      ),
    )
    .map((list) => JSON.stringify({ deliveryInfo: list })),
);

test('reading any body never throws and yields only valid reports', () => {
  let read = 0;
  fc.assert(
    fc.property(anyDocument, (body) => {
      const reports = reportsIn(jsonOf(body));
      read += reports?.length ?? 0;
      for (const { requestId, sender, number, status } of reports ?? []) {
        expect(number).toMatch(/^\+[1-9]\d{3,14}$/);
        expect(['DeliveredToNetwork', 'DeliveredToTerminal', 'DeliveryImpossible']).toContain(status);
        if (requestId !== null) expect(() => encodeURIComponent(requestId)).not.toThrow();
        if (sender !== null) expect(() => encodeURIComponent(sender)).not.toThrow();
      }
    }),
    { numRuns: 2_000 },
  );
  expect(read).toBeGreaterThan(0);
});

test('overlong texts are ignored, because a part cut from them would keep all of them in memory', () => {
  const long = 'a'.repeat(10_000);
  const of = (change: object) => reportsIn({ ...ONE, ...change })?.[0];
  expect(of({ resourceURL: `https://a.example/${long}/requests/0123456789abcdef` })?.requestId).toBeNull();
  expect(
    of({ link: [{ href: `https://a.example/${long}/requests/0123456789abcdef` }] })?.requestId,
  ).toBeNull();
  expect(of({ address: `tel:+358401234567;${long}` })).toBeUndefined();
  expect(of({ requestId: `${' '.repeat(10_000)}0123456789abcdef` })?.requestId).toBeNull();
});

test('a sender that is overlong or cannot be stored is cut or replaced', () => {
  const senderOf = (senderAddress: string) => reportsIn({ ...ONE, senderAddress })?.[0]?.sender;
  // Redis cannot parse JSON with a lone surrogate: all reports settled with it would be lost.
  expect(senderOf('tel:AC\ud83dME')).toBe('AC\ufffdME');
  expect(senderOf('x'.repeat(1_000))).toBe('x'.repeat(100));
  expect(senderOf('x'.repeat(1_000_000))).toBeNull();
  expect(senderOf('tel:+358401234567')).toBe('+358401234567');
});

test('a deeply nested or very long notification is read within bounds', () => {
  const deep = `${'{"deliveryInfo":'.repeat(5_000)}${JSON.stringify(ONE)}${'}'.repeat(5_000)}`;
  expect(reportsIn(jsonOf(deep))).toBeNull();
  expect(carriesToken(incoming({ body: deep }), [TOKEN])).toBe(false);
  expect(reportsIn({ deliveryInfo: Array.from({ length: 20_000 }, () => ONE) })).toHaveLength(5_000);
});

test('a notification is read up to a number of objects and addresses, so that none takes long', () => {
  const others = (count: number) => Array.from({ length: count }, () => ({}));
  expect(reportsIn({ deliveryInfo: [...others(10_000), ONE] })).toHaveLength(1);
  expect(reportsIn({ deliveryInfo: [...others(20_000), ONE] })).toBeNull();
  const address = Array.from({ length: 20_000 }, () => 'nobody');
  expect(reportsIn({ deliveryInfo: [{ ...ONE, address }, ONE] })).toEqual([]);
});

test('a forged notification never passes', () => {
  const forged = fc.record({
    headers: fc.dictionary(
      fc.constantFrom('authorization', 'x-token', 'securitytoken', 'x-signature', 'cookie'),
      fc.oneof(
        text,
        text.map((secret) => `Bearer ${secret}`),
        text.map((secret) => `Basic ${Buffer.from(`volley:${secret}`).toString('base64')}`),
        fc.string({ minLength: 64, maxLength: 64, unit: fc.constantFrom(...'0123456789abcdef') }),
      ),
    ),
    query: fc.oneof(
      text,
      text.map((secret) => `securityToken=${encodeURIComponent(Buffer.from(secret).toString('base64'))}`),
    ),
    body: anyDocument,
  });
  fc.assert(
    fc.property(forged, ({ headers, query, body }) => {
      fc.pre(!JSON.stringify([headers, query, body]).includes(TOKEN));
      expect(carriesToken({ headers, query, body, document: jsonOf(body) }, [TOKEN])).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});
