import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Simulator } from '../../../src/tools/simulator/index.js';
import { SOON } from '../../base/soon.js';
import { startSimulator } from '../../scene/closing.js';
import { jsonOf, reply } from '../../tools/simulator/raw-http.js';

const TO = { address: 'tel:+4791000001', deliveryStatus: 'DeliveredToTerminal' };

let simulator: Simulator;
let origin: string;
let received: {
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: { deliveryInfoList: { deliveryInfo: { address: string; deliveryStatus: string }[] } };
}[];
let callback: string;
const receiver = createServer((request, response) => {
  let body = '';
  request.on('data', (part) => {
    body += part;
  });
  request.on('end', () => {
    received.push({ url: request.url, headers: request.headers, body: JSON.parse(body) });
    response.writeHead(500).end();
  });
});

beforeEach(async () => {
  received = [];
  simulator = await startSimulator({
    allowedHosts: ['messaging.example'],
    keys: [{ key: 'key-of-acme' }],
    deliveryTime: 30,
  });
  origin = simulator.accountBaseUrl;
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  callback = `{"callback":{"url":"http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in","securityToken":"s3cret"}}`;
});
afterEach(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

const infosReceived = () => received.flatMap(({ body }) => body.deliveryInfoList.deliveryInfo);

const ask = (method: string) => `${method} /smsmessaging/v1/outbound/subscriptions HTTP/1.1
Host: messaging.example
Authorization: Bearer key-of-acme

`;
const create = (body: string) => `POST /smsmessaging/v1/outbound/subscriptions HTTP/1.1
Host: messaging.example
Authorization: Bearer key-of-acme
Content-Type: application/json
Content-Length: *

${body}
`;
const send = (text: string) => `POST /smsmessaging/v1/outbound/ACME/requests HTTP/1.1
Host: messaging.example
Authorization: Bearer key-of-acme
Content-Type: application/json
Content-Length: *

{"outboundSMSMessageRequest":{"address":["tel:+4791000001"],"senderAddress":"ACME","outboundSMSTextMessage":{"message":"${text}"},"senderName":"ACME"}}
`;

it('creates, shows, and deletes the one subscription', async () => {
  expect((await reply(origin, ask('GET'))).statusLine).toBe('HTTP/1.1 404 Not Found');
  const created = await reply(origin, create(callback));
  expect(created.statusLine).toBe('HTTP/1.1 201 Created');
  expect(jsonOf(created)).toEqual(JSON.parse(callback));
  expect((await reply(origin, create(callback))).statusLine).toBe('HTTP/1.1 406 Not Acceptable');
  expect(jsonOf(await reply(origin, ask('GET')))).toEqual(JSON.parse(callback));
  const deleted = await reply(origin, ask('DELETE'));
  expect([deleted.statusLine, deleted.body]).toEqual(['HTTP/1.1 204 No Content', '']);
  expect((await reply(origin, ask('DELETE'))).statusLine).toBe('HTTP/1.1 404 Not Found');
});

it.each(['GET', 'DELETE'])('answers 401 to %s without a key, and with an unknown one', async (method) => {
  await reply(origin, create(callback));
  for (const [part, replacement] of [
    ['Authorization: Bearer key-of-acme\n', ''],
    ['key-of-acme', 'key-unknown'],
    ['Bearer key-of-acme', 'Basic key-of-acme'],
  ] as const) {
    const refused = await reply(origin, ask(method).replace(part, replacement));
    expect(refused.statusLine).toBe('HTTP/1.1 401 Unauthorized');
  }
  expect((await reply(origin, ask('GET'))).statusLine).toBe('HTTP/1.1 200 OK');
});

it.each([
  [401, 'HTTP/1.1 401 Unauthorized'],
  [400, 'HTTP/1.1 400 Bad Request'],
] as const)('answers a creation without a key with %i, as the options say', async (status, statusLine) => {
  simulator.configure({ subscriptionWithoutKey: status });
  const refused = await reply(origin, create(callback).replace('key-of-acme', 'key-unknown'));
  expect(refused.statusLine).toBe(statusLine);
  expect((await reply(origin, ask('GET'))).statusLine).toBe('HTTP/1.1 404 Not Found');
});

it.each([
  ['error', '{"message":"only one subscription can exist"}'],
  ['code', '{"code":"SUBSCRIPTION_EXISTS","description":"only one subscription can exist"}'],
  ['callback', undefined],
  ['none', ''],
] as const)('answers a second subscription with 406 and the body %s', async (notAcceptableBody, body) => {
  simulator.configure({ notAcceptableBody });
  await reply(origin, create(callback));
  const refused = await reply(origin, create(callback));
  expect(refused.statusLine).toBe('HTTP/1.1 406 Not Acceptable');
  expect(refused.body).toBe(body ?? callback);
});

it('answers 400 to a malformed subscription', async () => {
  const bodies = [
    '',
    '{"callback":{}}',
    callback.replace('http://', ''),
    callback.replace(',"securityToken":"s3cret"', ''),
  ];
  for (const body of bodies) {
    expect((await reply(origin, create(body))).statusLine).toBe('HTTP/1.1 400 Bad Request');
  }
});

it('notifies the callback of each state once, even if the callback fails', async () => {
  await reply(origin, create(callback));
  await reply(origin, send('Hi'));
  await expect.poll(() => received).toHaveLength(2);
  const infos = received.map(({ body }) => body.deliveryInfoList.deliveryInfo);
  expect(infos).toEqual([
    [{ address: 'tel:+4791000001', deliveryStatus: 'DeliveredToNetwork' }],
    [{ address: 'tel:+4791000001', deliveryStatus: 'DeliveredToTerminal' }],
  ]);
  expect(received[0]?.headers['securitytoken']).toBe('s3cret');
  expect(simulator.summary().notifications).toBe(2);
});

it('notifies the subscription that exists when a status changes, not the one at the time of the request', async () => {
  const told = () =>
    received.map(({ url, body }) => `${url} ${body.deliveryInfoList.deliveryInfo[0]?.deliveryStatus}`);
  // Long enough to change the subscription meanwhile, even on a busy machine.
  simulator.configure({ deliveryTime: 3_000 });
  await reply(origin, send('Before'));
  await reply(origin, create(callback));
  await vi.waitFor(() => expect(told()).toEqual(['/in DeliveredToTerminal']), SOON);
  await reply(origin, send('During'));
  await reply(origin, ask('DELETE'));
  await reply(origin, create(callback.replace('/in', '/new')));
  await vi.waitFor(() => expect(told()).toHaveLength(3), SOON);
  expect(told().slice(1)).toEqual(['/in DeliveredToNetwork', '/new DeliveredToTerminal']);
  // Without a subscription at that time there is no notification, also not later.
  simulator.configure({ deliveryTime: 0 });
  await reply(origin, ask('DELETE'));
  await reply(origin, send('Between'));
  await reply(origin, create(callback.replace('/in', '/last')));
  await reply(origin, send('Last'));
  await vi.waitFor(() => expect(told()).toContain('/last DeliveredToTerminal'), SOON);
  await expect.poll(() => told()).toHaveLength(5);
  expect(told().slice(3).sort()).toEqual(['/last DeliveredToNetwork', '/last DeliveredToTerminal']);
});

it('notifies a recipient that is impossible at once of nothing but that', async () => {
  await reply(origin, create(callback));
  await reply(origin, send('Hi').replace('+4791000001', '+4795550105'));
  await reply(origin, send('Bye'));
  await expect.poll(() => infosReceived()).toContainEqual(TO);
  expect(infosReceived().filter(({ address }) => address === 'tel:+4795550105')).toEqual([
    { address: 'tel:+4795550105', deliveryStatus: 'DeliveryImpossible' },
  ]);
  expect(simulator.summary().notifications).toBe(3);
});

it('notifies the callback once of a message in several segments, with DeliveredToTerminal', async () => {
  await reply(origin, create(callback));
  await reply(origin, send('x'.repeat(161)));
  await expect.poll(() => received).toHaveLength(1);
  expect(received[0]?.body.deliveryInfoList.deliveryInfo).toEqual([
    { address: 'tel:+4791000001', deliveryStatus: 'DeliveredToTerminal' },
  ]);
});

// 3GPP TS 23.038: a character of the extension table takes two of the 160 septets of a message.
it.each([
  ['80 euro signs', '€'.repeat(80), 2],
  ['81 euro signs', '€'.repeat(81), 1],
  ['159 letters and a euro sign', `${'x'.repeat(159)}€`, 1],
  ['160 letters', 'x'.repeat(160), 2],
  ['70 characters of UCS-2', 'ж'.repeat(70), 2],
  ['71 characters of UCS-2', 'ж'.repeat(71), 1],
])('counts the parts of a text in septets: %s', async (_, text, notifications) => {
  await reply(origin, create(callback));
  await reply(origin, send(text));
  await expect.poll(() => infosReceived()).toContainEqual(TO);
  expect(simulator.summary().notifications).toBe(notifications);
});

it.each([
  [true, ['DeliveredToNetwork', 'DeliveryImpossible']],
  [false, ['DeliveredToNetwork']],
])('notifies an impossible delivery, unless notifyImpossible is false: %s', async (notifyImpossible, all) => {
  simulator.configure({ notifications: { notifyImpossible } });
  await reply(origin, create(callback));
  await reply(origin, send('Hi').replace('+4791000001', '+4795550103'));
  await reply(origin, send('Bye'));
  // The last of them; all others have been sent by then.
  await expect.poll(() => infosReceived()).toContainEqual(TO);
  expect(simulator.summary().notifications).toBe(all.length + 2);
  const statuses = () =>
    infosReceived()
      .filter(({ address }) => address === 'tel:+4795550103')
      .map(({ deliveryStatus }) => deliveryStatus);
  await expect.poll(() => statuses().sort()).toEqual(all);
});

it.each([
  ['query', { url: '/in?securityToken=s3cret' }],
  ['body', { body: expect.objectContaining({ securityToken: 's3cret' }) }],
  ['header', { headers: { securitytoken: 's3cret' } }],
  ['xHeader', { headers: { 'x-security-token': 's3cret' } }],
  ['bearer', { headers: { authorization: 'Bearer s3cret' } }],
  [
    'basic',
    { headers: { authorization: `Basic ${Buffer.from('notifications:s3cret').toString('base64')}` } },
  ],
  ['none', {}],
] as const)('carries the security token in the %s, and nowhere else', async (securityTokenIn, place) => {
  simulator.configure({ notifications: { securityTokenIn } });
  await reply(origin, create(callback));
  await reply(origin, send('Hi'));
  await expect.poll(() => received).toHaveLength(2);
  for (const one of received) {
    expect(one).toMatchObject({ url: '/in', ...place });
    const secret = /s3cret|bm90aWZpY2F0aW9uczpzM2NyZXQ=/g;
    expect(JSON.stringify(one).match(secret) ?? []).toHaveLength(securityTokenIn === 'none' ? 0 : 1);
  }
});

it('sends about half of the DeliveredToNetwork notifications last when it shuffles', async () => {
  simulator.configure({ notifications: { shuffle: true } });
  await reply(origin, create(callback));
  for (let time = 0; time < 12; time += 1)
    await reply(origin, send('Hi').replace('1000001', `10000${10 + time}`));
  await expect.poll(() => received).toHaveLength(24);
  const last = new Map<string, string>();
  for (const { body } of received) {
    const [info] = body.deliveryInfoList.deliveryInfo;
    if (info !== undefined) last.set(info.address, info.deliveryStatus);
  }
  expect(last.size).toBe(12);
  expect(new Set(last.values())).toEqual(new Set(['DeliveredToNetwork', 'DeliveredToTerminal']));
});

it('signs the body with the security token', async () => {
  simulator.configure({ notifications: { securityTokenIn: 'signature' } });
  await reply(origin, create(callback));
  await reply(origin, send('Hi'));
  await expect.poll(() => received).toHaveLength(2);
  for (const { headers, body } of received) {
    const signature = createHmac('sha256', 's3cret').update(JSON.stringify(body)).digest('hex');
    expect(headers['x-signature']).toBe(signature);
  }
});

it.each([
  ['unwrapped', { deliveryInfo: [TO], resourceURL: expect.stringContaining('/requests/') }],
  ['single', { deliveryInfoList: { deliveryInfo: TO } }],
  [
    'notification',
    { deliveryInfoNotification: { deliveryInfo: TO, link: [{ rel: 'OutboundMessageRequest' }] } },
  ],
  [
    'request',
    { outboundSMSMessageRequest: { address: [TO.address], deliveryInfoList: { deliveryInfo: [TO] } } },
  ],
  ['several', [{ deliveryInfoList: { deliveryInfo: [TO] } }]],
  ['withoutTel', { deliveryInfoList: { deliveryInfo: [{ ...TO, address: '+4791000001' }] } }],
  ['requestId', { deliveryInfoList: { deliveryInfo: [{ ...TO, requestId: expect.stringContaining('-') }] } }],
] as const)('can send the notification in the shape %s', async (shape, body) => {
  simulator.configure({ notifications: { shape } });
  await reply(origin, create(callback));
  await reply(origin, send('x'.repeat(161)));
  await expect.poll(() => received).toHaveLength(1);
  expect(received[0]?.body).toMatchObject(body);
});

it('loses, duplicates, and forges the configured share, the same ones for the same seed', async () => {
  simulator.configure({ notifications: { loss: 0.25, duplicates: 0.25, forged: 0.25, shape: 'mixed' } });
  await reply(origin, create(callback));
  for (let time = 0; time < 50; time += 1) {
    await reply(origin, send('Hi').replace('1000001', `10000${10 + time}`));
  }
  await vi.waitFor(() => {
    const { notifications, notificationsTwice, notificationsLost, notificationsForged } = simulator.summary();
    expect([notifications, notificationsTwice, notificationsLost, notificationsForged]).toEqual([
      74, 21, 26, 26,
    ]);
  }, SOON);
  const { notifications, notificationsTwice, notificationsForged } = simulator.summary();
  await expect.poll(() => received).toHaveLength(notifications + notificationsTwice + notificationsForged);
  const forged = received.filter(({ headers }) => headers['securitytoken'] !== 's3cret');
  expect(forged).toHaveLength(notificationsForged);
});
