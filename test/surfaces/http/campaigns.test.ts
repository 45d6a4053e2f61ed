import { expect, test } from 'vitest';
import { campaignForm } from '../../scene/api.js';
import { scene } from '../../scene/scene.js';

const { api, prefix, redis } = scene('http-campaigns');
let now = Date.parse('2030-01-01T00:00:00Z');
const { call, volley, key } = await api({ DEFAULT_COUNTRY: 'GB' }, { clock: () => now });

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
    state: 'scheduled',
    createdAt,
    sendAt,
    endedAt: null,
    recipientCount: 2,
    duplicates: 1,
    differentTexts: 0,
    repeats: [{ line: 3, firstLine: 1, to: '+447700900123', text: 'same' }],
    invalid: 0,
    suppressed: 0,
    existing: false,
    cost: null,
    errors: [],
    warnings: [expect.stringMatching(/^The sender is a name/)],
  });
  expect(json).toEqual(JSON.parse(JSON.stringify(await volley.status(id))));
  expect(json).toMatchObject({ name: 'Spring', state: 'scheduled', counts: { total: 2, planned: 2 } });
});

test('Two texts for one number are both sent, or refused with both rows, but never lost', async () => {
  const to = '+447700900123';
  const orders = [
    { to, what: 'haircut', no: 0 },
    { to, what: 'massage', no: 0 },
    { to, what: 'haircut', no: 0 },
  ];
  const body = campaign({ recipients: orders, message: 'Your {{what}} {{no}} is booked' });
  const refused = await create(body);
  expect([refused.status, refused.json]).toMatchObject([
    422,
    {
      code: 'differentTexts',
      detail: expect.stringMatching(
        /^Line 2 has the number of line 1, but a different text\. Nothing was sent\./,
      ),
      differentTexts: 1,
      errors: [{ pointer: '/recipients/1/to', line: 2, column: 'to' }],
    },
  ]);
  // Leaving out invalid rows leaves out no messages.
  expect((await create({ ...body, skipInvalid: true })).json).toMatchObject({ code: 'differentTexts' });

  const repeats = [
    { line: 2, firstLine: 1, to, text: 'different' },
    { line: 3, firstLine: 1, to, text: 'same' },
  ];
  const both = await create({ ...body, duplicates: 'keep' });
  expect([both.status, both.json]).toMatchObject([
    201,
    { recipientCount: 2, duplicates: 1, differentTexts: 1, repeats },
  ]);
  const reportOf = async (reply: { json: unknown }) => {
    const rows: unknown[] = [];
    for await (const row of volley.report(idOf(reply))) rows.push(row);
    return rows;
  };
  expect(await reportOf(both)).toMatchObject([
    { to, status: 'planned' },
    { to, status: 'planned' },
    { to, status: 'duplicate', reason: 'line 3 repeats line 1' },
  ]);
  const first = await create({ ...body, duplicates: 'first' });
  expect(first.json).toMatchObject({ recipientCount: 1, duplicates: 2, differentTexts: 1, repeats });
  expect(first.json).toMatchObject({
    warnings: [
      expect.stringMatching(
        /^1 number appears again with another text: line 2 \(same number as line 1\)\. Only/,
      ),
      expect.stringMatching(/^The sender/),
    ],
  });
  expect((await reportOf(first)).at(-1)).toMatchObject({
    status: 'duplicate',
    reason: 'line 3 repeats line 1',
  });

  const upload = (duplicates?: string) =>
    campaignForm(
      { message: 'Your {{what}}', sendAt: body.sendAt, duplicates },
      `to,what\n${to},haircut\n${to},massage\n`,
    );
  const csv = await call('POST', '/v1/preview', { form: upload() });
  expect(csv.json).toMatchObject({ recipientCount: 1, duplicates: 1, differentTexts: 1 });
  expect(csv.json).toMatchObject({
    warnings: [
      expect.stringContaining('line 3 (same number as line 2)'),
      expect.stringMatching(/^The sender/),
    ],
  });
  expect((await call('POST', '/v1/campaigns', { form: upload('refuse') })).json).toMatchObject({
    code: 'differentTexts',
    errors: [{ pointer: '/recipients', line: 3 }],
  });
});

test('An idempotency key returns the existing campaign, and rejects other content', async () => {
  const headers = { 'idempotency-key': 'order-1' };
  const body = campaign();
  const first = await create(body, headers);
  const again = await create(body, headers);
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.json).toEqual({ ...(first.json as object), existing: true });
  const other = await create({ ...body, message: 'Something else' }, headers);
  expect([other.status, other.json]).toMatchObject([422, { code: 'conflict', campaign: idOf(first) }]);
  const changes = {
    text: { message: 'Something else' },
    list: { recipients: body.recipients.slice(0, 1) },
    sender: { sender: 'OTHER' },
    'sender name': { senderName: 'Another' },
    time: { sendAt: '2999-02-01T00:00:00Z' },
    validity: { validFor: '1h' },
    priority: { priority: 'high' },
  };
  for (const [what, change] of Object.entries(changes)) {
    const refused = await create({ ...body, ...change }, headers);
    expect([what, refused.status, refused.json]).toMatchObject([
      what,
      422,
      { detail: expect.stringMatching(new RegExp(`another .*\\b${what}\\b`)) },
    ]);
  }
  const renamed = await create({ ...body, name: 'Another' }, headers);
  expect(renamed.json).toMatchObject({ existing: true });
});

test('Concurrent requests with one idempotency key create one campaign', async () => {
  const body = campaign();
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => create(body, { 'idempotency-key': 'order-2' })),
  );
  expect(new Set(replies.map(idOf)).size).toBe(1);
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
});

test('A campaign that equals one of the last 24 hours is rejected unless `again` is set', async () => {
  const body = campaign();
  const first = await create(body);
  const second = await create(body);
  expect([second.status, second.json]).toMatchObject([409, { code: 'repeated', campaign: idOf(first) }]);
  expect((await create({ ...body, again: true })).status).toBe(201);
});

test('Invalid rows reject the list by line, column, and reason, or are left out', async () => {
  const body = campaign();
  body.recipients.splice(1, 0, { to: '12', name: 'Cy', no: 1 }, { to: '+447700900125', name: '', no: 1 });
  const { status, json } = await create(body);
  expect(status).toBe(422);
  expect(json).toMatchObject({ code: 'invalidRows', invalid: 2, rows: 5 });
  const { errors } = json as { errors: { message: string }[] };
  expect(errors).toMatchObject([
    { pointer: '/recipients/1/to', line: 2, column: 'to' },
    { pointer: '/recipients/2/name', line: 3, column: 'name' },
  ]);
  for (const { message } of errors) expect(message).toMatch(/\w/);

  const skipped = await create({ ...body, skipInvalid: true });
  expect(skipped.status).toBe(201);
  expect(skipped.json).toMatchObject({ recipientCount: 2, invalid: 2, errors: [{ line: 2 }, { line: 3 }] });

  const none = await create({ ...body, recipients: body.recipients.slice(1, 3), skipInvalid: true });
  expect([none.status, none.json]).toMatchObject([
    422,
    {
      code: 'invalidRows',
      detail: '2 of 2 rows are invalid. Nothing was sent. Fix them.',
      errors: [{ line: 1, column: 'to' }, { line: 2 }],
    },
  ]);
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

test('A member that objects inherit, such as toString, does not count as a column', async () => {
  const recipients: object[] = [{ to: '+447700900123', toString: 'Anna' }, { to: '+447700900124' }];
  const { json } = await call('POST', '/v1/preview', { body: { recipients, message: 'Hi {{toString}}' } });
  expect(json).toMatchObject({
    recipientCount: 1,
    errors: [{ line: 2, column: 'toString', message: expect.stringMatching(/^It is empty/) }],
  });
});

test('Rows with many different members have at most 200 columns', async () => {
  const recipients = Array.from({ length: 3_000 }, (_, at) => ({ to: '+447700900123', [`c${at}`]: at }));
  const { json } = await call('POST', '/v1/preview', { body: { recipients, message: 'Hi' } });
  expect((json as { columns: string[] }).columns).toHaveLength(200);
});

test.each([
  ['an empty object', {}, ['/recipients', '/message']],
  ['an unknown member', campaign({ mesage: 'Hi' }), ['/mesage']],
  ['a message that is not a string', campaign({ message: 7 }), ['/message']],
  ['an empty list', campaign({ recipients: [] }), ['/recipients']],
  ['a recipient that is not an object', campaign({ recipients: ['+447700900123'] }), ['/recipients/0']],
  ['a value that is an object', campaign({ recipients: [{ to: '1', a: {} }] }), ['/recipients/0/a']],
  ['a sender that is too long', campaign({ sender: 'A name too long' }), ['/sender']],
  ['a placeholder without a column', campaign({ message: 'Hi {{nmae}}' }), ['/message']],
  ['an unknown country', campaign({ country: 'ZZ' }), ['/country']],
  [
    'an unknown lane and another error',
    campaign({ lane: 'nowhere', validFor: 'soon' }),
    ['/validFor', '/lane'],
  ],
  ['a time without a time zone', campaign({ sendAt: '2999-01-01T00:00:00' }), ['/sendAt']],
  ['a time in the past', campaign({ sendAt: '2029-12-31T23:59:59Z' }), ['/sendAt']],
  ['an invalid duration', campaign({ validFor: 'soon' }), ['/validFor']],
  ['an unknown priority', campaign({ priority: 'low' }), ['/priority']],
])('An error names the invalid members: %s', async (_what, body, pointers) => {
  const { status, headers, json } = await create(body);
  expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json']);
  expect((json as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)).toEqual(pointers);
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

test('A time may omit its seconds, as on the command line', async () => {
  const { status, json } = await create(campaign({ message: 'At nine', sendAt: '2999-01-01T09:00+01:00' }));
  expect(status).toBe(201);
  const { id } = json as { id: string };
  expect((await call('GET', `/v1/campaigns/${id}`)).json).toMatchObject({
    sendAt: '2999-01-01T08:00:00.000Z',
  });
});

test('A retry returns the existing campaign even after its start time', async () => {
  const body = campaign({ sendAt: '2030-01-01T00:00:01Z' });
  const headers = { 'idempotency-key': 'order-3' };
  const first = await create(body, headers);
  expect(first.status).toBe(201);
  now += 2_000;
  expect(await create(body, headers)).toMatchObject({
    status: 200,
    json: { id: idOf(first), existing: true },
  });
  const late = await create(campaign({ sendAt: '2030-01-01T00:00:01Z' }), { 'idempotency-key': 'order-4' });
  expect([late.status, late.json]).toMatchObject([400, { errors: [{ pointer: '/sendAt' }] }]);
});

test('A body that is not JSON, is too large, or has another type is rejected', async () => {
  const post = (type: string, body: string) =>
    call('POST', '/v1/campaigns', { headers: { 'content-type': type }, form: body as unknown as FormData });
  expect((await post('application/json', '{"message":')).status).toBe(400);
  expect((await post('application/json', '{"__proto__":{"a":1}}')).status).toBe(400);
  for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
    const { status, json } = await post(type, 'Hi');
    expect([status, json]).toMatchObject([
      415,
      {
        code: 'unsupported',
        detail:
          'Send JSON with `Content-Type: application/json`, or a form (`multipart/form-data`) with the list as CSV.',
      },
    ]);
  }
  const long = JSON.stringify(campaign({ message: 'x'.repeat(10_000_001) }));
  const { status, json } = await post('application/json', long);
  expect([status, json]).toMatchObject([
    413,
    {
      code: 'tooLarge',
      detail:
        'The limit for JSON with a list is 10 MB (HTTP_MAX_JSON_MB). Send a longer list as CSV in a form (`multipart/form-data`).',
    },
  ]);
});

test('An error about the body says what the route accepts', async () => {
  const post = async (path: string, type: string, body: string) => {
    const form = body as unknown as FormData;
    return (await call('POST', path, { headers: { 'content-type': type }, form })).json;
  };
  const detail = (text: string) => ({ detail: text });
  expect(await post('/v1/find', 'text/plain', 'Hi')).toMatchObject(
    detail('Send JSON with `Content-Type: application/json`.'),
  );
  expect(await post('/v1/lanes/default/resume', 'text/plain', 'Hi')).toMatchObject(
    detail('This request takes no body.'),
  );
  const long = JSON.stringify({ number: 'x'.repeat(10_000_001) });
  expect(await post('/v1/find', 'application/json', long)).toMatchObject(
    detail('The limit for a body without a list is 100 kB.'),
  );
});

test('A body that is not UTF-8 is rejected, so no name is sent garbled', async () => {
  const body = Buffer.from(JSON.stringify(campaign({ message: 'Hi José' })), 'latin1');
  const { status, json } = await call('POST', '/v1/preview', {
    headers: { 'content-type': 'application/json' },
    form: body as unknown as FormData,
  });
  expect([status, json]).toMatchObject([
    400,
    { code: 'badInput', detail: expect.stringContaining('not UTF-8') },
  ]);
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

test('A command without a body may have a content type or an empty object, but no members', async () => {
  const order = (body: string) =>
    call('POST', '/v1/lanes/default/resume', {
      headers: { 'content-type': 'application/json' },
      form: body as unknown as FormData,
    });
  for (const body of ['', '{}', 'null']) expect((await order(body)).status).toBe(200);
  expect(await order('{"dryRun":true}')).toMatchObject({
    status: 400,
    json: { code: 'badInput', detail: 'This request takes no body.' },
  });
  const { status, json } = await call('POST', '/v1/find', {
    headers: { 'content-type': 'application/json' },
    form: '' as unknown as FormData,
  });
  expect([status, json]).toMatchObject([400, { code: 'badInput' }]);
});

/** Different numbers in E.164. */
const many = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `+4477009${String(at).padStart(5, '0')}` }));

test('A long list is validated to its end, and an error has its position in the whole list', async () => {
  const recipients: object[] = many(3_456);
  const { json } = await call('POST', '/v1/preview', { body: campaign({ recipients, message: 'Hi' }) });
  expect(json).toMatchObject({ rows: 3_456, recipientCount: 3_456 });
  recipients[2_345] = { to: {} };
  const refused = await call('POST', '/v1/preview', { body: campaign({ recipients, message: 'Hi' }) });
  expect(refused).toMatchObject({ status: 400, json: { errors: [{ pointer: '/recipients/2345/to' }] } });
});

test('A million validation errors do not fill the memory', async () => {
  const body = { recipients: Array.from({ length: 1_000_000 }, () => 0), message: 'Hi', also: [0] };
  const before = process.resourceUsage().maxRSS;
  const { status, json } = await call('POST', '/v1/preview', { body });
  expect([status, (json as { errors: unknown[] }).errors.length]).toEqual([400, 20]);
  expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(400);
});

test('A recipient has at most 200 members', async () => {
  const more = (count: number) =>
    Object.fromEntries(Array.from({ length: count - 1 }, (_, at) => [`c${at}`, 1]));
  const preview = (count: number) =>
    call('POST', '/v1/preview', {
      body: { recipients: [{ to: '+447700900123', ...more(count) }, { to: '+447700900124' }], message: 'Hi' },
    });
  expect((await preview(200)).status).toBe(200);
  expect(await preview(201)).toMatchObject({ status: 400, json: { errors: [{ pointer: '/recipients/0' }] } });
});

test('A preview returns recipients and segments, and stores nothing', async () => {
  const before = (await volley.list({ limit: 1_000 })).length;
  const { status, json } = await call('POST', '/v1/preview', { body: campaign() });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    recipientCount: 2,
    duplicates: 1,
    encodings: { gsm7: 2, ucs2: 0 },
    segments: { total: 2 },
  });
  expect((await volley.list({ limit: 1_000 })).length).toBe(before);
});

test('Pages list every campaign once, newest first', async () => {
  const expected = (await volley.list({ limit: 1_000 })).map(({ id }) => id);
  expect(expected.length).toBeGreaterThan(5);
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { json } = await call('GET', `/v1/campaigns?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
    const page = json as { campaigns: { id: string }[]; nextCursor: string | null };
    expect(page.campaigns.length).toBeLessThanOrEqual(2);
    ids.push(...page.campaigns.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(ids).toEqual(expected);
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

test.each([
  'limit=0',
  'limit=201',
  'limit=x',
  'state=gone',
  'cursor=%2F',
  'cursor=xxx',
  'cursor=',
  'stat=running',
])('The query of a list is validated: %s', async (query) => {
  const { status, json } = await call('GET', `/v1/campaigns?${query}`);
  expect([status, json]).toMatchObject([400, { errors: [{ pointer: `query/${query.split('=')[0]}` }] }]);
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

test('A number can be found, suppressed, listed, and removed from the suppression list', async () => {
  const number = '+447700900124';
  const { json } = await call('POST', '/v1/find', { body: { number: '07700 900124' } });
  const { found } = json as { found: { to: string }[] };
  expect(found.length).toBeGreaterThan(3);
  expect(new Set(found.map(({ to }) => to))).toEqual(new Set([number]));

  const add = (numbers: string[]) => call('POST', '/v1/suppressions', { body: { numbers } });
  expect((await add([number, '07700 900124', '+447700900199'])).json).toMatchObject({ added: 2 });
  const wrong = await add(['+447700900198', 'Anna']);
  expect([wrong.status, wrong.json]).toMatchObject([400, { code: 'badInput' }]);
  const list = async () =>
    ((await call('GET', '/v1/suppressions')).json as { numbers: string[] }).numbers.sort();
  expect(await list()).toEqual([number, '+447700900199']);
  expect((await create(campaign())).json).toMatchObject({ recipientCount: 1, suppressed: 1 });
  const remove = { numbers: [number, '+447700900199'] };
  expect((await call('POST', '/v1/suppressions/remove', { body: remove })).json).toMatchObject({
    removed: 2,
  });
  expect(await list()).toEqual([]);
});

test('`country` allows national spelling, and an error points at the invalid number', async () => {
  const bare = await api({ REDIS_PREFIX: `${prefix}-abroad`, DEFAULT_COUNTRY: '' });
  const post = (path: string, body: object) => bare.call('POST', path, { body });
  const national = '07700 900155';
  const body = { recipients: [{ to: '+447700900155' }], message: 'Hi', sendAt: '2999-01-01T00:00:00Z' };
  const id = idOf(await bare.call('POST', '/v1/campaigns', { body }));
  const refused = await post('/v1/find', { number: national });
  expect(refused).toMatchObject({ status: 400, json: { errors: [{ pointer: '/number' }] } });
  expect(await post('/v1/find', { number: national, country: 'gb' })).toMatchObject({
    status: 200,
    json: { found: [{ campaign: id }] },
  });
  const none = await post('/v1/find', { number: national, country: 'ZZ' });
  expect(none).toMatchObject({ status: 400, json: { errors: [{ pointer: '/country' }] } });

  for (const [path, done] of [
    ['/v1/suppressions', { added: 2 }],
    ['/v1/suppressions/remove', { removed: 2 }],
  ] as const) {
    const numbers = ['+447700900156', national];
    const wrong = await post(path, { numbers });
    expect(wrong).toMatchObject({ status: 400, json: { errors: [{ pointer: '/numbers/1' }] } });
    expect((await post(path, { numbers, country: 'GB' })).json).toMatchObject(done);
  }
});

test('A lane can be held and resumed, and a request whose members are all optional needs no body', async () => {
  const lane = async () => (await call('GET', '/v1/lanes/default')).json;
  expect((await call('POST', '/v1/lanes/default/hold')).json).toEqual({ lane: 'default', state: 'held' });
  expect(await lane()).toMatchObject({ name: 'default', state: 'held' });
  expect((await call('POST', '/v1/lanes/default/resume')).json).toEqual({ lane: 'default', state: 'open' });
  expect(await lane()).toMatchObject({ state: 'open' });
  expect((await call('GET', '/v1/lanes/nowhere')).status).toBe(404);
});

test('A lane can be renamed with a key for all lanes; this process keeps the name of its configuration', async () => {
  const rename = (from: string, name: string, own?: string) =>
    call('POST', `/v1/lanes/${from}/rename`, { body: { name }, ...(own === undefined ? {} : { key: own }) });
  const limited = await rename('default', 'marketing', await key(['operate'], ['default']));
  expect(limited).toMatchObject({ status: 403, json: { code: 'forbidden' } });
  expect(await rename('nowhere', 'marketing')).toMatchObject({ status: 404, json: { code: 'notFound' } });
  expect(await rename('default', 'a name')).toMatchObject({ status: 400, json: { code: 'badInput' } });
  expect(await rename('default', 'marketing')).toMatchObject({
    status: 200,
    json: { lane: 'marketing', from: 'default', id: 'default' },
  });
  expect((await call('GET', '/v1/lanes/default')).json).toMatchObject({ name: 'default', id: 'default' });
  expect((await rename('marketing', 'default')).status).toBe(200);
});

test('Reports and recipients have the values of the list with `values=true`, and `status=failed` is a group', async () => {
  const recipients = [{ to: '+447700900123', name: 'Ada', note: 'x' }];
  const id = idOf(await create(campaign({ recipients, message: 'Hello {{name}}', again: true })));
  const { json } = await call('GET', `/v1/campaigns/${id}/recipients?values=true`);
  expect(json).toMatchObject({ recipients: [{ values: { name: 'Ada' } }] });
  const without = await call('GET', `/v1/campaigns/${id}/recipients?values=false`);
  expect(without.json).toMatchObject({ recipients: [{ values: null }] });
  const failed = await call('GET', `/v1/campaigns/${id}/recipients?status=failed`);
  expect(failed.json).toMatchObject({ recipients: [], nextCursor: null });
  expect((await call('GET', `/v1/campaigns/${id}/recipients?values=maybe`)).status).toBe(400);
});
