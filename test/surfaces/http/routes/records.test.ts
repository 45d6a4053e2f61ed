import { createHash } from 'node:crypto';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../../src/base/config/index.js';
import { NoTokenError, RecordsBusyError } from '../../../../src/call-records/store/errors.js';
import { errorToProblem } from '../../../../src/surfaces/http/bodies/error-to-problem.js';
import { createHttp } from '../../../../src/surfaces/http/index.js';
import { Problem } from '../../../../src/surfaces/http/server/problem.js';
import { contentOf, january, recordsSetting } from '../../../call-records/service.js';
import { scene } from '../../../scene/scene.js';

const place = scene('http-records');
const { simulator, env, volley } = await recordsSetting(place);
const app = createHttp({ volley, config: loadConfig(env) });
afterAll(() => app.close());
const origin = await app.listen({ host: '127.0.0.1', port: 0 });
const { key } = await volley.keys.create({ name: 'test', scopes: ['read', 'send', 'operate'] });

async function call(method: string, path: string, body?: unknown, using = key) {
  const reply = await fetch(`${origin}/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${using}`,
      'accept-encoding': 'gzip',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const content = Buffer.from(await reply.arrayBuffer());
  const isJson = /json/.test(reply.headers.get('content-type') ?? '');
  return {
    status: reply.status,
    headers: reply.headers,
    content,
    json: isJson && content.length > 0 ? JSON.parse(content.toString()) : null,
  };
}

const digestOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
const entryFor = (number: string) =>
  [...simulator.records()].filter(({ values }) => values['number'] === number);

test('A request is made, shown, asked about, and downloaded', async () => {
  const made = await call('POST', '/records', january(1, '+41'));
  expect([made.status, made.json.state]).toEqual([200, 'pending']);
  const { id } = made.json;
  expect((await call('POST', '/records', january(1, '+41'))).json.id).toBe(id);
  expect((await call('GET', `/records/${id}/download`)).json).toMatchObject({
    code: 'noFile',
    request: { id, state: 'pending' },
  });
  await expect.poll(async () => (await call('POST', `/records/${id}/status`)).json.state).toBe('ready');
  const file = await call('GET', `/records/${id}/download`);
  expect(file.status).toBe(200);
  expect(file.headers.get('content-disposition')).toBe(`attachment; filename="records-${id}"`);
  expect(digestOf(file.content)).toBe(entryFor('+41')[0]?.sha256);
  expect((await call('GET', `/records/${id}`)).json).toMatchObject({ state: 'downloaded' });
  expect((await call('GET', '/records')).json.requests).toMatchObject([{ id }]);
  expect(entryFor('+41')).toHaveLength(1);
});

test('Fetch requests, waits, and streams the file; the same body again downloads it again', async () => {
  for (let count = 1; count <= 2; count += 1) {
    const { status, headers, content } = await call('POST', '/records/fetch', january(2, '+42'));
    expect([status, headers.get('content-length')]).toEqual([200, String(content.length)]);
    expect(digestOf(content)).toBe(entryFor('+42')[0]?.sha256);
  }
  expect(entryFor('+42')).toMatchObject([{ downloads: 2 }]);
});

test('A key has a limited number of downloads in progress, waiting ones included', async () => {
  const limited = createHttp({ volley, config: loadConfig(env), maxDownloadsPerKey: 2 });
  onTestFinished(() => limited.close());
  const address = await limited.listen({ host: '127.0.0.1', port: 0 });
  const ask = (signal: AbortSignal) =>
    fetch(`${address}/v1/records/fetch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(january(4, '+44')),
      signal,
    });
  simulator.configure({ records: { pending: 3_600_000 } });
  onTestFinished(() => simulator.configure({ records: { pending: 50 } }));
  const control = new AbortController();
  const replies = [1, 2, 3].map(() => ask(control.signal));
  // Two wait for their file, so the first response is a refusal.
  const { status } = await Promise.race(replies);
  control.abort();
  await Promise.allSettled(replies);
  expect(status).toBe(429);
});

test('An unknown outcome is a problem with the request, and can be resolved', async () => {
  simulator.configure({ records: { faults: { resetAfter: 1 } } });
  const { status, json } = await call('POST', '/records/fetch', january(3, '+43'));
  simulator.configure({ records: { faults: { resetAfter: 0 } } });
  expect([status, json.code, json.request.state]).toEqual([409, 'unknownOutcome', 'unknown']);
  const { id } = json.request;
  const serviceId = entryFor('+43')[0]?.id;
  const resolved = await call('POST', `/records/${id}/resolve`, { as: 'accepted', serviceId });
  expect(resolved.json).toMatchObject({ state: 'pending', serviceId });
  expect((await call('POST', `/records/${id}/resolve`, { as: 'resend' })).status).toBe(409);
  expect(digestOf((await call('POST', `/records/${id}/fetch`)).content)).toBe(entryFor('+43')[0]?.sha256);
  const { entries } = (await call('GET', '/audit?limit=20')).json;
  expect(entries).toContainEqual(
    expect.objectContaining({
      action: 'records.resolve',
      actor: expect.objectContaining({ kind: 'key' }),
      details: { request: id, as: 'accepted' },
    }),
  );
  expect(entries).toContainEqual(
    expect.objectContaining({
      action: 'records.request',
      details: expect.objectContaining({ from: january(3).from }),
    }),
  );
});

test('Invalid input is refused before anything is sent', async () => {
  const before = [...simulator.records()].length;
  const old = await call('POST', '/records', { ...january(1), from: '2019-12-31' });
  expect([old.status, old.json.errors]).toEqual([400, [expect.objectContaining({ pointer: '/from' })]]);
  expect((await call('POST', '/records', { ...january(1), parameters: { product: 'fax' } })).status).toBe(
    400,
  );
  expect((await call('POST', '/records', { ...january(1), extra: 1 })).status).toBe(400);
  expect((await call('POST', '/records', { ...january(1), lane: 'nowhere' })).status).toBe(404);
  expect([...simulator.records()]).toHaveLength(before);
});

test.each([
  ['waits for others of its credential', new RecordsBusyError(1_500), 429, { 'retry-after': '2' }],
  ['has no token', new NoTokenError('logins are stopped', false), 503, {}],
])('A request that %s is a problem', (_, error, status, headers) => {
  const problem = errorToProblem(error, () => new Problem('tooLarge', ''), 'json');
  expect(problem).toMatchObject({ status, headers });
});

test('A download is not opened to answer HEAD', async () => {
  const { id } = (await call('POST', '/records', january(8, '+48'))).json;
  await expect.poll(async () => (await call('POST', `/records/${id}/status`)).json.state).toBe('ready');
  expect((await call('HEAD', `/records/${id}/download`)).status).toBe(405);
  expect(entryFor('+48')).toMatchObject([{ downloads: 0 }]);
});

test('A client that disconnects does not hold the slot of the credential', async () => {
  simulator.configure({ records: { bytes: 5_000_000 } });
  const { id } = (await call('POST', '/records', january(6, '+46'))).json;
  await expect.poll(async () => (await call('POST', `/records/${id}/status`)).json.state).toBe('ready');
  const over = new AbortController();
  const reply = await fetch(`${origin}/v1/records/${id}/download`, {
    headers: { authorization: `Bearer ${key}` },
    signal: over.signal,
  });
  await reply.body?.getReader().read();
  over.abort();
  simulator.configure({ records: { bytes: 2_000 } });
  const opened = await volley.records.fetch(january(7, '+47'), { wait: '5s' });
  if (opened.kind === 'none') throw new Error(opened.reason);
  expect((await contentOf(opened.body)).length).toBeGreaterThan(1_000);
});
