import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keysOf, testRedis } from '../redis/test-redis.js';
import { type Answer, formOf, served } from './api.js';

const { url, prefix, redis } = testRedis('http-upload');
const settings = { REDIS_URL: url, REDIS_PREFIX: prefix, HTTP_MAX_UPLOAD_MB: '1' };
const { ask, key, volley, origin } = await served(settings);

const order = (more: object = {}) => ({ message: 'Hi {{name}}', at: '2999-01-01T00:00:00Z', ...more });
const upload = (
  campaign: object,
  csv: string | Blob,
  headers: Record<string, string> = {},
): Promise<Answer> => ask('POST', '/v1/campaigns', { form: formOf(campaign, csv), headers });

/** Ever new numbers. */
let next = 0;
function rows(count: number): string {
  const lines = Array.from({ length: count }, (_, at) => `Name ${at},+4477${String(1_000_000 + next + at)}0`);
  next += count;
  return `name,phone\n${lines.join('\n')}\n`;
}

const campaignKeys = async () =>
  (await keysOf(redis, prefix)).filter((name) => /:campaign:|:idempotency:|:content:/.test(name)).sort();

test('A CSV becomes a campaign, and the same key answers with it', async () => {
  const csv = rows(3_000);
  const first = await upload(order({ name: 'Spring' }), csv, { 'idempotency-key': 'file-1' });
  expect([first.status, first.said]).toMatchObject([201, { recipients: 3_000, existing: false }]);
  const { id } = first.said as { id: string };
  expect(await volley.status(id)).toMatchObject({ name: 'Spring', recipients: { total: 3_000 } });
  const again = await upload(order({ name: 'Spring' }), csv, { 'idempotency-key': 'file-1' });
  expect([again.status, again.said]).toMatchObject([200, { id, existing: true }]);
});

test('Semicolons, a byte order mark and quotes are understood, and the column may be named', async () => {
  const csv = '\ufeffname;home;work\r\n"Anna; the first";+447700900101;+447700900102\r\n';
  const { status, said } = await upload(order({ toColumn: 'work' }), csv);
  expect(status).toBe(201);
  const found = await ask('POST', '/v1/find', { body: { number: '+447700900102' } });
  expect(found.said).toMatchObject({ found: [{ campaign: (said as { id: string }).id }] });
});

test('Bad rows refuse the whole list by line, column and reason, or are left out', async () => {
  const csv = 'name,phone\nAnna,+447700900111\nBo,12\n"Cy\nthe second",+447700900112\n,+447700900113\nDee\n';
  const before = await campaignKeys();
  const refused = await upload(order(), csv);
  expect(refused.status).toBe(422);
  expect(refused.said).toMatchObject({
    code: 'invalidRows',
    invalid: 3,
    rows: 5,
    errors: [
      { pointer: '/recipients', line: 3, column: 'phone' },
      { pointer: '/recipients', line: 6, column: 'name' },
      { pointer: '/recipients', line: 7, column: null, message: expect.stringContaining('has 1 field') },
    ],
  });
  expect(await campaignKeys()).toEqual(before);
  const left = await upload(order({ skipInvalid: true }), csv);
  expect([left.status, left.said]).toMatchObject([201, { recipients: 2, invalid: 3 }]);
});

test.each([
  ['no text', '\0\0\0', /UTF-16/],
  ['nothing', '', /The file is empty/],
  ['no rows', 'name,phone\n', /no rows/],
  ['two columns of one name', 'phone,phone\n1,2\n', /two columns/],
  ['no column of numbers', 'name,city\nAnna,Rome\n', /toColumn/],
])('A list that is none is refused: %s', async (_what, csv, says) => {
  const { status, said } = await upload(order({ message: 'Hi' }), csv);
  expect([status, (said as { detail: string }).detail]).toEqual([400, expect.stringMatching(says)]);
});

test.each([
  [
    'the list first',
    [
      ['recipients', 'a'],
      ['campaign', '{}'],
    ],
    '/campaign',
  ],
  ['no list', [['campaign', JSON.stringify(order())]], '/recipients'],
  [
    'no JSON',
    [
      ['campaign', '{'],
      ['recipients', 'a'],
    ],
    '/campaign',
  ],
  [
    'a member that nobody knows',
    [
      ['campaign', JSON.stringify(order({ a: 1 }))],
      ['recipients', 'a'],
    ],
    '/a',
  ],
  [
    'another part',
    [
      ['campaign', JSON.stringify(order())],
      ['other', 'a'],
    ],
    '/recipients',
  ],
  ['nothing', [], '/campaign'],
] as const)('A form that is not as it should be is refused: %s', async (_what, parts, pointer) => {
  const form = new FormData();
  for (const [name, value] of parts) {
    if (name === 'recipients') form.append(name, new Blob([value]), 'list.csv');
    else form.append(name, value);
  }
  const { status, said } = await ask('POST', '/v1/campaigns', { form });
  expect([status, said]).toMatchObject([400, { errors: [{ pointer }] }]);
});

test.each([
  ['another field', [['more', 'a']], '/more', /takes no such part/],
  ['another file', [['more', new Blob(['a'])]], '/more', /takes no such part/],
  ['a second list', [['recipients', new Blob(['phone\n+447700900123\n'])]], '/recipients', /twice/],
  ['a second campaign', [['campaign', '{}']], '/campaign', /twice/],
  [
    'two more',
    [
      ['more', 'a'],
      ['other', 'a'],
    ],
    '/more',
    /takes no such part/,
  ],
] as const)(
  'A form with a part too many is told which, and leaves no campaign behind: %s',
  async (_what, more, pointer, says) => {
    const before = await campaignKeys();
    const form = formOf(order(), rows(10));
    for (const [name, value] of more) form.append(name, value);
    const { status, said } = await ask('POST', '/v1/campaigns', { form });
    const detail = expect.stringMatching(says);
    expect([status, said]).toMatchObject([400, { code: 'badInput', detail, errors: [{ pointer }] }]);
    expect(await campaignKeys()).toEqual(before);
  },
);

test('A campaign in a form that is not UTF-8, or ever so long, is refused and not read wrongly', async () => {
  const form = (campaign: Buffer): FormData => {
    const made = new FormData();
    made.append('campaign', new Blob([new Uint8Array(campaign)]));
    made.append('recipients', new Blob([rows(1)]));
    return made;
  };
  const order = Buffer.from('{"message":"Hi José"}', 'latin1');
  const { status, said } = await ask('POST', '/v1/preview', { form: form(order) });
  expect([status, said]).toMatchObject([
    400,
    { errors: [{ pointer: '/campaign', message: expect.stringContaining('UTF-8') }] },
  ]);
  const long = await ask('POST', '/v1/preview', { form: form(Buffer.alloc(1_000_000, ' ')) });
  expect(long).toMatchObject({
    status: 400,
    said: { errors: [{ pointer: '/campaign', message: 'is longer than 100000 bytes' }] },
  });
  const marked = form(Buffer.from('\ufeff{"message":"Hi"}'));
  expect((await ask('POST', '/v1/preview', { form: marked })).status).toBe(200);
});

test.each([
  ['in its first part', 'campaign', ' '.repeat(1_000_000), 'campaign'],
  ['at a part that is not taken', 'other', rows(20_000), 'campaign'],
  ['before its list', 'campaign', '{', 'recipients'],
] as const)('Whoever is refused %s may go on on the same connection', async (_where, name, value, other) => {
  const form = new FormData();
  form.append(name, new Blob([value]));
  form.append(other, new Blob([rows(20_000)]));
  const encoded = new Response(form);
  const body = Buffer.from(await encoded.arrayBuffer());
  const authorization = `Authorization: Bearer ${await key()}`;
  const type = `Content-Type: ${encoded.headers.get('content-type')}`;
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST /v1/campaigns HTTP/1.1\r\nHost: a\r\n${authorization}\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  socket.write(body);
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect((await text(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
});

test('A preview of a form tells what it would come to, and leaves nothing behind', async () => {
  const before = await campaignKeys();
  const form = formOf(order(), 'name,phone\nAnna,+447700900121\nAnna,+447700900121\nBo,12\n');
  const { status, said } = await ask('POST', '/v1/preview', { form });
  expect(status).toBe(200);
  expect(said).toMatchObject({ rows: 3, recipients: 1, duplicates: 1, invalid: 1, problems: [{ line: 4 }] });
  expect(await campaignKeys()).toEqual(before);
});

test('A form is taken only where there is something to do with it', async () => {
  for (const [path, detail] of [
    ['/v1/find', 'send JSON, with `Content-Type: application/json`'],
    ['/v1/lanes/default/pause', 'nothing is taken here: send no body'],
  ]) {
    const { status, said } = await ask('POST', String(path), { form: formOf(order(), rows(1)) });
    expect([status, said]).toMatchObject([415, { code: 'unsupported', detail }]);
  }
});

test('A list that is too long is refused, and nothing of it is kept', async () => {
  const before = await campaignKeys();
  const { status, said } = await upload(order(), rows(60_000));
  expect([status, said]).toMatchObject([413, { code: 'tooLarge', detail: expect.stringContaining('1 MB') }]);
  expect(await campaignKeys()).toEqual(before);
});

/** A request by hand, whose body can break off. */
async function begun(
  total: number,
  headers: Record<string, string> = {},
  own: { origin: string; key?: string } = { origin },
): Promise<Socket> {
  const { port } = new URL(own.origin);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  const head = [
    'POST /v1/campaigns HTTP/1.1',
    'Host: volley',
    `Authorization: Bearer ${own.key ?? (await key())}`,
    'Content-Type: multipart/form-data; boundary=edge',
    `Content-Length: ${total}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return socket;
}

const FIRST = `--edge\r\nContent-Disposition: form-data; name="campaign"\r\n\r\n${JSON.stringify(order())}\r\n--edge\r\nContent-Disposition: form-data; name="recipients"; filename="list.csv"\r\n\r\n`;

test('Of an upload that breaks off nothing is kept, and nothing is sent', async () => {
  const before = await campaignKeys();
  const socket = await begun(500_000);
  socket.write(`${FIRST}${rows(5_000)}`);
  await vi.waitUntil(async () => (await campaignKeys()).length > before.length);
  socket.destroy();
  await vi.waitUntil(async () => (await campaignKeys()).length === before.length);
  expect(await campaignKeys()).toEqual(before);
});

test('An upload whose key is revoked while it comes in makes no campaign', async () => {
  const listed = async () => (await volley.list({ limit: 1_000 })).length;
  const [before, there] = [await campaignKeys(), await listed()];
  const own = await key(['send']);
  const body = `${FIRST}${rows(5_000)}\r\n--edge--\r\n`;
  const socket = await begun(Buffer.byteLength(body), {}, { origin, key: own });
  const answer = once(socket, 'data');
  socket.write(body.slice(0, -100));
  await vi.waitUntil(async () => (await campaignKeys()).length > before.length);
  await volley.keys.revoke(own.split('_')[1] ?? '');
  socket.write(body.slice(-100));
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 401 /);
  socket.destroy();
  expect(await listed()).toBe(there);
});

test('Closing cuts off an upload that stopped midway, and leaves nothing of it', async () => {
  const ending = await served(settings, { closeGraceMs: 300 });
  const before = await campaignKeys();
  const own = { origin: ending.origin, key: await ending.key() };
  const socket = await begun(500_000, { 'Idempotency-Key': 'stopped-midway' }, own);
  const cut = once(
    socket.on('error', () => {}),
    'close',
  );
  socket.write(`${FIRST}${rows(5_000)}`);
  await vi.waitUntil(async () => (await campaignKeys()).length > before.length);
  await ending.app.close();
  expect(await campaignKeys()).toEqual(before);
  await cut;
});

test('Closing waits for an upload that comes in while it does', async () => {
  const ending = await served(settings, { closeGraceMs: 60_000 });
  const before = await campaignKeys();
  const body = `${FIRST}${rows(5_000)}\r\n--edge--\r\n`;
  const own = { origin: ending.origin, key: await ending.key() };
  const socket = await begun(Buffer.byteLength(body), {}, own);
  const answer = once(socket, 'data');
  socket.write(body.slice(0, -100));
  await vi.waitUntil(async () => (await campaignKeys()).length > before.length);
  const closed = ending.app.close();
  socket.write(body.slice(-100));
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 201 /);
  await closed;
});

test('A form without its end is no whole list, however well it ends as a CSV', async () => {
  const before = await campaignKeys();
  const body = `${FIRST}${rows(500)}`;
  const socket = await begun(Buffer.byteLength(body));
  socket.write(body);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  expect(await campaignKeys()).toEqual(before);
});

test('A list is read no faster than it is taken: what waits is left with the caller', {
  timeout: 60_000,
}, async () => {
  const headers = { 'Idempotency-Key': 'one-at-a-time' };
  const open = await served({ ...settings, HTTP_MAX_UPLOAD_MB: '100' });
  const own = { origin: open.origin, key: await open.key() };
  const first = await begun(1_000_000, headers, own);
  first.write(`${FIRST}${rows(10)}`);
  const digest = createHash('sha256').update('one-at-a-time').digest('base64url');
  await vi.waitUntil(async () => (await redis.exists(`${prefix}:idempotency:${digest}`)) === 1);

  // The second waits for what becomes of the first, and reads nothing meanwhile.
  const row = `${'x'.repeat(60)},+447700900123\n`.repeat(1_000);
  const pieces = 600;
  const end = '\r\n--edge--\r\n';
  const total = FIRST.length + 'name,phone\n'.length + row.length * pieces + end.length;
  const second = await begun(total, headers, own);
  const answer = once(second, 'data');
  second.write(`${FIRST}name,phone\n`);
  let taken = 0;
  let isFull = (): void => {};
  const full = new Promise<void>((resolve) => {
    isFull = resolve;
  });
  const pump = (async () => {
    for (; taken < pieces; taken += 1) {
      if (second.write(row)) continue;
      const stuck = setTimeout(isFull, 1_000);
      await once(second, 'drain');
      clearTimeout(stuck);
    }
    second.write(end);
  })();
  await Promise.race([full, pump]);
  expect(taken).toBeLessThan(pieces / 2);

  first.destroy();
  await pump;
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 201 [\s\S]*"recipients":1,"duplicates":599999/);
  second.destroy();
});
