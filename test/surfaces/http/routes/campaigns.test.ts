import { expect, test } from 'vitest';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api, prefix, redis } = scene('http-campaigns');
const { call, volley } = await api({ DEFAULT_COUNTRY: 'GB' });

/** A new campaign each time, which starts in the far future. */
let created = 0;
function campaign(more: object = {}) {
  created += 1;
  const recipients = [
    { to: '+447700900123', name: 'Anna', no: created },
    { to: '07700 900124', name: 'Bo', no: created },
    { to: '+44 7700 900123', name: 'Anna', no: created },
  ];
  return { recipients, message: 'Hi {{name}}, {{no}}', sendAt: '2999-01-01T00:00:00Z', ...more };
}
const create = (body: unknown, headers: Record<string, string> = {}) =>
  call('POST', '/v1/campaigns', { body, headers });
const idOf = ({ json }: { json: unknown }): string => (json as { id: string }).id;

test('A campaign created from JSON has the status that the library returns', async () => {
  const reply = await create(campaign({ name: 'Spring', priority: 'high', validFor: '24h' }));
  const id = idOf(reply);
  expect(reply.status).toBe(201);
  expect(reply.headers.get('location')).toBe(`/v1/campaigns/${id}`);
  const { json } = await call('GET', `/v1/campaigns/${id}`);
  const { createdAt, sendAt } = json as { createdAt: string; sendAt: string };
  expect(sendAt).toBe('2999-01-01T00:00:00.000Z');
  expect(reply.json).toEqual({
    id,
    lane: 'default',
    state: 'scheduled',
    createdAt,
    sendAt,
    endedAt: null,
    recipientCount: 2,
    duplicates: 1,
    differentTexts: 0,
    sentBefore: null,
    repeats: [{ line: 3, firstLine: 1, to: '+447700900123', text: 'same' }],
    invalid: 0,
    suppressed: 0,
    outcome: 'created',
    cost: null,
    errors: [],
    warnings: [expect.stringMatching(/^The sender is a name/)],
  });
  expect(json).toEqual(JSON.parse(JSON.stringify(await volley.status(id))));
  expect(json).toMatchObject({ name: 'Spring', state: 'scheduled', counts: { total: 2, planned: 2 } });
});

test('An idempotency key returns the existing campaign, and rejects other content', async () => {
  const headers = { 'idempotency-key': 'order-1' };
  const body = campaign();
  const first = await create(body, headers);
  const again = await create(body, headers);
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.json).toEqual({ ...(first.json as object), outcome: 'existing' });
  const other = await create({ ...body, message: 'Something else' }, headers);
  expect([other.status, other.json]).toMatchObject([422, { code: 'conflict', campaign: idOf(first) }]);
  const renamed = await create({ ...body, name: 'Another' }, headers);
  expect(renamed.json).toMatchObject({ outcome: 'existing' });
});

test('A row without its number or a value is invalid, whether the member is missing, null, or wrong', async () => {
  const recipients = [
    { to: '+447700900123' },
    { name: 'Bo' },
    { to: null, name: 'Cy' },
    { to: '+447700900124', name: null },
    { to: 12, name: 'Dee' },
    { to: 447700900125, name: 'Eve', note: 7 },
    { to: '+447700900126', name: 'Fay' },
  ];
  const refused = await create(campaign({ recipients, message: 'Hi {{name}}' }));
  expect([refused.status, refused.json]).toMatchObject([422, { invalid: 5, rows: 7 }]);
  const { errors } = refused.json as { errors: { pointer: string; message: string }[] };
  expect(errors).toMatchObject([
    { pointer: '/recipients/0/name', message: expect.stringMatching(/^It is empty/) },
    { pointer: '/recipients/1/to', message: expect.stringMatching(/^It is empty/) },
    { pointer: '/recipients/2/to', message: expect.stringMatching(/^It is empty/) },
    { pointer: '/recipients/3/name', message: expect.stringMatching(/^It is empty/) },
    { pointer: '/recipients/4/to', message: expect.stringContaining('"12"') },
  ]);
  const skipped = await create(campaign({ recipients, message: 'Hi {{name}}', skipInvalid: true }));
  expect([skipped.status, skipped.json]).toMatchObject([201, { recipientCount: 2, invalid: 5 }]);
});

test('The error of a row whose number has another name says the right name', async () => {
  const refused = await create(campaign({ recipients: [{ phone: '+447700900123' }], message: 'Hi' }));
  expect([refused.status, refused.json]).toMatchObject([
    422,
    {
      errors: [
        { pointer: '/recipients/0/to', message: 'It is missing, but `phone` has a number; name it `to`.' },
      ],
    },
  ]);
});

test('Rows with many different members have at most 200 columns', async () => {
  const recipients = Array.from({ length: 900 }, (_, at) => ({ to: '+447700900123', [`c${at}`]: at }));
  const { json } = await call('POST', '/v1/preview', { body: { recipients, message: 'Hi' } });
  expect((json as { columns: string[] }).columns).toHaveLength(200);
});

test('Without a default sender, a campaign without `sender` is rejected, as JSON and as a form', async () => {
  const bare = await api({ SENDER_ADDRESS: '' });
  const form = campaignForm({ message: 'Hi' }, 'phone\n+447700900123\n');
  for (const options of [{ body: campaign() }, { form }]) {
    const { status, json } = await bare.call('POST', '/v1/campaigns', options);
    expect([status, json]).toMatchObject([400, { errors: [{ pointer: '/sender' }] }]);
    const { detail } = json as { detail: string };
    expect(detail).toBe('There is no sender: set `sender` or SENDER_ADDRESS.');
    expect(detail).not.toContain('--');
  }
});

test('A compressed body is rejected with 415, not as invalid JSON', async () => {
  for (const encoding of ['gzip', 'br']) {
    const headers = { 'content-encoding': encoding };
    const { status, json } = await call('POST', '/v1/preview', { headers, body: campaign() });
    expect([status, json]).toMatchObject([
      415,
      { code: 'unsupported', detail: expect.stringContaining('Content-Encoding') },
    ]);
  }
  const headers = { 'content-encoding': 'identity' };
  expect((await call('POST', '/v1/preview', { headers, body: campaign() })).status).toBe(200);
});

test('A command without a body may have a content type, an empty object, or null', async () => {
  for (const text of ['', '{}', 'null']) {
    const headers = { 'content-type': 'application/json' };
    expect((await call('POST', '/v1/lanes/default/resume', { headers, text })).status).toBe(200);
  }
});

test('Half a million validation errors do not fill the memory', async () => {
  const body = { recipients: Array.from({ length: 499_000 }, () => 0), message: 'Hi', also: [0] };
  const before = process.resourceUsage().maxRSS;
  const { status, json } = await call('POST', '/v1/preview', { body });
  expect([status, (json as { errors: unknown[] }).errors.length]).toEqual([400, 20]);
  expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(200);
});

test('A cursor stays valid after its campaign is removed', async () => {
  const ids = (await volley.list({ limit: 1_000 })).map(({ id }) => id);
  const [, second = '', third] = ids;
  const index = `${prefix}:campaigns`;
  const member = `${second} default`;
  const page = async (query: string) => {
    const { json } = await call('GET', `/v1/campaigns?${query}`);
    return json as { campaigns: { id: string }[]; nextCursor: string };
  };
  const cursors = [(await page('limit=1')).nextCursor, (await page('limit=2')).nextCursor];
  expect(await redis.zrem(index, member)).toBe(1);
  for (const cursor of cursors) {
    const { campaigns } = await page(`limit=1&cursor=${cursor}`);
    expect(campaigns.map(({ id }) => id)).toEqual([third]);
  }
  await redis.zadd(index, 0, member);
});

test('A campaign can be paused, resumed, and cancelled, and rejects commands that its state does not allow', async () => {
  const id = idOf(await create(campaign()));
  const send = (command: string, body?: object) => call('POST', `/v1/campaigns/${id}/${command}`, { body });
  expect((await send('pause')).json).toEqual({ id, state: 'paused', inFlight: 0 });
  expect((await call('GET', '/v1/campaigns?state=paused')).json).toMatchObject({ campaigns: [{ id }] });
  expect((await send('resume')).json).toEqual({ id, state: 'scheduled' });
  expect((await send('resolve', { as: 'abandon' })).json).toEqual({
    requests: 0,
    recipientCount: 0,
    tooEarly: null,
  });
  expect((await send('resolve', { as: 'abandon', request: `${id}-1` })).status).toBe(404);
  expect((await send('resolve', { as: 'forget' })).json).toMatchObject({ errors: [{ pointer: '/as' }] });
  expect((await send('cancel')).json).toEqual({ id, state: 'cancelled', cancelled: 2, inFlight: 0 });
  const { status, json } = await send('pause');
  expect([status, json]).toMatchObject([
    409,
    { code: 'invalidState', detail: `Campaign ${id} is cancelled; you cannot pause it.` },
  ]);
  const resend = await send('resolve', { as: 'resend' });
  expect([resend.status, resend.json]).toMatchObject([409, { code: 'invalidState' }]);
  expect((await call('POST', '/v1/campaigns/nowhere/pause')).status).toBe(404);
});

test('`country` allows national spelling', async () => {
  const bare = await api({ REDIS_PREFIX: `${prefix}-abroad`, DEFAULT_COUNTRY: '' });
  const post = async (path: string, body: object) =>
    (await bare.call('POST', path, { body: { country: 'gb', ...body } })).json;
  const number = '07700 900155';
  const id = idOf(
    await bare.call('POST', '/v1/campaigns', {
      body: campaign({ recipients: [{ to: '+447700900155' }], message: 'Hi' }),
    }),
  );
  expect(await post('/v1/find', { number })).toMatchObject({ found: [{ campaign: id }] });
  const numbers = ['+447700900156', number];
  expect(await post('/v1/suppressions', { numbers })).toMatchObject({ numberCount: 2 });
  expect(await post('/v1/suppressions/remove', { numbers })).toMatchObject({ numberCount: 2 });
});
