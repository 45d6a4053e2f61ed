import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  OPERATIONS,
  type Operation,
  readInterfaceDescription,
} from '../../src/tools/conformance/description.js';
import { startSimulator } from '../scene/closing.js';
import { type RawReply, reply } from '../tools/simulator/raw-http.js';

const text = readFileSync('docs/interface.openapi.yaml', 'utf8');
const description = readInterfaceDescription();

/** The documented responses, as `operation status`. */
const documented = OPERATIONS.flatMap((operation) =>
  description.statusesOf(operation).map((status) => `${operation} ${status}`),
);

let now = Date.UTC(2026, 2, 2);
const simulator = await startSimulator(
  {
    keys: [{ key: 'good', quota: 3 }, { key: 'forbidden', forbidden: true }, { key: 'other' }],
    accounts: [{ username: 'ann', password: 'secret' }],
    deliveryTime: 1_000,
  },
  { clock: () => now },
);

const origin = new URL(simulator.messagingBaseUrl).origin;
const call = (line: string, headers: readonly string[], body = ''): Promise<RawReply> =>
  reply(
    origin,
    `${line} HTTP/1.1\nHost: simulator\n${headers.join('\n')}\nContent-Type: application/json\nContent-Length: *\n\n${body}\n`,
  );
const bearer = (key: string) => [`Authorization: Bearer ${key}`];
const BASE = '/smsmessaging/v1';
const SEND = `POST ${BASE}/outbound/tel%3A%2B4790000001/requests`;
const MESSAGE = JSON.stringify({
  outboundSMSMessageRequest: {
    address: ['tel:+4791000001', 'tel:+4791000002'],
    senderAddress: 'tel:+4790000001',
    outboundSMSTextMessage: { message: 'Hei' },
    senderName: 'ACME',
  },
});
const CALLBACK = JSON.stringify({ callback: { url: 'http://127.0.0.1:9/hook', securityToken: 'secret' } });

test.each([
  ['interface', text],
  ['interface-v3', readFileSync('docs/interface-v3.openapi.yaml', 'utf8')],
])('The description %s is a valid OpenAPI document', async (_, described) => {
  const { valid, errors } = await new Validator().validate(described);
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
});

test('Every response that it describes is one that the simulator gives, and has the described form', async () => {
  const seen = new Map<string, string | null>();
  const note = (operation: Operation, raw: RawReply): RawReply => {
    const status = Number(raw.statusLine.split(' ')[1]);
    const headers = Object.fromEntries(raw.headers);
    seen.set(`${operation} ${status}`, description.problemOf(operation, { status, headers, body: raw.body }));
    return raw;
  };
  const sent = note('send', await call(SEND, bearer('good'), MESSAGE));
  note('send', await call(SEND, bearer('unknown'), MESSAGE));
  note('send', await call(SEND, bearer('forbidden'), MESSAGE));

  const id = sent.headers.get('location')?.split('/').at(-1) ?? '';
  const pathOf = (request: string) =>
    `GET ${BASE}/outbound/tel%3A%2B4790000001/requests/${request}/deliveryInfos`;
  now += 2_000;
  note('getDeliveryInfos', await call(pathOf(id), bearer('good')));
  note('getDeliveryInfos', await call(pathOf('none'), bearer('other')));
  note('getDeliveryInfos', await call(pathOf(id), bearer('unknown')));
  note('getDeliveryInfos', await call(pathOf(id), bearer('forbidden')));
  await call(pathOf(id), bearer('good'));
  note('getDeliveryInfos', await call(pathOf(id), bearer('good')));
  note('send', await call(SEND, bearer('good'), MESSAGE));

  const subscription = (method: string, key: string, body = ''): Promise<RawReply> =>
    call(`${method} ${BASE}/outbound/subscriptions`, bearer(key), body);
  for (const key of ['unknown', 'other']) {
    note('getSubscription', await subscription('GET', key));
    note('deleteSubscription', await subscription('DELETE', key));
  }
  note('createSubscription', await subscription('POST', 'other', '{}'));
  note('createSubscription', await subscription('POST', 'other', CALLBACK));
  note('createSubscription', await subscription('POST', 'other', CALLBACK));
  note('getSubscription', await subscription('GET', 'other'));
  note('deleteSubscription', await subscription('DELETE', 'other'));

  const browser = 'X-Requested-With: XMLHttpRequest';
  const login = JSON.stringify({ username: 'ann', password: 'secret' });
  const pair = note('login', await call('POST /api/login', [browser], login));
  const { RefreshToken } = z.object({ RefreshToken: z.string() }).parse(JSON.parse(pair.body));
  note('refresh', await call('GET /api/RefreshToken', [browser, `X-Authorization: Bearer ${RefreshToken}`]));

  expect([...seen].filter(([, problem]) => problem !== null)).toEqual([]);
  expect([...seen.keys()].sort()).toEqual([...documented].sort());
});
