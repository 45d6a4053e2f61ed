import { expect, test } from 'vitest';
import { API_SCOPES } from '../../../../src/campaign/states/api-key.js';
import { keysWith } from '../../../app/forget/find-number.js';
import { scene } from '../../../scene/scene.js';

const made = scene('http-keys', { lanes: ['main', 'other'] });
const { call, volley, log } = await made.api({ PRICE_PER_SEGMENT: '0.05 EUR' });

interface Made {
  readonly id: string;
  readonly key: string;
}
/** Creates a key as an operator does. */
const operators = (more: object = {}): Promise<Made> =>
  volley.keys.create({ name: 'tenant', scopes: ['admin', 'send'], lanes: ['main'], ...more });
const create = (key: string | undefined, body: object) =>
  call('POST', '/v1/keys', { key, body: { name: 'child', scope: ['send'], ...body } });
const me = async (key: string) => Object((await call('GET', '/v1/me', { key })).json);

test('A key is created, changed, rotated, and revoked over HTTP', async () => {
  const created = await create(undefined, { lane: ['main'], senders: ['ACME'], expires: '90d' });
  expect(created.status).toBe(201);
  const { id, key, ...shown } = created.json as Made & Record<string, unknown>;
  expect(created.headers.get('location')).toBe(`/v1/keys/${id}`);
  expect(shown).toMatchObject({ name: 'child', scopes: ['send'], lanes: ['main'], senders: ['ACME'] });
  expect(shown['createdBy']).toMatchObject({ name: 'a test' });
  expect(await me(key)).toMatchObject({ id, senders: ['ACME'], maxSegments: null });

  const body = { lift: ['senders'], maxSegments: 2 };
  const changed = await call('PUT', `/v1/keys/${id}`, { body });
  expect(changed.json).toMatchObject({ id, senders: null, maxSegments: 2 });
  expect(await me(key)).toMatchObject({ senders: null, maxSegments: 2 });

  const rotated = await call('POST', `/v1/keys/${id}/rotate`, { body: { overlap: '0s' } });
  const { key: second } = rotated.json as Made;
  expect(rotated.json).toMatchObject({ id, webhooks: [], oldSecretUntil: null });
  expect((await call('GET', '/v1/me', { key })).status).toBe(401);
  expect(await me(second)).toMatchObject({ id, maxSegments: 2 });

  expect((await call('POST', `/v1/keys/${id}/revoke`)).status).toBe(200);
  expect((await call('GET', '/v1/me', { key: second })).status).toBe(401);
  const { entries } = await volley.audit({ limit: 4 });
  expect(entries.map(({ action }) => action)).toEqual(['key.revoke', 'key.rotate', 'key.set', 'key.create']);
});

test('A key is not created with a lifetime that is none, is over at once, or has no end that is a date', async () => {
  const { key, id } = await volley.keys.create({ name: 'endless', scopes: ['admin'], lifetime: null });
  for (const expires of ['soon', '0s', '999999999999d'])
    expect((await create(key, { scope: ['admin'], expires })).json).toMatchObject({
      status: 400,
      errors: [{ pointer: '/expires', message: expect.stringMatching(/^Use a duration greater than zero/) }],
    });
  const rotated = await call('POST', `/v1/keys/${id}/rotate`, { key, body: { overlap: '999999999999d' } });
  expect(rotated.json).toMatchObject({ status: 400, errors: [{ pointer: '/overlap' }] });
  expect((await call('GET', '/v1/keys', { key })).status).toBe(200);
});

test('The secret of a key is only in the response: not in Redis, in the audit trail, or in the log', async () => {
  const headers = { 'idempotency-key': 'once' };
  const body = { name: 'secretive', scope: ['send'] };
  const { json } = await call('POST', '/v1/keys', { body, headers });
  const { id, key } = json as Made;
  const rotated = (await call('POST', `/v1/keys/${id}/rotate`, { body: {} })).json as Made;
  await me(rotated.key);
  const secrets = [key, rotated.key].map((text) => text.slice(-43));
  const keysWithText = (text: string) =>
    keysWith(made.redis, made.prefix, { number: 'none at all', texts: [text] });
  expect(await keysWithText(id)).toContain('apiKeys');
  const shown = JSON.stringify([
    await volley.audit({ limit: 200 }),
    (await call('GET', `/v1/keys/${id}`)).json,
    (await call('GET', '/v1/keys')).json,
  ]);
  for (const secret of secrets) {
    expect(await keysWithText(secret)).toEqual([]);
    expect(shown).not.toContain(secret);
    expect(log.join('')).not.toContain(secret);
  }
});

test('Every key sees itself, whatever its scope, with what is left of its limits and when they start anew', async () => {
  for (const scope of API_SCOPES) {
    const { id, key } = await operators({ scopes: [scope] });
    expect(await me(key)).toMatchObject({ id, scopes: [scope], lanes: ['main'], today: null });
  }
  const limits = { recipientsPerDay: 10, costPerDay: '1 EUR', maxSuppressions: 3 };
  const { key } = await operators({ scopes: ['send'], ...limits });
  const recipients = [{ to: '+447700900123' }, { to: '+447700900124' }];
  const sendAt = '2999-01-01T00:00:00Z';
  expect(
    (await call('POST', '/v1/campaigns', { key, body: { recipients, message: 'Hi', sendAt } })).status,
  ).toBe(201);
  const numbers = ['+447700900125'];
  await call('POST', '/v1/suppressions', { key, body: { numbers } });
  const { today, suppressionsLeft } = await me(key);
  expect(suppressionsLeft).toBe(2);
  expect(today).toMatchObject({
    recipientCount: 2,
    recipientsLeft: 8,
    cost: '0.10 EUR',
    costLeft: '0.90 EUR',
  });
  const midnight = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  expect(today.resetsAt).toBe(`${midnight}T00:00:00.000Z`);
});

test('What messages of an outbox cost today is shown only if a limit counts it', async () => {
  await volley.outboxes.create({ name: 'orders', lane: 'main', message: 'Hi' });
  for (const [limits, cost] of [
    [{ recipientsPerDay: 10 }, null],
    [{ recipientsPerDay: 10, costPerDay: '1 EUR' }, '0.05 EUR'],
  ] as const) {
    const { key } = await operators({ scopes: ['send'], ...limits });
    const body = { to: '+447700900123' };
    expect((await call('PUT', `/v1/outboxes/orders/messages/${cost}`, { key, body })).status).toBe(200);
    expect((await me(key)).today).toMatchObject({ recipientCount: 1, cost });
  }
});

test('A daily limit of the cost in another currency than the prices is refused, and nothing is stored', async () => {
  const { id } = await operators();
  const before = (await call('GET', '/v1/keys')).json;
  for (const refused of [
    await create(undefined, { costPerDay: '10 USD' }),
    await call('PUT', `/v1/keys/${id}`, { body: { costPerDay: '10 USD' } }),
  ])
    expect(refused.json).toMatchObject({
      status: 400,
      errors: [{ pointer: '/costPerDay', message: expect.stringContaining('must be in EUR') }],
    });
  expect((await call('GET', '/v1/keys')).json).toEqual(before);
});

/** What a key may not give another, by what the other would have. */
const BEYOND: readonly (readonly [own: object, wanted: object, status: object])[] = [
  [{}, { scope: ['send', 'read'] }, { code: 'forbidden' }],
  [{}, { lane: ['other'] }, { code: 'notFound' }],
  [{}, { maxSuppressions: 10_001 }, { code: 'forbidden' }],
  [{ lifetime: '30d' }, { expires: '31d' }, { code: 'forbidden' }],
  [{ lifetime: '30d' }, { expires: null }, { code: 'forbidden' }],
  [{}, { requestsPerMinute: 10_000_000 }, { code: 'overLimit', limit: 'requestsPerMinute' }],
  [{ senders: ['ACME'] }, { senders: ['ACME', 'OTHER'] }, { code: 'overLimit', limit: 'senders' }],
  [{ countries: ['GB'] }, { countries: ['GB', 'DE'] }, { code: 'overLimit', limit: 'countries' }],
  [{ maxSegments: 2 }, { maxSegments: 3 }, { code: 'overLimit', limit: 'maxSegments' }],
  [
    { addresses: ['127.0.0.0/8'] },
    { addresses: ['127.0.0.1', '::1'] },
    { code: 'overLimit', limit: 'addresses' },
  ],
  [{ addresses: ['127.0.0.0/8'] }, { addresses: ['126.0.0.0/7'] }, { code: 'overLimit', limit: 'addresses' }],
  [{ recipientsPerDay: 10 }, { recipientsPerDay: 1 }, { code: 'overLimit', limit: 'recipientsPerDay' }],
  [{ costPerDay: '9 EUR' }, { costPerDay: '1' }, { code: 'overLimit', limit: 'costPerDay' }],
  [{ requestsPerMinute: 100 }, { requestsPerMinute: 1 }, { code: 'overLimit', limit: 'requestsPerMinute' }],
];

test.each(BEYOND)('A key with %o makes none with %o', async (own, wanted, refusal) => {
  const { key } = await operators(own);
  const before = (await volley.keys.list()).length;
  expect((await create(key, wanted)).json).toMatchObject(refusal);
  expect((await volley.keys.list()).length).toBe(before);
});

test('What a new key is not given, it has from the key that makes it', async () => {
  const limits = { senders: ['ACME'], maxSegments: 2, addresses: ['127.0.0.1', '127.0.0.0/8'] };
  const { key, id } = await operators({ ...limits, lifetime: '30d', maxSuppressions: 5 });
  const child = Object((await create(key, { maxSegments: 1, addresses: ['127.0.0.1'] })).json);
  expect(child).toMatchObject({ lanes: ['main'], senders: ['ACME'], maxSegments: 1, maxSuppressions: 5 });
  expect(child.createdBy).toEqual({ id, name: 'tenant' });
  expect(child.expiresAt).toBe((await volley.keys.get(id)).expiresAt);
});

test('A key limited to lanes sees and changes only keys for them, and none that may do more', async () => {
  const tenant = await operators({ maxSegments: 2 });
  const [wide, elsewhere, stronger, own] = await Promise.all([
    operators({ lanes: undefined }),
    operators({ lanes: ['main', 'other'] }),
    operators({ scopes: ['send', 'read'], maxSegments: 2 }),
    operators({ scopes: ['send'], maxSegments: 2 }),
  ]);
  const asTenant = (method: string, path: string, body?: object) =>
    call(method, `/v1/keys/${path}`, { key: tenant.key, ...(body && { body }) });
  const { keys } = Object((await call('GET', '/v1/keys', { key: tenant.key })).json);
  const seen = keys.map(({ id }: Made) => id);
  expect(seen).toEqual(expect.arrayContaining([tenant.id, stronger.id, own.id]));
  for (const { id } of [wide, elsewhere]) {
    expect(seen).not.toContain(id);
    for (const [method, path, body] of [
      ['GET', id],
      ['PUT', id, { maxSegments: 1 }],
      ['POST', `${id}/rotate`, {}],
      ['POST', `${id}/revoke`, {}],
    ] as const)
      expect((await asTenant(method, path, body)).status).toBe(404);
  }
  expect((await asTenant('POST', `${stronger.id}/rotate`, {})).json).toMatchObject({ code: 'forbidden' });
  expect((await asTenant('PUT', stronger.id, { maxSegments: 1 })).json).toMatchObject({ code: 'forbidden' });
  const looser = { code: 'overLimit', limit: 'maxSegments' };
  expect((await asTenant('PUT', own.id, { maxSegments: 3 })).json).toMatchObject(looser);
  expect((await asTenant('PUT', own.id, { lift: ['maxSegments'] })).json).toMatchObject(looser);
  expect((await asTenant('PUT', tenant.id, { lift: ['maxSegments'] })).json).toMatchObject(looser);
  expect((await asTenant('PUT', own.id, { maxSegments: 1 })).status).toBe(200);
  expect((await asTenant('POST', `${own.id}/rotate`, {})).status).toBe(200);
  expect((await asTenant('POST', `${own.id}/revoke`, {})).status).toBe(200);
});

test('A rotation by a key gives no secret that works longer than that key, not even to itself', async () => {
  const tenant = await operators({ lifetime: '30d' });
  const { expiresAt } = await volley.keys.get(tenant.id);
  const other = await operators({ scopes: ['send'] });
  for (const id of [other.id, tenant.id]) {
    const rotated = await call('POST', `/v1/keys/${id}/rotate`, { key: tenant.key, body: {} });
    expect(rotated.json).toMatchObject({ id, expiresAt });
  }
});

test('A key with a daily limit may lower that of another key, and not raise it', async () => {
  const tenant = await operators({ recipientsPerDay: 10 });
  const { id } = await operators({ scopes: ['send'], recipientsPerDay: 5 });
  const set = (recipientsPerDay: number) =>
    call('PUT', `/v1/keys/${id}`, { key: tenant.key, body: { recipientsPerDay } });
  expect((await set(4)).status).toBe(200);
  expect((await set(9)).json).toMatchObject({ code: 'overLimit', limit: 'recipientsPerDay' });
});

test('A key with a daily limit gets no secret of another key, with which it could send as much again, and its own', async () => {
  const limits = { recipientsPerDay: 10 };
  const tenant = await operators(limits);
  const { id } = await operators({ scopes: ['send'], ...limits });
  const rotate = (key: string) =>
    call('POST', `/v1/keys/${key}/rotate`, { key: tenant.key, body: { overlap: '0s' } });
  expect((await rotate(id)).json).toMatchObject({ code: 'overLimit', limit: 'recipientsPerDay' });
  expect((await volley.keys.get(id)).oldSecretUntil).toBeNull();
  expect((await rotate(tenant.id)).json).toMatchObject({ id: tenant.id });
});

test('A changed limit of requests holds from the next request on, and what was spent stays spent', async () => {
  const { id, key } = await operators({ scopes: ['status'], requestsPerMinute: 3 });
  await me(key);
  const set = (body: object) => call('PUT', `/v1/keys/${id}`, { body });
  await set({ requestsPerMinute: 2 });
  expect((await call('GET', '/v1/me', { key })).headers.get('ratelimit-remaining')).toBe('0');
  expect((await call('GET', '/v1/me', { key })).status).toBe(429);
  await set({ lift: ['requestsPerMinute'] });
  expect((await call('GET', '/v1/me', { key })).status).toBe(200);
});

test('A change of nothing is refused', async () => {
  const { id } = await operators();
  const { json } = await call('PUT', `/v1/keys/${id}`, { body: {} });
  expect(json).toMatchObject({ status: 400, detail: 'Name a limit to set or to lift.' });
});

test('The usage of a key is found by its id, even after it was revoked, and not by its name', async () => {
  const { id } = await operators();
  const usage = (key: string) => call('GET', `/v1/usage?key=${key}`);
  const none = { status: 200, json: { days: [] } };
  expect(await usage(id)).toMatchObject(none);
  await volley.keys.revoke(id);
  expect(await usage(id)).toMatchObject(none);
  for (const wrong of ['tenant', '0123456789ab'])
    expect(await usage(wrong)).toMatchObject({
      status: 400,
      json: {
        detail: `There is no API key with the id "${wrong}": use an id of \`keys list\`, not a name.`,
      },
    });
});
