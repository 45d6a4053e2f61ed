import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { keysOf } from '../../../base/redis/test-redis.js';
import { SOON } from '../../../base/soon.js';
import { type ApiResponse, campaignForm, client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api, prefix, redis } = scene('http-upload', { settings: { HTTP_MAX_UPLOAD_MB: '1' } });
const { call, key, volley, origin } = await api();

const campaign = (more: object = {}) => ({ message: 'Hi {{name}}', sendAt: '2999-01-01T00:00:00Z', ...more });
const upload = (
  campaign: object,
  csv: string | Blob,
  headers: Record<string, string> = {},
): Promise<ApiResponse> => call('POST', '/v1/campaigns', { form: campaignForm(campaign, csv), headers });

/** Rows with numbers that no other test uses. */
let next = 0;
function rows(count: number): string {
  const lines = Array.from({ length: count }, (_, at) => `Name ${at},+4477${String(1_000_000 + next + at)}0`);
  next += count;
  return `name,phone\n${lines.join('\n')}\n`;
}

const campaignKeys = async () =>
  (await keysOf(redis, prefix)).filter((name) => /:campaign:|:idempotency:|:content:/.test(name)).sort();

test('A CSV creates a campaign, and a retry with the same key returns it', async () => {
  const csv = rows(3_000);
  const first = await upload(campaign({ name: 'Spring' }), csv, { 'idempotency-key': 'file-1' });
  expect([first.status, first.json]).toMatchObject([201, { recipientCount: 3_000, outcome: 'created' }]);
  const { id } = first.json as { id: string };
  expect(await volley.status(id)).toMatchObject({ name: 'Spring', counts: { total: 3_000 } });
  const again = await upload(campaign({ name: 'Spring' }), csv, { 'idempotency-key': 'file-1' });
  expect([again.status, again.json]).toMatchObject([200, { id, outcome: 'existing' }]);
});

test('The part `campaign` may begin with a byte order mark', async () => {
  const form = new FormData();
  form.append('campaign', new Blob(['\ufeff{"message":"Hi"}']));
  form.append('recipients', new Blob([rows(1)]));
  expect((await call('POST', '/v1/preview', { form })).status).toBe(200);
});

test('Recipients in JSON take their country from the member that the request names', async () => {
  const recipients = [
    { to: '0171 1234567', country: 'DE' },
    { to: '06 12 34 56 79', country: 'Narnia' },
  ];
  const body = campaign({ message: 'Hi', recipients, countryColumn: 'country' });
  const { status, json } = await call('POST', '/v1/campaigns', { body });
  expect([status, json]).toMatchObject([
    422,
    {
      code: 'invalidRows',
      errors: [
        {
          pointer: '/recipients/1/country',
          line: 2,
          column: 'country',
          message: '"Narnia" is not a country; enter a code such as DE, or a name such as Germany.',
        },
      ],
    },
  ]);
});

test.each([
  ['in the first part', 'campaign', ' '.repeat(1_000_000), 'campaign'],
  ['at an unknown part', 'other', rows(20_000), 'campaign'],
  ['before the list', 'campaign', '{', 'recipients'],
] as const)(
  'A client that is rejected %s can send its next request on the same connection',
  async (_where, name, value, other) => {
    const form = new FormData();
    form.append(name, new Blob([value]));
    form.append(other, new Blob([rows(20_000)]));
    const encoded = new Response(form);
    const body = Buffer.from(await encoded.arrayBuffer());
    const authorization = `Authorization: Bearer ${await key()}`;
    const type = `Content-Type: ${encoded.headers.get('content-type')}`;
    const socket = client(origin);
    socket.write(
      `POST /v1/campaigns HTTP/1.1\r\nHost: a\r\n${authorization}\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect((await text(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 200']);
  },
);

test('A list that is too long is rejected, and the import is discarded', async () => {
  const before = await campaignKeys();
  const { status, json } = await upload(campaign(), rows(60_000));
  expect([status, json]).toMatchObject([413, { code: 'tooLarge', detail: expect.stringContaining('1 MB') }]);
  expect(await campaignKeys()).toEqual(before);
});

/** Starts a request of `total` bytes whose body the test writes piece by piece. */
async function startUpload(
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

const FIRST = `--edge\r\nContent-Disposition: form-data; name="campaign"\r\n\r\n${JSON.stringify(campaign())}\r\n--edge\r\nContent-Disposition: form-data; name="recipients"; filename="list.csv"\r\n\r\n`;

test('An upload whose connection breaks is discarded', async () => {
  const before = await campaignKeys();
  const socket = await startUpload(500_000);
  socket.write(`${FIRST}${rows(5_000)}`);
  await vi.waitUntil(async () => (await campaignKeys()).length > before.length, SOON);
  socket.destroy();
  await vi.waitUntil(async () => (await campaignKeys()).length === before.length, SOON);
  expect(await campaignKeys()).toEqual(before);
});

test('Closing the server cuts off an upload that stopped midway, and discards it', async () => {
  const ending = await api({}, { closeGrace: '300ms' });
  const before = await campaignKeys();
  const own = { origin: ending.origin, key: await ending.key() };
  const socket = await startUpload(500_000, { 'Idempotency-Key': 'stopped-midway' }, own);
  const cut = once(
    socket.on('error', () => {}),
    'close',
  );
  socket.write(`${FIRST}${rows(5_000)}`);
  await vi.waitUntil(async () => (await campaignKeys()).length > before.length, SOON);
  await ending.app.close();
  expect(await campaignKeys()).toEqual(before);
  await cut;
});

test('Closing the server waits for an upload that ends within the grace period', async () => {
  const ending = await api({}, { closeGrace: '60s' });
  const before = await campaignKeys();
  const body = `${FIRST}${rows(5_000)}\r\n--edge--\r\n`;
  const own = { origin: ending.origin, key: await ending.key() };
  const socket = await startUpload(Buffer.byteLength(body), {}, own);
  const answer = once(socket, 'data');
  socket.write(body.slice(0, -100));
  await vi.waitUntil(async () => (await campaignKeys()).length > before.length, SOON);
  const closed = ending.app.close();
  socket.write(body.slice(-100));
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 201 /);
  await closed;
});

test('An upload is discarded when the form has no end, even if its CSV looks complete', async () => {
  const before = await campaignKeys();
  const body = `${FIRST}${rows(500)}`;
  const socket = await startUpload(Buffer.byteLength(body));
  socket.write(body);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  expect(await campaignKeys()).toEqual(before);
});

test('A list is read from the connection no faster than it is imported', async () => {
  const headers = { 'Idempotency-Key': 'one-at-a-time' };
  const open = await api({ HTTP_MAX_UPLOAD_MB: '100' });
  const own = { origin: open.origin, key: await open.key() };
  const reservations = async () => (await campaignKeys()).filter((name) => name.includes(':idempotency:'));
  const before = await reservations();
  const first = await startUpload(1_000_000, headers, own);
  first.write(`${FIRST}${rows(10)}`);
  await vi.waitUntil(async () => (await reservations()).length > before.length, SOON);

  // The second waits for the outcome of the first and reads nothing meanwhile.
  const row = `${'x'.repeat(60)},+447700900123\n`.repeat(1_000);
  const pieces = 300;
  const end = '\r\n--edge--\r\n';
  const total = FIRST.length + 'name,phone\n'.length + row.length * pieces + end.length;
  const second = await startUpload(total, headers, own);
  const answer = once(second, 'data');
  second.write(`${FIRST}name,phone\n`);
  let written = 0;
  let isFull = (): void => {};
  const full = new Promise<void>((resolve) => {
    isFull = resolve;
  });
  const pump = (async () => {
    for (; written < pieces; written += 1) {
      if (second.write(row)) continue;
      const stuck = setTimeout(isFull, 1_000);
      await once(second, 'drain');
      clearTimeout(stuck);
    }
    second.write(end);
  })();
  await Promise.race([full, pump]);
  expect(written).toBeLessThan(pieces / 2);

  first.destroy();
  await pump;
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 201 [\s\S]*"recipientCount":1,"duplicates":299999/);
  second.destroy();
});

test('A list that is refused in the middle is answered, and does not end the process', async () => {
  const rows = '+447700900123,Ada\n'.repeat(20_000);
  const csv = `phone,name\n${rows}\0\n${rows}`;
  const refusedAtOnce = `phone,id\n\0\n${rows}`;
  expect(await call('POST', '/v1/preview', { form: campaignForm(campaign(), csv) })).toMatchObject({
    status: 400,
    json: { detail: expect.stringContaining('Line 20002 contains a zero byte') },
  });
  await volley.outboxes.create({ name: 'refused', message: 'Hi' });
  const bulk = await call('POST', '/v1/outboxes/refused/messages', {
    headers: { 'content-type': 'text/csv' },
    text: refusedAtOnce,
  });
  expect(bulk).toMatchObject({ status: 400 });
  // The rest of both bodies has been discarded; a rejection without a handler would fail this file.
  expect((await call('GET', '/v1/lanes')).status).toBe(200);
});
