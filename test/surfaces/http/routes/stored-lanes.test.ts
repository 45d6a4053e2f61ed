import { expect, test } from 'vitest';
import { virtualTime } from '../../../app/access/virtual-time.js';
import { scene } from '../../../scene/scene.js';

/* Lanes that a platform adds, changes, and removes over HTTP, while a worker in another process serves them. */

const { api, open, startSimulator } = scene('http-stored-lanes');
const PRODUCT = 'sms-a2p-marketing';
const simulator = await startSimulator({
  clients: ['one', 'two'].map((id) => ({ id, secret: `secret of ${id}`, products: [PRODUCT] })),
  keys: [{ account: 'one' }, { account: 'two' }],
  magicRecipients: 'off',
  deliveryTime: 50,
});
const settings = {
  MESSAGING_BASE_URL: simulator.v3.messagingBaseUrl,
  TOKEN_URL: simulator.v3.tokenUrl,
  API_KEY: 'configured',
  SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'),
  FOLLOW_UP_FIRST_MS: '200',
  SENDER_ADDRESS: 'ACME',
  // A new worker waits for as long before it sends.
  REDIS_MAY_LOSE: '0s',
};
/** In which no worker looks at a lane while the API removes it. */
const { time, settled } = virtualTime();
const { time: ofWorkers, rounds, until } = virtualTime();
const { call } = await api(settings, { time });
await open(settings, { time: ofWorkers }).work().ready;

/** How often a worker looks at the lanes that are being removed. */
const LOOK_MS = 15_000;
const client = (id: string) => ({ id, secret: `secret of ${id}`, product: PRODUCT });
const lane = (name: string, of: string) => ({ name, profile: 'v3', client: client(of) });
const sentBy = (id: string): number =>
  [...simulator.arrivals()].filter(({ key, kind }) => key === `account:${id}` && kind === 'send').length;
const create = (name: string, count: number, more: object = {}) =>
  call('POST', '/v1/campaigns', {
    body: {
      lane: name,
      message: `Hi from ${name}`,
      recipients: Array.from({ length: count }, (_, at) => ({ to: `+4477009${10_000 + at}` })),
      ...more,
    },
  });

test('A tenant with an OAuth 2 client is added, sends, and is removed with the number of recipients that this cancels', async () => {
  expect(await call('POST', '/v1/lanes', { body: lane('acme', 'one') })).toMatchObject({
    status: 201,
    json: { name: 'acme', state: 'active', problem: null, settings: { profile: 'v3' } },
  });
  const { json } = await create('acme', 3);
  await until('it is sent', () => sentBy('one') === 3);
  await create('acme', 7, { sendAt: new Date(Date.now() + 3_600_000) });
  for (const query of ['', '?expect=0', '?expect=10']) {
    const refused = await call('DELETE', `/v1/lanes/acme${query}`);
    expect(refused).toMatchObject({ status: 409, json: { code: 'unexpected', recipientCount: 7 } });
  }
  // Of a variable that is not set, nothing is left.
  for (const query of ['?expect=', '?expect=%20'])
    expect(await call('DELETE', `/v1/lanes/acme${query}`)).toMatchObject({ status: 400 });
  expect((await call('GET', '/v1/lanes/acme/settings')).json).toMatchObject({ state: 'active' });
  // People reply to what was sent, and the lane waits for all parts.
  const reply = async (place: number, text: string) => {
    const part = { reference: 1, number: place, total: 2 };
    const message = { lane: 'acme', from: '+447700910000', to: 'ACME', messageId: `m${place}`, text, part };
    expect((await call('POST', '/v1/inbound', { body: message })).status).toBe(200);
  };
  await reply(1, 'St');
  const removed = await settled(call('DELETE', '/v1/lanes/acme?expect=7'));
  expect(removed).toMatchObject({ status: 200, json: { name: 'acme', cancelled: 7 } });
  expect((await create('acme', 1)).status).toBe(400);
  const { id } = json as { id: string };
  const delivered = async () =>
    Object((await call('GET', `/v1/campaigns/${id}`)).json).counts.deliveredToTerminal;
  await until('its reports have arrived', async () => (await delivered()) === 3);
  await rounds(LOOK_MS, 4);
  await reply(2, 'op');
  const { json: replies } = await call('GET', '/v1/inbound?lane=acme');
  expect(Object(replies).messages).toMatchObject([{ text: 'Stop', effect: { wish: 'stop', isNew: true } }]);
  await until('it is gone', async () => (await call('GET', '/v1/lanes/acme/settings')).status === 404);
  const status = await call('GET', `/v1/campaigns/${id}`);
  expect(status.json).toMatchObject({ lane: 'removed~acme', counts: { deliveredToTerminal: 3 } });
});

test('A name or credentials in use get 409, and fields that a tenant may not set get 400', async () => {
  expect((await call('POST', '/v1/lanes', { body: lane('shop', 'two') })).status).toBe(201);
  const cases = [
    ['POST', '/v1/lanes', { name: 'shop', apiKey: 'x' }, 409, 'laneTaken', '/name'],
    ['POST', '/v1/lanes', lane('again', 'two'), 409, 'laneTaken', undefined],
    ['PUT', '/v1/lanes/default', { hourlyQuota: 1 }, 400, 'badInput', 'path/name'],
    [
      'POST',
      '/v1/lanes',
      { ...lane('b', 'b'), baseUrl: 'https://other.example' },
      400,
      'badInput',
      '/baseUrl',
    ],
    ['POST', '/v1/lanes', { name: 'b', apiKeyEnv: 'SECRETS_KEY' }, 400, 'badInput', '/apiKeyEnv'],
    ['PUT', '/v1/lanes/shop', { hourlyQuota: 0 }, 400, 'badInput', '/hourlyQuota'],
    ['PUT', '/v1/lanes/shop', { profile: null }, 400, 'badInput', '/client'],
  ] as const;
  for (const [method, path, body, status, code, pointer] of cases) {
    const { status: got, json } = await call(method, path, { body });
    const { code: named, errors } = Object(json);
    const pointers = errors.map((error: { pointer: string }) => error.pointer);
    expect([got, named, pointers], `${path} ${JSON.stringify(body)}`).toEqual([
      status,
      code,
      pointer === undefined ? [] : [pointer],
    ]);
  }
});

test('A lane that was added has limits, and loses them with null', async () => {
  const limits = { senders: ['OTHER'], recipientsPerDay: 5 };
  const limited = { name: 'limited', apiKey: 'key-limited', limits };
  const added = await call('POST', '/v1/lanes', { body: limited });
  expect(added).toMatchObject({ status: 201, json: { settings: { limits } } });
  const send = () => create('limited', 1, { sendAt: new Date(Date.now() + 3_600_000) });
  expect((await send()).json).toMatchObject({ code: 'overLimit', limit: 'senders', owner: 'lane' });
  expect((await call('PUT', '/v1/lanes/limited', { body: { limits: null } })).status).toBe(200);
  expect((await send()).status).toBe(201);
  const wrong = { name: 'wrong', apiKey: 'key-wrong', limits: { recipientsPerDay: 0 } };
  expect((await call('POST', '/v1/lanes', { body: wrong })).status).toBe(400);
});
