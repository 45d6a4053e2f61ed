import { expect, test } from 'vitest';
import { testRedis } from '../redis/test-redis.js';
import { formOf, served } from './api.js';

const { url, prefix, redis } = testRedis('http-campaigns');
let now = Date.parse('2030-01-01T00:00:00Z');
const { ask, volley } = await served(
  { REDIS_URL: url, REDIS_PREFIX: prefix, DEFAULT_COUNTRY: 'GB' },
  { clock: () => now },
);

/** Ever new, and none of it is sent. */
let made = 0;
function campaign(more: object = {}) {
  made += 1;
  const recipients = [
    { to: '+447700900123', name: 'Anna', no: made },
    { to: '07700 900124', name: 'Bo', no: made },
    { to: '+44 7700 900123', name: 'Anna again', no: made },
  ];
  return { recipients, message: 'Hi {{name}}, {{no}}', at: '2999-01-01T00:00:00Z', ...more };
}
const create = (body: unknown, headers: Record<string, string> = {}) =>
  ask('POST', '/v1/campaigns', { body, headers });
const idOf = ({ said }: { said: unknown }): string => (said as { id: string }).id;

test('A campaign is made of JSON, and stands as the library says', async () => {
  const reply = await create(campaign({ name: 'Spring', priority: 'high', validFor: '24h' }));
  const id = idOf(reply);
  expect(reply.status).toBe(201);
  expect(reply.headers.get('location')).toBe(`/v1/campaigns/${id}`);
  expect(reply.said).toEqual({
    id,
    recipients: 2,
    duplicates: 1,
    invalid: 0,
    suppressed: 0,
    existing: false,
    problems: [],
  });
  const { said } = await ask('GET', `/v1/campaigns/${id}`);
  expect(said).toEqual(JSON.parse(JSON.stringify(await volley.status(id))));
  expect(said).toMatchObject({ name: 'Spring', state: 'scheduled', recipients: { total: 2, planned: 2 } });
});

test('The same idempotency key answers with the same campaign, and refuses another', async () => {
  const headers = { 'idempotency-key': 'order-1' };
  const body = campaign();
  const first = await create(body, headers);
  const again = await create(body, headers);
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.said).toEqual({ ...(first.said as object), existing: true });
  const other = await create({ ...body, message: 'Something else' }, headers);
  expect([other.status, other.said]).toMatchObject([422, { code: 'conflict', campaign: idOf(first) }]);
  const changes = {
    text: { message: 'Something else' },
    list: { recipients: body.recipients.slice(0, 1) },
    sender: { sender: 'OTHER' },
    'sender name': { senderName: 'Another' },
    time: { at: '2999-02-01T00:00:00Z' },
    validity: { validFor: '1h' },
    priority: { priority: 'high' },
  };
  for (const [what, change] of Object.entries(changes)) {
    const refused = await create({ ...body, ...change }, headers);
    expect([what, refused.status, refused.said]).toMatchObject([
      what,
      422,
      { detail: expect.stringMatching(new RegExp(`another .*\\b${what}\\b`)) },
    ]);
  }
  const renamed = await create({ ...body, name: 'Another' }, headers);
  expect(renamed.said).toMatchObject({ existing: true });
});

test('Of many that come at once with one key there is one campaign', async () => {
  const body = campaign();
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => create(body, { 'idempotency-key': 'order-2' })),
  );
  expect(new Set(replies.map(idOf)).size).toBe(1);
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
});

test('What equals a campaign of the last day is refused, unless it is wanted again', async () => {
  const body = campaign();
  const first = await create(body);
  const second = await create(body);
  expect([second.status, second.said]).toMatchObject([409, { code: 'repeated', campaign: idOf(first) }]);
  expect((await create({ ...body, again: true })).status).toBe(201);
});

test('Rows that cannot be sent to refuse the whole, by line, column and reason', async () => {
  const body = campaign();
  body.recipients.splice(1, 0, { to: '12', name: 'Cy', no: 1 }, { to: '+447700900125', name: '', no: 1 });
  const { status, said } = await create(body);
  expect(status).toBe(422);
  expect(said).toMatchObject({ code: 'invalidRows', invalid: 2, rows: 5 });
  const { errors } = said as { errors: { message: string }[] };
  expect(errors).toMatchObject([
    { pointer: '/recipients/1/to', line: 2, column: 'to' },
    { pointer: '/recipients/2/name', line: 3, column: 'name' },
  ]);
  for (const { message } of errors) expect(message).toMatch(/\w/);

  const skipped = await create({ ...body, skipInvalid: true });
  expect(skipped.status).toBe(201);
  expect(skipped.said).toMatchObject({ recipients: 2, invalid: 2, problems: [{ line: 2 }, { line: 3 }] });

  const none = await create({ ...body, recipients: body.recipients.slice(1, 3), skipInvalid: true });
  expect([none.status, none.said]).toMatchObject([
    422,
    {
      code: 'invalidRows',
      detail: 'no row of the list can be sent to: mend them',
      errors: [{ line: 1, column: 'to' }, { line: 2 }],
    },
  ]);
});

test('A row that lacks its number or a value is a bad row, in whichever way it lacks it', async () => {
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
  expect([refused.status, refused.said]).toMatchObject([422, { invalid: 5, rows: 7 }]);
  const { errors } = refused.said as { errors: { pointer: string; message: string }[] };
  expect(errors).toMatchObject([
    { pointer: '/recipients/0/name', message: expect.stringMatching(/^is empty/) },
    { pointer: '/recipients/1/to', message: expect.stringMatching(/^is empty/) },
    { pointer: '/recipients/2/to', message: expect.stringMatching(/^is empty/) },
    { pointer: '/recipients/3/name', message: expect.stringMatching(/^is empty/) },
    { pointer: '/recipients/4/to', message: expect.stringContaining('"12"') },
  ]);
  const skipped = await create(campaign({ recipients, message: 'Hi {{name}}', skipInvalid: true }));
  expect([skipped.status, skipped.said]).toMatchObject([201, { recipients: 2, invalid: 5 }]);
});

test('A member that no recipient has is no column, whatever all objects inherit', async () => {
  const recipients: object[] = [{ to: '+447700900123', toString: 'Anna' }, { to: '+447700900124' }];
  const { said } = await ask('POST', '/v1/preview', { body: { recipients, message: 'Hi {{toString}}' } });
  expect(said).toMatchObject({
    recipients: 1,
    problems: [{ line: 2, column: 'toString', reason: expect.stringMatching(/^is empty/) }],
  });
});

test('So many rows with members of their own have no more columns than a list may', async () => {
  const recipients = Array.from({ length: 3_000 }, (_, at) => ({ to: '+447700900123', [`c${at}`]: at }));
  const { said } = await ask('POST', '/v1/preview', { body: { recipients, message: 'Hi' } });
  expect((said as { columns: string[] }).columns).toHaveLength(200);
});

test.each([
  ['nothing', {}, ['/recipients', '/message']],
  ['a member that nobody knows', campaign({ mesage: 'Hi' }), ['/mesage']],
  ['a text that is none', campaign({ message: 7 }), ['/message']],
  ['an empty list', campaign({ recipients: [] }), ['/recipients']],
  ['a recipient that is none', campaign({ recipients: ['+447700900123'] }), ['/recipients/0']],
  [
    'a value that is neither text nor number',
    campaign({ recipients: [{ to: '1', a: {} }] }),
    ['/recipients/0/a'],
  ],
  ['a sender that is too long', campaign({ sender: 'A name too long' }), ['/sender']],
  ['a placeholder without a column', campaign({ message: 'Hi {{nmae}}' }), ['/message']],
  ['a country that is none', campaign({ country: 'ZZ' }), ['/country']],
  ['a lane that is none', campaign({ lane: 'nowhere' }), ['/lane']],
  ['a time without its zone', campaign({ at: '2999-01-01T00:00:00' }), ['/at']],
  ['a time that has passed', campaign({ at: '2029-12-31T23:59:59Z' }), ['/at']],
  ['a duration that is none', campaign({ validFor: 'soon' }), ['/validFor']],
  ['a priority that is none', campaign({ priority: 'low' }), ['/priority']],
])('The fields at fault are named: %s', async (_what, body, pointers) => {
  const { status, headers, said } = await create(body);
  expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json']);
  expect((said as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)).toEqual(pointers);
});

test('Whoever names no sender where there is no default is told the member, as JSON and as a form', async () => {
  const bare = await served({ REDIS_URL: url, REDIS_PREFIX: prefix, SENDER_ADDRESS: '' });
  const form = formOf({ message: 'Hi' }, 'phone\n+447700900123\n');
  for (const given of [{ body: campaign() }, { form }]) {
    const { status, said } = await bare.ask('POST', '/v1/campaigns', given);
    expect([status, said]).toMatchObject([400, { errors: [{ pointer: '/sender' }] }]);
    const { detail } = said as { detail: string };
    expect(detail).toMatch(/^\/sender: is missing.*SENDER_ADDRESS/);
    expect(detail).not.toContain('--');
  }
});

test('A time may leave out its seconds, as on the command line', async () => {
  const { status, said } = await create(campaign({ message: 'At nine', at: '2999-01-01T09:00+01:00' }));
  expect(status).toBe(201);
  const { id } = said as { id: string };
  expect((await ask('GET', `/v1/campaigns/${id}`)).said).toMatchObject({
    launchAt: '2999-01-01T08:00:00.000Z',
  });
});

test('What is asked for again is answered though its time has passed', async () => {
  const body = campaign({ at: '2030-01-01T00:00:01Z' });
  const headers = { 'idempotency-key': 'order-3' };
  const first = await create(body, headers);
  expect(first.status).toBe(201);
  now += 2_000;
  expect(await create(body, headers)).toMatchObject({
    status: 200,
    said: { id: idOf(first), existing: true },
  });
  const late = await create(campaign({ at: '2030-01-01T00:00:01Z' }), { 'idempotency-key': 'order-4' });
  expect([late.status, late.said]).toMatchObject([400, { errors: [{ pointer: '/at' }] }]);
});

test('A body that is no JSON, too long, or of another type is refused as such', async () => {
  const post = (type: string, body: string) =>
    ask('POST', '/v1/campaigns', { headers: { 'content-type': type }, form: body as unknown as FormData });
  expect((await post('application/json', '{"message":')).status).toBe(400);
  expect((await post('application/json', '{"__proto__":{"a":1}}')).status).toBe(400);
  for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
    const { status, said } = await post(type, 'Hi');
    expect([status, said]).toMatchObject([
      415,
      {
        code: 'unsupported',
        detail:
          'send JSON, with `Content-Type: application/json`, or a form (`multipart/form-data`) for a list as CSV',
      },
    ]);
  }
  const long = JSON.stringify(campaign({ message: 'x'.repeat(10_000_001) }));
  const { status, said } = await post('application/json', long);
  expect([status, said]).toMatchObject([
    413,
    {
      code: 'tooLarge',
      detail:
        'JSON is taken up to 10 MB (HTTP_MAX_JSON_MB): send a longer list as CSV, in a form (`multipart/form-data`)',
    },
  ]);
});

test('A body is told by what its address takes what it should be', async () => {
  const post = async (path: string, type: string, body: string) => {
    const form = body as unknown as FormData;
    return (await ask('POST', path, { headers: { 'content-type': type }, form })).said;
  };
  const detail = (words: string) => ({ detail: words });
  expect(await post('/v1/find', 'text/plain', 'Hi')).toMatchObject(
    detail('send JSON, with `Content-Type: application/json`'),
  );
  expect(await post('/v1/lanes/default/pause', 'text/plain', 'Hi')).toMatchObject(
    detail('nothing is taken here: send no body'),
  );
  const long = JSON.stringify({ number: 'x'.repeat(10_000_001) });
  expect(await post('/v1/find', 'application/json', long)).toMatchObject(
    detail('JSON is taken up to 10 MB (HTTP_MAX_JSON_MB)'),
  );
});

test('A body that is not UTF-8 is refused: nobody is called by other letters than his own', async () => {
  const body = Buffer.from(JSON.stringify(campaign({ message: 'Hi José' })), 'latin1');
  const { status, said } = await ask('POST', '/v1/preview', {
    headers: { 'content-type': 'application/json' },
    form: body as unknown as FormData,
  });
  expect([status, said]).toMatchObject([
    400,
    { code: 'badInput', detail: expect.stringContaining('not UTF-8') },
  ]);
});

test('A body that is compressed is refused as such, and not as broken JSON', async () => {
  for (const encoding of ['gzip', 'br']) {
    const headers = { 'content-encoding': encoding };
    const { status, said } = await ask('POST', '/v1/preview', { headers, body: campaign() });
    expect([status, said]).toMatchObject([
      415,
      { code: 'unsupported', detail: expect.stringContaining('Content-Encoding') },
    ]);
  }
  const headers = { 'content-encoding': 'identity' };
  expect((await ask('POST', '/v1/preview', { headers, body: campaign() })).status).toBe(200);
});

test('An order without a body may be asked with the type of one, and not with something in it', async () => {
  const order = (body: string) =>
    ask('POST', '/v1/lanes/default/resume', {
      headers: { 'content-type': 'application/json' },
      form: body as unknown as FormData,
    });
  for (const body of ['', '{}', 'null']) expect((await order(body)).status).toBe(200);
  expect(await order('{"dryRun":true}')).toMatchObject({
    status: 400,
    said: { code: 'badInput', detail: 'nothing is taken here: send no body' },
  });
  const { status, said } = await ask('POST', '/v1/find', {
    headers: { 'content-type': 'application/json' },
    form: '' as unknown as FormData,
  });
  expect([status, said]).toMatchObject([400, { code: 'badInput' }]);
});

/** Numbers that can be told apart, in E.164. */
const many = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: `+4477009${String(at).padStart(5, '0')}` }));

test('A long list is taken whole, and a fault far down in it is told by its place', async () => {
  const recipients: object[] = many(3_456);
  const { said } = await ask('POST', '/v1/preview', { body: campaign({ recipients, message: 'Hi' }) });
  expect(said).toMatchObject({ rows: 3_456, recipients: 3_456 });
  recipients[2_345] = { to: {} };
  const refused = await ask('POST', '/v1/preview', { body: campaign({ recipients, message: 'Hi' }) });
  expect(refused).toMatchObject({ status: 400, said: { errors: [{ pointer: '/recipients/2345/to' }] } });
});

test('Ever so many faults fill no memory', { timeout: 60_000 }, async () => {
  const body = { recipients: Array.from({ length: 1_000_000 }, () => 0), message: 'Hi', also: [0] };
  const before = process.resourceUsage().maxRSS;
  const { status, said } = await ask('POST', '/v1/preview', { body });
  expect([status, (said as { errors: unknown[] }).errors.length]).toEqual([400, 20]);
  expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(400);
});

test('A recipient has no more members than a list has columns', async () => {
  const more = (count: number) =>
    Object.fromEntries(Array.from({ length: count - 1 }, (_, at) => [`c${at}`, 1]));
  const preview = (count: number) =>
    ask('POST', '/v1/preview', {
      body: { recipients: [{ to: '+447700900123', ...more(count) }, { to: '+447700900124' }], message: 'Hi' },
    });
  expect((await preview(200)).status).toBe(200);
  expect(await preview(201)).toMatchObject({ status: 400, said: { errors: [{ pointer: '/recipients/0' }] } });
});

test('A preview tells what it would come to, and leaves nothing behind', async () => {
  const before = (await volley.list({ limit: 1_000 })).length;
  const { status, said } = await ask('POST', '/v1/preview', { body: campaign() });
  expect(status).toBe(200);
  expect(said).toMatchObject({ recipients: 2, duplicates: 1, encoding: 'GSM-7', segments: { total: 2 } });
  expect((await volley.list({ limit: 1_000 })).length).toBe(before);
});

test('All campaigns are listed page by page, each once, the newest first', async () => {
  const expected = (await volley.list({ limit: 1_000 })).map(({ id }) => id);
  expect(expected.length).toBeGreaterThan(5);
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { said } = await ask('GET', `/v1/campaigns?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
    const page = said as { campaigns: { id: string }[]; nextCursor: string | null };
    expect(page.campaigns.length).toBeLessThanOrEqual(2);
    ids.push(...page.campaigns.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(ids).toEqual(expected);
});

test('A page goes on from a campaign that is gone meanwhile', async () => {
  const ids = (await volley.list({ limit: 1_000 })).map(({ id }) => id);
  const [first = '', second = '', third] = ids;
  const index = `${prefix}:campaigns`;
  const member = `${second} default`;
  expect(await redis.zrem(index, member)).toBe(1);
  const page = async (cursor: string) => {
    const { said } = await ask('GET', `/v1/campaigns?limit=1&cursor=${cursor}`);
    return (said as { campaigns: { id: string }[] }).campaigns.map(({ id }) => id);
  };
  expect([await page(first), await page(second)]).toEqual([[third], [third]]);
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
])('A list is not asked for with %s', async (query) => {
  const { status, said } = await ask('GET', `/v1/campaigns?${query}`);
  expect([status, said]).toMatchObject([400, { errors: [{ pointer: `query/${query.split('=')[0]}` }] }]);
});

test('A campaign is paused, resumed and cancelled, and says what cannot be', async () => {
  const id = idOf(await create(campaign()));
  const say = (word: string, body?: object) => ask('POST', `/v1/campaigns/${id}/${word}`, { body });
  expect((await say('pause')).said).toEqual({ id, state: 'paused', inFlight: 0 });
  expect((await ask('GET', '/v1/campaigns?state=paused')).said).toMatchObject({ campaigns: [{ id }] });
  expect((await say('resume')).said).toEqual({ id, state: 'scheduled' });
  expect((await say('resolve', { as: 'abandon' })).said).toEqual({
    requests: 0,
    recipients: 0,
    tooEarly: null,
  });
  expect((await say('resolve', { as: 'abandon', request: `${id}-1` })).status).toBe(404);
  expect((await say('resolve', { as: 'forget' })).said).toMatchObject({ errors: [{ pointer: '/as' }] });
  expect((await say('cancel')).said).toEqual({ id, state: 'cancelled', cancelled: 2, inFlight: 0 });
  const { status, said } = await say('pause');
  expect([status, said]).toMatchObject([
    409,
    { code: 'notNow', detail: `campaign ${id} is cancelled; it cannot pause` },
  ]);
  const resend = await say('resolve', { as: 'resend' });
  expect([resend.status, resend.said]).toMatchObject([409, { code: 'notNow' }]);
  expect((await ask('POST', '/v1/campaigns/nowhere/pause')).status).toBe(404);
});

test('A number is found, suppressed, listed and let go of', async () => {
  const number = '+447700900124';
  const { said } = await ask('POST', '/v1/find', { body: { number: '07700 900124' } });
  const { found } = said as { found: { recipient: string }[] };
  expect(found.length).toBeGreaterThan(3);
  expect(new Set(found.map(({ recipient }) => recipient))).toEqual(new Set([number]));

  const add = (numbers: string[]) => ask('POST', '/v1/suppressions', { body: { numbers } });
  expect((await add([number, '07700 900124', '+447700900199'])).said).toEqual({ added: 2 });
  const wrong = await add(['+447700900198', 'nobody']);
  expect([wrong.status, wrong.said]).toMatchObject([400, { code: 'badInput' }]);
  const list = async () =>
    ((await ask('GET', '/v1/suppressions')).said as { numbers: string[] }).numbers.sort();
  expect(await list()).toEqual([number, '+447700900199']);
  expect((await create(campaign())).said).toMatchObject({ recipients: 2, suppressed: 1 });
  const remove = { numbers: [number, '+447700900199'] };
  expect((await ask('POST', '/v1/suppressions/remove', { body: remove })).said).toEqual({ removed: 2 });
  expect(await list()).toEqual([]);
});

test('A number may be written as in a country that is named, and the one at fault is pointed at', async () => {
  const bare = await served({ REDIS_URL: url, REDIS_PREFIX: `${prefix}-abroad`, DEFAULT_COUNTRY: '' });
  const post = (path: string, body: object) => bare.ask('POST', path, { body });
  const national = '07700 900155';
  const body = { recipients: [{ to: '+447700900155' }], message: 'Hi', at: '2999-01-01T00:00:00Z' };
  const id = idOf(await bare.ask('POST', '/v1/campaigns', { body }));
  const refused = await post('/v1/find', { number: national });
  expect(refused).toMatchObject({ status: 400, said: { errors: [{ pointer: '/number' }] } });
  expect(await post('/v1/find', { number: national, country: 'gb' })).toMatchObject({
    status: 200,
    said: { found: [{ campaign: id }] },
  });
  const none = await post('/v1/find', { number: national, country: 'ZZ' });
  expect(none).toMatchObject({ status: 400, said: { errors: [{ pointer: '/country' }] } });

  for (const [path, done] of [
    ['/v1/suppressions', { added: 2 }],
    ['/v1/suppressions/remove', { removed: 2 }],
  ] as const) {
    const numbers = ['+447700900156', national];
    const wrong = await post(path, { numbers });
    expect(wrong).toMatchObject({ status: 400, said: { errors: [{ pointer: '/numbers/1' }] } });
    expect((await post(path, { numbers, country: 'GB' })).said).toEqual(done);
  }
});

test('A lane is held and opened', async () => {
  const lane = async () => (await ask('GET', '/v1/lanes/default')).said;
  expect((await ask('POST', '/v1/lanes/default/pause')).said).toEqual({ lane: 'default', state: 'held' });
  expect(await lane()).toMatchObject({ name: 'default', state: 'held' });
  expect((await ask('POST', '/v1/lanes/default/resume')).said).toEqual({ lane: 'default', state: 'open' });
  expect(await lane()).toMatchObject({ state: 'open' });
  expect((await ask('GET', '/v1/lanes/nowhere')).status).toBe(404);
});
