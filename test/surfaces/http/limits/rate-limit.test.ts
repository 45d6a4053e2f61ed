import { afterAll, expect, test, vi } from 'vitest';
import { campaignForm, client } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { api } = scene('http-rate-limit');
// What a test has used up returns with time, so time stands still.
vi.useFakeTimers({ toFake: ['performance'] });
afterAll(() => void vi.useRealTimers());
/** A server with a low limit, of which each key has its own. */
const hundred = await api({ HTTP_REQUESTS_PER_MINUTE: '100' });
const invalid = (id: number): string => `vk_${String(id).padStart(12, '0')}_${'A'.repeat(43)}`;
const campaign = { message: 'Hi', sendAt: '2999-01-01T00:00:00Z' };

test('A key that exceeds its limit learns when to retry, and other keys are not limited', async () => {
  const { key, call } = await api({ HTTP_REQUESTS_PER_MINUTE: '3' });
  const [busy, other] = [await key(), await key()];
  const answers: [number, string | null][] = [];
  for (let at = 0; at < 4; at += 1) {
    const { status, headers } = await call('GET', '/v1/lanes', { key: busy });
    answers.push([status, headers.get('ratelimit-remaining')]);
  }
  expect(answers).toEqual([
    [200, '2'],
    [200, '1'],
    [200, '0'],
    [429, '0'],
  ]);
  const { headers, json } = await call('GET', '/v1/lanes', { key: busy });
  expect(json).toMatchObject({
    code: 'tooManyRequests',
    detail: expect.stringMatching(/^The limit is 3 requests a minute. Retry in \d+ s.$/),
  });
  // A token returns every 20 seconds, and all of them within a minute.
  expect([headers.get('retry-after'), headers.get('ratelimit-reset')]).toEqual(['20', '60']);
  expect(headers.get('ratelimit-limit')).toBe('3');
  expect(headers.get('ratelimit-policy')).toBe('3;w=60, 1000000000;w=60;unit="bytes"');
  expect((await call('GET', '/v1/lanes', { key: other })).status).toBe(200);
});

test('A key may have a limit of its own', async () => {
  const { call, volley } = await api({ HTTP_REQUESTS_PER_MINUTE: '3' });
  const { key } = await volley.keys.create({ name: 'bulk', scopes: ['status'], requestsPerMinute: 100 });
  const { headers } = await call('GET', '/v1/lanes', { key });
  expect(headers.get('ratelimit-limit')).toBe('100');
  expect(headers.get('ratelimit-remaining')).toBe('99');
});

test('A page counts by its size, and a search more than a simple request', async () => {
  const { key, call } = hundred;
  const own = await key();
  const left = async (method: string, path: string, body?: object): Promise<number> =>
    Number((await call(method, path, { key: own, body })).headers.get('ratelimit-remaining'));
  expect(await left('GET', '/v1/lanes')).toBe(99);
  expect(await left('GET', '/v1/campaigns?limit=200')).toBe(59);
  expect(await left('POST', '/v1/find', { number: '+447700900123' })).toBe(49);
  expect(await left('GET', '/v1/campaigns')).toBe(39);
  expect(await left('GET', '/v1/outboxes?limit=50')).toBe(29);
  const { status, json } = await call('GET', '/v1/results?limit=10000', { key: own });
  expect([status, json]).toMatchObject([
    429,
    { detail: expect.stringMatching(/^The limit is 100 requests a minute\. This one counts as 40\. /) },
  ]);
  expect((await call('GET', '/v1/lanes', { key: own })).status).toBe(200);
});

test('A request learns when there are as many tokens as it takes, even if there is none for its arrival', async () => {
  const { key, call } = await api({ HTTP_REQUESTS_PER_MINUTE: '30' });
  const own = await key();
  const refused = async (path: string) => {
    const { status, headers, json } = await call('GET', path, { key: own });
    return [status, headers.get('retry-after'), Object(json).detail];
  };
  for (let at = 0; at < 25; at += 1) await call('GET', '/v1/lanes', { key: own });
  const text = 'The limit is 30 requests a minute. This one counts as 10. Retry in';
  expect(await refused('/v1/campaigns?limit=50')).toEqual([429, '10', `${text} 10 s.`]);
  for (let at = 0; at < 5; at += 1) await call('GET', '/v1/lanes', { key: own });
  expect(await refused('/v1/campaigns?limit=50')).toEqual([429, '20', `${text} 20 s.`]);
  expect(await refused('/v1/campaigns?limit=many')).toEqual([
    429,
    '2',
    'The limit is 30 requests a minute. Retry in 2 s.',
  ]);
});

test.each([
  ['a page that is too long', 'GET', '/v1/results?limit=100000', undefined],
  ['a page with another part that is invalid', 'GET', '/v1/campaigns?limit=200&state=x', undefined],
  ['a page of no size', 'GET', '/v1/campaigns?limit=0', undefined],
  ['a page of a size that is no number', 'GET', '/v1/audit?limit=many', undefined],
  ['a search without a number', 'POST', '/v1/find', {}],
  ['a change of a suppression list without numbers', 'POST', '/v1/suppressions', {}],
] as const)(
  'A request that is refused counts as one, whatever it would have cost: %s',
  async (_what, method, path, body) => {
    const { status, headers } = await hundred.call(method, path, { key: await hundred.key(), body });
    expect(status).toBe(400);
    expect(headers.get('ratelimit-remaining')).toBe('99');
  },
);

test('A key that has sent as many rows as it may in a minute can send no more lists, and do everything else', async () => {
  const { key, call } = await api();
  const [busy, other] = [await key(), await key()];
  const list = { json: { message: 'Hi', recipients: Array.from({ length: 60_000 }, () => ({ to: 'x' })) } };
  const rows = '\n'.repeat(2_950_000);
  const preview = (as: string, csv: string) =>
    call('POST', '/v1/preview', { key: as, form: campaignForm({ message: 'Hi' }, csv) });
  expect((await preview(busy, `to\n+447700900123${rows}`)).status).toBe(200);
  expect((await call('POST', '/v1/preview', { key: busy, body: list.json })).status).toBe(200);
  const refused = await preview(busy, 'to\n+447700900123\n');
  expect(refused).toMatchObject({
    status: 429,
    json: {
      detail: expect.stringMatching(
        /^The limit is 3,000,000 rows of lists a minute, and this key has sent more\. Retry in \d s\.$/,
      ),
    },
  });
  expect((await call('GET', '/v1/lanes', { key: busy })).status).toBe(200);
  expect((await preview(other, 'to\n+447700900123\n')).status).toBe(200);
});

test('Few lists of a key are read at a time, and those of another key do not wait for them', async () => {
  const { key, call, volley } = await api();
  const [busy, other] = [await key(), await key()];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let running = 0;
  const page = vi.spyOn(volley, 'page').mockImplementation(async () => {
    running += 1;
    await held;
    return { campaigns: [], nextCursor: null };
  });
  const waiting = Array.from({ length: 10 }, () => call('GET', '/v1/campaigns', { key: busy }));
  await expect.poll(() => running).toBe(4);
  expect((await call('GET', '/v1/lanes', { key: other })).status).toBe(200);
  expect((await call('POST', '/v1/find', { key: other, body: { number: '+447700900123' } })).status).toBe(
    200,
  );
  expect(running).toBe(4);
  release();
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(page).toHaveBeenCalledTimes(10);
});

test('The documents that need no key have a limit for each address', async () => {
  const { call } = await api({ HTTP_REQUESTS_PER_MINUTE: '3' });
  const statuses: number[] = [];
  for (let at = 0; at < 5; at += 1) statuses.push((await call('GET', '/openapi.json')).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await call('GET', '/docs')).status).toBe(429);
  expect((await call('GET', '/healthz')).status).toBe(200);
});

test('A key that is over its limit can still pause, resume, cancel, resolve, and follow events', async () => {
  const { key, call, origin } = await api({ HTTP_REQUESTS_PER_MINUTE: '8' });
  const own = await key();
  const created = await call('POST', '/v1/campaigns', {
    body: { ...campaign, recipients: [{ to: '+447700900123' }] },
  });
  const { id } = created.json as { id: string };
  for (let at = 0; at < 9; at += 1) await call('GET', '/v1/lanes', { key: own });
  expect((await call('GET', '/v1/lanes', { key: own })).status).toBe(429);
  for (const [path, body] of [
    ['pause', undefined],
    ['resume', undefined],
    ['resolve', { as: 'abandon' }],
    ['cancel', undefined],
  ] as const) {
    const { status } = await call('POST', `/v1/campaigns/${id}/${path}`, { key: own, body });
    expect([path, status]).toEqual([path, 200]);
  }
  expect((await call('POST', '/v1/lanes/default/hold', { key: own })).status).toBe(200);
  expect((await call('POST', '/v1/lanes/default/resume', { key: own })).status).toBe(200);
  const over = new AbortController();
  const stream = await fetch(`${origin}/v1/events`, {
    headers: { authorization: `Bearer ${own}` },
    signal: over.signal,
  });
  expect([stream.status, stream.headers.get('ratelimit-remaining')]).toEqual([200, '7']);
  over.abort();
});

test('A key that has transferred its bytes cannot transfer lists, but everything else', async () => {
  const { key, call } = await api({ HTTP_MB_PER_MINUTE: '1' });
  const own = await key();
  const rows = Array.from({ length: 300 }, (_, at) => `+447700900${at + 100},${'x'.repeat(4_000)}`);
  const upload = (csv: string) =>
    call('POST', '/v1/preview', { key: own, form: campaignForm(campaign, csv) });
  // Longer than the limit: a request that has begun is never cut off.
  expect((await upload(`phone,note\n${rows.join('\n')}`)).status).toBe(200);
  const refused = await upload('phone\n+447700900123\n');
  expect(refused).toMatchObject({
    status: 429,
    json: { detail: expect.stringMatching(/^The limit is 1 MB a minute, .* Retry in \d+ s\.$/) },
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(5);
  for (const path of [
    '/suppressions',
    '/results',
    '/campaigns/x/report',
    '/campaigns/x/recipients',
    '/records/x/download',
  ]) {
    expect([path, (await call('GET', `/v1${path}`, { key: own })).status]).toEqual([path, 429]);
  }
  expect((await call('GET', '/v1/lanes', { key: own })).status).toBe(200);
  expect((await call('POST', '/v1/lanes/default/hold', { key: own })).status).toBe(200);
  expect((await call('POST', '/v1/lanes/default/resume', { key: own })).status).toBe(200);
});

test('An upload in progress counts with the bytes that have arrived', async () => {
  const { key, call, origin } = await api({ HTTP_MB_PER_MINUTE: '1' });
  const own = await key();
  const socket = client(origin);
  const part = (name: string) => `--edge\r\nContent-Disposition: form-data; name="${name}"`;
  socket.write(
    [
      `POST /v1/preview HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own}`,
      'Content-Type: multipart/form-data; boundary=edge\r\nContent-Length: 9000000\r\n',
      `${part('campaign')}\r\n\r\n${JSON.stringify(campaign)}`,
      `${part('recipients')}; filename="list.csv"\r\n\r\nphone\r\n${'+447700900123\r\n'.repeat(80_000)}`,
    ].join('\r\n'),
  );
  const body = { ...campaign, recipients: [{ to: '+447700900123' }] };
  await expect.poll(async () => (await call('POST', '/v1/preview', { key: own, body })).status).toBe(429);
});

test('An address that tries many invalid keys is refused before Redis is asked, and valid keys are not', async () => {
  const { key, call, volley } = await api();
  const [seen, unseen] = [await key(), await key()];
  expect((await call('GET', '/v1/lanes', { key: seen })).status).toBe(200);
  const check = vi.spyOn(volley.keys, 'check');
  const list = vi.spyOn(volley.keys, 'list');
  const tried: number[] = [];
  for (let at = 0; at < 70; at += 1) {
    tried.push((await call('GET', '/v1/lanes', { key: invalid(at) })).status);
  }
  expect(tried).toEqual([...Array(60).fill(401), ...Array(10).fill(429)]);
  expect(check).toHaveBeenCalledTimes(60);
  // The ids of all keys are read at most once a second.
  expect(list).toHaveBeenCalledTimes(1);
  const { status, headers, json } = await call('GET', '/v1/lanes', { key: invalid(71) });
  expect([status, Number(headers.get('retry-after'))]).toEqual([429, 1]);
  expect(json).toMatchObject({
    detail: expect.stringMatching(/^This address has tried too many invalid keys/),
  });
  for (const own of [seen, unseen]) expect((await call('GET', '/v1/lanes', { key: own })).status).toBe(200);
  // The id of a key is no secret: other secrets with it are limited, too.
  const id = unseen.split('_')[1];
  const guessed: number[] = [];
  for (let at = 0; at < 70; at += 1) {
    const { status: answer } = await call('GET', '/v1/lanes', {
      key: `vk_${id}_${String(at).padStart(43, 'B')}`,
    });
    guessed.push(answer);
  }
  expect(guessed).toContain(429);
  expect((await call('GET', '/v1/lanes', { key: unseen })).status).toBe(200);
});

test('Behind a trusted proxy, invalid keys are limited by the address of the client', async () => {
  const { call } = await api({ HTTP_TRUSTED_PROXIES: '127.0.0.1' });
  const from = async (address: string, at: number): Promise<number> =>
    (await call('GET', '/v1/lanes', { key: invalid(at), headers: { 'x-forwarded-for': address } })).status;
  const tried: number[] = [];
  // One client has all addresses of a network.
  for (let at = 0; at < 70; at += 1) tried.push(await from(`2001:db8::${at.toString(16)}`, at));
  expect(tried).toContain(429);
  expect(await from('2001:db8:0:1::1', 99)).toBe(401);
  expect(await from('192.0.2.1', 99)).toBe(401);
});
