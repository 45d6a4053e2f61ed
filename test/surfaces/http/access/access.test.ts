import type { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SOON } from '../../../base/soon.js';
import { client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api } = scene('http-access', { lanes: ['main', 'other'] });
const { call, key, volley, origin } = await api();

const campaign = (lane: string) => ({
  recipients: [{ to: '+447700900123' }],
  message: `Hi ${lane}`,
  lane,
  sendAt: '2999-01-01T00:00:00Z',
});

test('A key that is limited to a lane follows only the events of that lane', async () => {
  const own = await key(['read'], ['main']);
  const reply = await fetch(`${origin}/v1/events`, { headers: { authorization: `Bearer ${own}` } });
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(async () => reader?.cancel());
  const readUntil = async (part: string): Promise<string> => {
    let text = '';
    while (!text.includes(part)) {
      const chunk = await reader?.read();
      if (chunk?.value === undefined) throw new Error(`The stream of status ${reply.status} ended: ${text}`);
      text += chunk.value;
    }
    return text;
  };
  await readUntil('retry: ');
  for (const lane of ['other', 'main']) {
    const body = { ...campaign(lane), message: `Follow ${lane}` };
    expect((await call('POST', '/v1/campaigns', { body })).status).toBe(201);
  }
  const [, data = ''] = /^data: (.*)$/m.exec(await readUntil('"lane":"main"')) ?? [];
  expect(JSON.parse(data)).toMatchObject({ type: 'campaign.imported', lane: 'main' });
});

test('A search for a number covers only the lanes of the key, and stops when the client disconnects', async () => {
  const own = await key(['read'], ['main']);
  const find = vi.spyOn(volley, 'find');
  onTestFinished(() => find.mockRestore());
  const socket = client(origin);
  const body = JSON.stringify({ number: '+447700900123' });
  const head = `POST /v1/find HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  await vi.waitUntil(() => find.mock.calls.length > 0, SOON);
  socket.destroy();
  const [, options] = find.mock.calls[0] ?? [];
  expect(options?.lanes).toEqual(['main']);
  await vi.waitUntil(() => options?.signal?.aborted === true, SOON);
});

test('A key whose lane no longer exists does not learn the names of other lanes', async () => {
  const before = await api({ LANES_FILE: '', API_KEY: 'key' });
  const own = await before.key(['send', 'operate'], ['default']);
  const { lane: _, ...unnamed } = campaign('main');
  const named = { ...unnamed, lane: 'default' };
  for (const [body, error] of [
    [unnamed, [400, { errors: [{ pointer: '/lane' }] }]],
    [named, [404, { detail: 'There is no lane default.' }]],
    // With other errors, it is one of them.
    [{ ...named, message: '' }, [400, { errors: [{ pointer: '/message' }, { pointer: '/lane' }] }]],
  ] as const) {
    const { status, json } = await call('POST', '/v1/campaigns', { key: own, body });
    expect([status, json]).toMatchObject(error);
    expect(JSON.stringify(json)).not.toMatch(/main|other/);
  }
  const { status, json } = await call('POST', '/v1/lanes/default/resume', { key: own });
  expect([status, json]).toMatchObject([404, { detail: 'There is no lane default.' }]);
});

test('A key that is limited to a lane lifts its own hold, but not one of an operator for all lanes', async () => {
  const tenant = await key(['status', 'operate'], ['main']);
  const operator = await key(['status', 'operate']);
  const state = async () => (await call('GET', '/v1/lanes/main')).json;
  const post = (own: string, command: string) => call('POST', `/v1/lanes/main/${command}`, { key: own });

  expect((await post(tenant, 'hold')).status).toBe(200);
  expect((await post(tenant, 'resume')).status).toBe(200);
  for (const hold of [
    () => post(operator, 'hold'),
    () => volley.holdLane('main'),
    // It takes the place of the tenant's own hold, which does not take its place.
    async () => {
      await post(tenant, 'hold');
      await post(operator, 'hold');
      await post(tenant, 'hold');
    },
  ]) {
    await hold();
    const refused = await post(tenant, 'resume');
    expect(refused).toMatchObject({ status: 403, json: { code: 'forbidden' } });
    expect(refused.json).toMatchObject({
      detail: expect.stringContaining('An operator holds the lane main'),
    });
    expect(await state()).toMatchObject({ state: 'held' });
    expect((await post(operator, 'resume')).status).toBe(200);
    expect(await state()).toMatchObject({ state: 'open' });
  }
  // A hold of a tenant can always be lifted from above.
  await post(tenant, 'hold');
  expect((await post(operator, 'resume')).status).toBe(200);
});

test('A list that one key has sent is a repeat for every other key of the lane, with and without limits', async () => {
  const limited = await key(['send'], ['main']);
  const all = await key(['send']);
  for (const [at, order] of [
    [limited, all],
    [all, limited],
  ].entries()) {
    const body = { ...campaign('main'), message: `moved to another key, ${at}` };
    const answers = [];
    for (const one of order) answers.push(await call('POST', '/v1/campaigns', { key: one, body }));
    expect(answers).toMatchObject([{ status: 201 }, { status: 409, json: { code: 'repeated' } }]);
    expect((await call('POST', '/v1/campaigns', { body: { ...body, lane: 'other' } })).status).toBe(201);
  }
});

test('A cursor reveals no campaign of another lane, and is valid only for its own list', async () => {
  const own = await key(['read', 'send'], ['main']);
  const ids: string[] = [];
  for (const lane of ['main', 'other']) {
    const { json } = await call('POST', '/v1/campaigns', {
      body: { ...campaign(lane), message: `cursor ${lane}` },
    });
    ids.push((json as { id: string }).id);
  }
  const [mine, theirs = ''] = ids;
  const first = await call('GET', '/v1/campaigns?limit=1', { key: own });
  const { campaigns, nextCursor } = first.json as { campaigns: { id: string }[]; nextCursor: string };
  expect(campaigns.map(({ id }) => id)).toEqual([mine]);
  // Before, it was an id of a campaign.
  expect(nextCursor).toMatch(/^[\w-]{30,60}$/);
  expect(Buffer.from(nextCursor, 'base64url').toString('latin1')).not.toContain(theirs.slice(0, 8));
  const next = await call('GET', `/v1/campaigns?limit=1&cursor=${nextCursor}`, { key: own });
  expect(next.status).toBe(200);
  const { nextCursor: other } = (await call('GET', '/v1/audit?limit=1')).json as { nextCursor: string };
  for (const cursor of [
    mine,
    theirs,
    'x',
    '',
    other,
    `${nextCursor.startsWith('A') ? 'B' : 'A'}${nextCursor.slice(1)}`,
  ]) {
    const { status, json } = await call('GET', `/v1/campaigns?cursor=${cursor}`, { key: own });
    const why =
      cursor === ''
        ? 'empty: give it a value, or leave it out.'
        : 'invalid. Use the `nextCursor` of an earlier page.';
    expect([cursor, status, json]).toMatchObject([
      cursor,
      400,
      { detail: `The parameter \`cursor\` is ${why}` },
    ]);
  }
});

const createWith = (own: string, idempotencyKey: string, lane: string) =>
  call('POST', '/v1/campaigns', {
    key: own,
    headers: { 'idempotency-key': idempotencyKey },
    body: { ...campaign(lane), message: `with the key ${idempotencyKey}` },
  });

test('An idempotency key belongs to its lane, whichever API key of the lane sends it', async () => {
  const all = await key(['send']);
  const [main, moved] = [await key(['send'], ['main']), await key(['send'], ['main'])];
  const other = await key(['send'], ['other', 'main']);
  for (const [idempotencyKey, first] of [
    ['order-7', all],
    ['order-8', main],
    ['order-9', other],
  ] as const) {
    const created = await createWith(first, idempotencyKey, 'main');
    expect(created.status).toBe(201);
    for (const own of [all, main, moved, other]) {
      const repeated = await createWith(own, idempotencyKey, 'main');
      expect(repeated).toMatchObject({ status: 200, json: { id: (created.json as { id: string }).id } });
    }
    expect((await createWith(other, idempotencyKey, 'other')).status).toBe(201);
    expect((await createWith(all, idempotencyKey, 'other')).status).toBe(200);
  }
});

test('No two pairs of a lane and an idempotency key are the same', async () => {
  const [all, limited] = [await key(['send']), await key(['send'], ['other'])];
  expect((await createWith(limited, 'order-11', 'other')).status).toBe(201);
  for (const same of ['other/order-11', 'order-11', '["other","order-11"]'])
    expect([same, (await createWith(all, same, 'main')).status]).toEqual([same, 201]);
  expect((await createWith(limited, 'order-11', 'other')).status).toBe(200);
});

test('A key is taken only from its addresses, however they are written', async () => {
  const addresses = ['192.0.2.0/24', '2001:db8::/32', '203.0.113.7'];
  const { key: own } = await volley.keys.create({ name: 'shop', scopes: ['status'], addresses });
  const behind = await api({ HTTP_TRUSTED_PROXIES: '127.0.0.1' });
  const from = async (address: string) =>
    (await behind.call('GET', '/v1/lanes', { key: own, headers: { 'x-forwarded-for': address } })).status;
  for (const address of ['198.51.100.1', '192.0.3.1', '2001:db9::1', '::ffff:192.0.3.1'])
    expect([address, await from(address)]).toEqual([address, 403]);
  for (const address of ['192.0.2.9', '2001:db8::9', '::ffff:192.0.2.9', '203.0.113.7'])
    expect([address, await from(address)]).toEqual([address, 200]);
});

test('A key can have 200 uploads in progress', async () => {
  const [slow, quick] = [await key(['send']), await key(['send'])];
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const begin = async (): Promise<void> => {
    const socket = client(origin);
    sockets.push(socket);
    // The previews below may take its place; it then tries again.
    socket.once('data', () => void begin());
    const head = `POST /v1/preview HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${slow}\r\n`;
    await new Promise<void>((done) =>
      socket.write(`${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n`, () => done()),
    );
  };
  const preview = async (own: string) =>
    (await call('POST', '/v1/preview', { key: own, body: campaign('main') })).status;
  await Promise.all(Array.from({ length: 200 }, begin));
  await expect.poll(() => preview(slow)).toBe(429);
  expect(await preview(quick)).toBe(200);
  sockets[0]?.destroy();
  await expect.poll(() => preview(slow)).toBe(200);
});
