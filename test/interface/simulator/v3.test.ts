import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { magicNumber } from '../../../src/tools/simulator/rules/magic-recipients.js';
import type { SimulatorOptions } from '../../../src/tools/simulator/rules/options.js';
import { startSimulator } from '../../scene/closing.js';
import { jsonOf, type RawReply, reply } from '../../tools/simulator/raw-http.js';

/** A simulator with one client, whose time the test sets. */
async function simulated(options: SimulatorOptions = {}) {
  let now = 1_800_000_000_000;
  const simulator = await startSimulator(
    {
      keys: [{ key: 'k' }],
      clients: [{ id: 'client-1', secret: 's & t', products: ['sms-a2p-marketing'] }],
      ...options,
    },
    { clock: () => now },
  );
  const origin = simulator.accountBaseUrl;
  const token = (form: string): Promise<RawReply> =>
    reply(
      origin,
      `POST /oauth2/token HTTP/1.1\nHost: sim\nContent-Type: application/x-www-form-urlencoded\nContent-Length: *\n\n${form}`,
    );
  const granted = async (): Promise<string> => {
    const form =
      'grant_type=client_credentials&client_id=client-1&client_secret=s+%26+t&scope=sms+sms-a2p-marketing';
    return (jsonOf(await token(form)) as { access_token: string }).access_token;
  };
  const send = (bearer: string, request: object): Promise<RawReply> =>
    reply(
      origin,
      `POST /sms/v3/outbound/ACME/requests HTTP/1.1\nHost: sim\nAuthorization: Bearer ${bearer}\nContent-Type: application/json\nContent-Length: *\n\n${JSON.stringify({ outboundSMSMessageRequest: { senderAddress: 'ACME', outboundSMSTextMessage: { message: 'Hi' }, ...request } })}`,
    );
  const poll = async (bearer: string, id: string): Promise<unknown> =>
    jsonOf(
      await reply(
        origin,
        `GET /sms/v3/outbound/ACME/requests/${id}/deliveryInfos HTTP/1.1\nHost: sim\nAuthorization: Bearer ${bearer}\n\n`,
      ),
    );
  const subscribe = (bearer: string, url: string, fields = {}): Promise<RawReply> =>
    reply(
      origin,
      `POST /sms/v3/outbound/subscriptions HTTP/1.1\nHost: sim\nAuthorization: Bearer ${bearer}\nContent-Type: application/json\nContent-Length: *\n\n${JSON.stringify({ callback: { url, securityToken: 'the-token', ...fields } })}`,
    );
  return {
    simulator,
    token,
    granted,
    send,
    poll,
    subscribe,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const idOf = ({ headers }: RawReply): string => headers.get('location')?.split('/').at(-1) ?? '';

it('grants a token to a client for the scope sms and one of its products', async () => {
  const { token } = await simulated();
  const client = 'client_id=client-1&client_secret=s+%26+t';
  const granted = await token(`grant_type=client_credentials&${client}&scope=sms+sms-a2p-marketing`);
  expect(granted.statusLine).toBe('HTTP/1.1 200 OK');
  expect(jsonOf(granted)).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'sms sms-a2p-marketing',
  });
  const refused = async (form: string) => {
    const { statusLine, body } = await token(form);
    return [statusLine.split(' ')[1], (JSON.parse(body) as { error: string }).error];
  };
  const grant = 'grant_type=client_credentials';
  expect(await refused(`${grant}&client_id=client-1&client_secret=x&scope=sms+sms-a2p-marketing`)).toEqual([
    '401',
    'invalid_client',
  ]);
  expect(await refused(`grant_type=password&${client}`)).toEqual(['400', 'unsupported_grant_type']);
  for (const scope of ['sms', 'sms-a2p-marketing', 'sms+other', 'sms+sms-a2p-marketing+other']) {
    expect(await refused(`${grant}&${client}&scope=${scope}`)).toEqual(['400', 'invalid_scope']);
  }
});

it('accepts the token of a client and no key, and neither version knows the requests of the other', async () => {
  const { granted, send, simulator } = await simulated();
  const bearer = await granted();
  const address = ['tel:+4791234567'];
  expect((await send('k', { address })).statusLine).toBe('HTTP/1.1 401 Unauthorized');
  const sent = await send(bearer, { address, callbackData: 'c-0-1', clientCorrelator: 'c-0-1' });
  expect(sent.statusLine).toBe('HTTP/1.1 201 Created');
  const location = `https://messaging.example/sms/v3/outbound/ACME/requests/${idOf(sent)}`;
  expect(jsonOf(sent)).toEqual({
    outboundSMSMessageRequest: {
      address,
      senderAddress: 'ACME',
      outboundSMSTextMessage: { message: 'Hi' },
      clientCorrelator: 'c-0-1',
      callbackData: 'c-0-1',
      resourceURL: location,
      deliveryInfoList: {
        resourceURL: `${location}/deliveryInfos`,
        smsParts: 1,
        deliveryInfo: [
          {
            address: 'tel:+4791234567',
            deliveryStatus: 'DeliveredToNetwork',
            deliveryStatusCode: 6,
            callbackData: 'c-0-1',
          },
        ],
      },
      asynchronous: false,
    },
  });
  const other = await reply(
    simulator.accountBaseUrl,
    `GET /smsmessaging/v1/outbound/ACME/requests/${idOf(sent)}/deliveryInfos HTTP/1.1\nHost: sim\nAuthorization: Bearer k\n\n`,
  );
  expect(other.statusLine).toBe('HTTP/1.1 404 Not Found');
});

it.each(['either', 'token', 'both'] as const)(
  'refuses the token of a client on the paths of version 1, which accepts %s',
  async (accepts) => {
    const { granted, simulator } = await simulated({ accepts });
    const bearer = await granted();
    const key = accepts === 'both' ? 'k' : bearer;
    const refused = await reply(
      simulator.accountBaseUrl,
      `GET /smsmessaging/v1/outbound/subscriptions HTTP/1.1\nHost: sim\nAuthorization: Bearer ${key}\nX-Authorization: Bearer ${bearer}\n\n`,
    );
    expect(refused.statusLine).toBe('HTTP/1.1 401 Unauthorized');
  },
);

it('refuses options in which a client has the id of an account, whose tokens could not be distinguished', async () => {
  await expect(simulated({ accounts: [{ username: 'client-1', password: 'secret' }] })).rejects.toThrow(
    'clients[0].id: client-1 is also the id of an account; choose another one',
  );
});

it('repeats its response to a correlator for 24 hours without sending again', async () => {
  const { granted, send, simulator, pass } = await simulated({
    tokens: { accessLifetimeMs: 100 * 3_600_000 },
  });
  const bearer = await granted();
  const request = { address: ['tel:+4791234567'], clientCorrelator: 'c-0-1' };
  const first = await send(bearer, request);
  pass(24 * 3_600_000 - 1);
  const repeated = await send(bearer, request);
  expect(repeated.statusLine).toBe('HTTP/1.1 201 Created');
  expect(idOf(repeated)).toBe(idOf(first));
  expect(simulator.summary().requests).toBe(1);
  pass(1);
  expect(idOf(await send(bearer, request))).not.toBe(idOf(first));
  expect(simulator.summary()).toMatchObject({ requests: 2, duplicates: 1 });
});

it.each([
  ['SVC0005', 'HTTP/1.1 400 Bad Request', '"messageId":"SVC0005"'],
  ['badRequest', 'HTTP/1.1 400 Bad Request', 'clientCorrelator is not valid'],
  ['conflict', 'HTTP/1.1 409 Conflict', 'there is a request'],
] as const)(
  'may refuse a correlator that it knows, and sends nothing: %s',
  async (knownCorrelator, line, body) => {
    const { granted, send, simulator } = await simulated({ knownCorrelator });
    const bearer = await granted();
    const request = { address: ['tel:+4791234567'], clientCorrelator: 'c-0-1' };
    expect((await send(bearer, request)).statusLine).toBe('HTTP/1.1 201 Created');
    const repeated = await send(bearer, request);
    expect(repeated.statusLine).toBe(line);
    expect(repeated.body).toContain(body);
    expect(simulator.ledger.requests).toBe(1);
  },
);

it('answers a repeated correlator with the first response, even if the body is another one', async () => {
  const { granted, send, simulator } = await simulated();
  const bearer = await granted();
  const correlator = { clientCorrelator: 'c-0-1' };
  const first = await send(bearer, {
    address: ['tel:+4791234567', 'tel:+4791234568'],
    senderName: 'Acme',
    callbackData: 'first',
    ...correlator,
  });
  const repeated = await send(bearer, {
    address: ['tel:+4798765432'],
    outboundSMSTextMessage: { message: 'x'.repeat(161) },
    senderName: 'Other',
    callbackData: 'second',
    asynchronous: true,
    finalDelivery: true,
    notifyURL: 'https://hook.example/',
    ...correlator,
  });
  expect([repeated.statusLine, repeated.body, repeated.headers.get('location')]).toEqual([
    first.statusLine,
    first.body,
    first.headers.get('location'),
  ]);
  expect(simulator.summary()).toMatchObject({ requests: 1, recipients: 2 });
});

it('answers 400 if a message is impossible at once, also to a repeat, although it sends the other messages', async () => {
  const { granted, send, simulator } = await simulated();
  const bearer = await granted();
  const address = ['tel:+4791234567', `tel:${magicNumber('impossibleAtOnce')}`];
  const request = { address, clientCorrelator: 'c-0-2' };
  for (let time = 0; time < 2; time += 1) {
    expect((await send(bearer, request)).statusLine).toBe('HTTP/1.1 400 Bad Request');
  }
  expect(simulator.summary()).toMatchObject({ requests: 1, recipients: 2 });
});

it.each([
  [{ callbackData: 7 }, 'callbackData must be a string'],
  [{ asynchronous: 'yes' }, 'asynchronous must be a boolean'],
  [{ finalDelivery: 1 }, 'finalDelivery must be a boolean'],
  [{ notifyURL: 'ftp://hook.example' }, 'notifyURL must be an http or https address'],
  [{ senderNames: 'x' }, 'senderNames is not a field of a request'],
])('refuses a request with %o', async (field, message) => {
  const { granted, send } = await simulated();
  const refused = await send(await granted(), { address: ['tel:+4791234567'], ...field });
  expect([refused.statusLine, jsonOf(refused)]).toEqual(['HTTP/1.1 400 Bad Request', { message }]);
});

it('reports statuses with codes, and one that cannot be determined', async () => {
  const { granted, send, poll, pass } = await simulated();
  const bearer = await granted();
  const sent = await send(bearer, { address: [`tel:${magicNumber('uncertain')}`], callbackData: 'd' });
  const infoOf = async () => {
    const { deliveryInfoList } = (await poll(bearer, idOf(sent))) as {
      deliveryInfoList: { deliveryInfo: object[] };
    };
    return deliveryInfoList.deliveryInfo[0];
  };
  expect(await infoOf()).toMatchObject({ deliveryStatus: 'DeliveredToNetwork', deliveryStatusCode: 6 });
  pass(10_000);
  expect(await infoOf()).toEqual({
    address: `tel:${magicNumber('uncertain')}`,
    deliveryStatus: 'DeliveryUncertain',
    deliveryStatusCode: 7,
    callbackData: 'd',
  });
});

it('accepts a subscription only with an https address, or one of this machine', async () => {
  const { granted, subscribe } = await simulated();
  const bearer = await granted();
  const refused = await subscribe(bearer, 'http://volley.example/in');
  expect(refused.statusLine).toBe('HTTP/1.1 406 Not Acceptable');
  expect(jsonOf(refused)).toEqual({ code: 'NOT_HTTPS', description: expect.any(String) });
  expect((await subscribe(bearer, 'https://volley.example/in')).statusLine).toBe('HTTP/1.1 201 Created');
});

interface Notified {
  readonly path: string;
  readonly deliveryInfoList: Record<string, unknown> & {
    readonly deliveryInfo: { deliveryStatus: string }[];
  };
}

/** An address that keeps the notifications it gets. */
async function receiver() {
  const notified: Notified[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      notified.push({ path: request.url ?? '', ...JSON.parse(body) });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((listening) => server.once('listening', listening));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    notified,
    statuses: () =>
      notified.map(
        ({ path, deliveryInfoList }) => `${path} ${deliveryInfoList.deliveryInfo[0]?.deliveryStatus}`,
      ),
  };
}

it('notifies with the token and the callback data inside the list, once per part of a long message', async () => {
  const { granted, send, subscribe } = await simulated({ deliveryTime: 0 });
  const { origin, notified } = await receiver();
  const bearer = await granted();
  await subscribe(bearer, `${origin}/in`);
  const sent = await send(bearer, {
    address: ['tel:+4791234567'],
    outboundSMSTextMessage: { message: 'x'.repeat(307) },
    callbackData: 'c-0-1',
  });
  await expect.poll(() => notified.length).toBe(3);
  for (const { deliveryInfoList } of notified) {
    expect(deliveryInfoList).toMatchObject({
      securityToken: 'the-token',
      smsParts: 3,
      resourceURL: `https://messaging.example/sms/v3/outbound/ACME/requests/${idOf(sent)}/deliveryInfos`,
      deliveryInfo: [{ address: 'tel:+4791234567', callbackData: 'c-0-1' }],
    });
  }
  const parts = notified.map(({ deliveryInfoList: { deliveryInfo } }) => deliveryInfo[0]);
  expect(parts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ deliveryStatus: 'PartiallyDelivered', smsPartsDeliveredToTerminal: 1 }),
      expect.objectContaining({ deliveryStatus: 'PartiallyDelivered', smsPartsDeliveredToTerminal: 2 }),
      expect.objectContaining({ deliveryStatus: 'DeliveredToTerminal', smsPartsDeliveredToTerminal: 3 }),
    ]),
  );
});

it.each([
  ['delivered', 2, { deliveryStatus: 'DeliveredToTerminal', smsPartsDeliveredToTerminal: 2 }],
  [
    'impossible',
    2,
    { deliveryStatus: 'DeliveryImpossible', smsPartsDeliveredToTerminal: 0, smsPartsUndeliverable: 2 },
  ],
  [
    'uncertain',
    2,
    { deliveryStatus: 'DeliveryUncertain', smsPartsDeliveredToTerminal: 0, smsPartsUncertain: 2 },
  ],
] as const)('counts the parts of a long message that is %s', async (ending, smsParts, info) => {
  const { granted, send, poll, pass } = await simulated();
  const bearer = await granted();
  const sent = await send(bearer, {
    address: [`tel:${magicNumber(ending)}`],
    outboundSMSTextMessage: { message: 'x'.repeat(161) },
  });
  const listOf = async () =>
    ((await poll(bearer, idOf(sent))) as { deliveryInfoList: { deliveryInfo: object[] } }).deliveryInfoList;
  expect(await listOf()).toMatchObject({
    smsParts,
    deliveryInfo: [{ deliveryStatus: 'DeliveredToNetwork', smsPartsDeliveredToTerminal: 0 }],
  });
  pass(10_000);
  const { deliveryInfo, ...list } = await listOf();
  expect(list).toMatchObject({ smsParts });
  expect(deliveryInfo).toEqual([
    { address: expect.any(String), deliveryStatusCode: expect.any(Number), ...info },
  ]);
});

it.each([
  ['invalidDestination', 'InvalidDestAddress', 11],
  ['invalidSource', 'InvalidSrcAddress', 10],
] as const)('reports and notifies %s as %s', async (ending, deliveryStatus, deliveryStatusCode) => {
  const { granted, send, poll, subscribe, pass, simulator } = await simulated({ deliveryTime: 20 });
  const { origin, notified } = await receiver();
  const bearer = await granted();
  await subscribe(bearer, `${origin}/in`);
  const sent = await send(bearer, { address: [`tel:${magicNumber(ending)}`] });
  expect(sent.statusLine).toBe('HTTP/1.1 201 Created');
  pass(20);
  const info = { address: `tel:${magicNumber(ending)}`, deliveryStatus, deliveryStatusCode };
  expect(await poll(bearer, idOf(sent))).toMatchObject({ deliveryInfoList: { deliveryInfo: [info] } });
  await expect.poll(() => notified.at(-1)?.deliveryInfoList.deliveryInfo).toEqual([info]);
  expect([...simulator.ledger.entries()]).toMatchObject([{ finals: [deliveryStatus] }]);
});

it('answers an asynchronous request with MessageAccepted before it tries to send, so that no message is impossible at once', async () => {
  const { granted, send, poll, pass } = await simulated({ deliveryTime: 1_000 });
  const bearer = await granted();
  const address = ['tel:+4791234567', `tel:${magicNumber('impossibleAtOnce')}`];
  const request = { address, asynchronous: true, clientCorrelator: 'c-0-3' };
  const sent = await send(bearer, request);
  expect(sent.statusLine).toBe('HTTP/1.1 201 Created');
  const statusesIn = (body: string) =>
    [...body.matchAll(/"deliveryStatus":"(\w+)"/g)].map(([, status]) => status);
  expect(statusesIn(sent.body)).toEqual(['MessageAccepted', 'MessageAccepted']);
  expect(sent.body).toContain('"asynchronous":true');
  const polled = async () => statusesIn(JSON.stringify(await poll(bearer, idOf(sent))));
  expect(await polled()).toEqual(['MessageAccepted', 'DeliveryImpossible']);
  pass(500);
  expect(await polled()).toEqual(['DeliveredToNetwork', 'DeliveryImpossible']);
  pass(500);
  expect(await polled()).toEqual(['DeliveredToTerminal', 'DeliveryImpossible']);
  // The documents: 400 if the first response of the hub was that delivery is impossible.
  expect((await send(bearer, request)).statusLine).toBe('HTTP/1.1 400 Bad Request');
});

it('notifies the notifyURL of a request instead of the subscription, without its token', async () => {
  const { granted, send, subscribe } = await simulated({ deliveryTime: 0 });
  const { origin, notified, statuses } = await receiver();
  const bearer = await granted();
  await subscribe(bearer, `${origin}/subscribed`);
  await send(bearer, { address: ['tel:+4791234567'], notifyURL: `${origin}/own?of=1` });
  await expect.poll(() => notified.length).toBe(2);
  expect(statuses().sort()).toEqual(['/own?of=1 DeliveredToNetwork', '/own?of=1 DeliveredToTerminal']);
  for (const { deliveryInfoList } of notified) expect(deliveryInfoList).not.toHaveProperty('securityToken');
});

it('notifies only final statuses if the request or the subscription says finalDelivery', async () => {
  const { granted, send, subscribe, simulator } = await simulated({ deliveryTime: 0 });
  const { origin, statuses } = await receiver();
  const bearer = await granted();
  const created = await subscribe(bearer, `${origin}/in`, { finalDelivery: true });
  expect(jsonOf(created)).toMatchObject({ callback: { finalDelivery: true } });
  await send(bearer, { address: ['tel:+4791234567'] });
  await expect.poll(statuses).toEqual(['/in DeliveredToTerminal']);
  await send(bearer, { address: ['tel:+4791234567'], finalDelivery: false });
  await expect.poll(() => statuses().length).toBe(3);
  const url = `${origin}/own`;
  await send(bearer, { address: ['tel:+4791234567'], notifyURL: url, finalDelivery: true });
  await expect.poll(() => statuses().slice(3)).toEqual(['/own DeliveredToTerminal']);
  expect(simulator.summary().notifications).toBe(4);
});
