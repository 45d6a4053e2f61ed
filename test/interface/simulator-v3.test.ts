import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/index.js';
import { magicNumber } from '../../src/simulator/magic-recipients.js';
import type { SimulatorOptions } from '../../src/simulator/options.js';
import { jsonOf, type RawReply, reply } from '../simulator/raw-http.js';

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
  onTestFinished(() => simulator.close());
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
  const subscribe = (bearer: string, url: string): Promise<RawReply> =>
    reply(
      origin,
      `POST /sms/v3/outbound/subscriptions HTTP/1.1\nHost: sim\nAuthorization: Bearer ${bearer}\nContent-Type: application/json\nContent-Length: *\n\n${JSON.stringify({ callback: { url, securityToken: 'the-token' } })}`,
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
        deliveryInfo: [
          {
            address: 'tel:+4791234567',
            deliveryStatus: 'DeliveredToNetwork',
            deliveryStatusCode: 6,
            callbackData: 'c-0-1',
          },
        ],
      },
    },
  });
  const other = await reply(
    simulator.accountBaseUrl,
    `GET /smsmessaging/v1/outbound/ACME/requests/${idOf(sent)}/deliveryInfos HTTP/1.1\nHost: sim\nAuthorization: Bearer ${bearer}\n\n`,
  );
  expect(other.statusLine).toBe('HTTP/1.1 404 Not Found');
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

it('notifies with the token and the callback data inside the list, once per part of a long message', async () => {
  const { granted, send, subscribe } = await simulated({ deliveryTime: 0 });
  const bodies: string[] = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      bodies.push(body);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void receiver.close());
  await new Promise((listening) => receiver.once('listening', listening));
  const bearer = await granted();
  await subscribe(bearer, `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in`);
  const sent = await send(bearer, {
    address: ['tel:+4791234567'],
    outboundSMSTextMessage: { message: 'x'.repeat(307) },
    callbackData: 'c-0-1',
  });
  await expect.poll(() => bodies.length).toBe(3);
  const notified = bodies.map((body) => JSON.parse(body) as { deliveryInfoList: Record<string, unknown> });
  for (const { deliveryInfoList } of notified) {
    expect(deliveryInfoList).toMatchObject({
      securityToken: 'the-token',
      resourceURL: `https://messaging.example/sms/v3/outbound/ACME/requests/${idOf(sent)}/deliveryInfos`,
      deliveryInfo: [{ address: 'tel:+4791234567', callbackData: 'c-0-1' }],
    });
  }
  const statuses = bodies.map((body) => /"deliveryStatus":"(\w+)"/.exec(body)?.[1]);
  expect(statuses.sort()).toEqual(['DeliveredToTerminal', 'PartiallyDelivered', 'PartiallyDelivered']);
});
