import { expect, onTestFinished, test, vi } from 'vitest';
import { keyNames } from '../../../../src/base/redis/keys.js';
import type { ApiScope } from '../../../../src/campaign/states/api-key.js';
import { keysOf } from '../../../base/redis/test-redis.js';
import { SOON } from '../../../base/soon.js';
import { scene } from '../../../scene/scene.js';

const { api, prefix, redis } = scene('http-session', {
  settings: { CONSOLE_URL: 'https://volley.example', DEFAULT_COUNTRY: 'GB' },
  lanes: ['main', { name: 'other', apiKey: 'o', baseUrl: 'https://other.example:8443/smsmessaging/v1' }],
});
const { app, key, origin, volley, log } = await api();
const HOST = '127.0.0.1:8080';
const OWN = { host: HOST, 'sec-fetch-site': 'same-origin' };

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
const send = (method: Method, path: string, headers: Record<string, string | undefined>, payload?: object) =>
  app.inject({ method, url: path, headers, ...(payload && { payload }) });

/** Signs in, and returns the cookie as the browser sends it. */
async function signIn(by: object, headers: Record<string, string> = OWN): Promise<string> {
  const response = await send('POST', '/session', headers, by);
  expect([response.statusCode, response.json()]).toMatchObject([200, { scopes: expect.any(Array) }]);
  return String(response.headers['set-cookie']).split(';')[0] ?? '';
}

const signedIn = async (scopes: readonly ApiScope[], lanes?: readonly string[]) =>
  signIn({ key: await key(scopes, lanes) });
const link = async (scopes: readonly ApiScope[] = ['read']) =>
  (await volley.as({ kind: 'cli', id: null, name: 'anna@mail-1' }).keys.createLink({ scopes })).secret;
const statusOf = async (cookie: string) =>
  (await send('GET', '/v1/campaigns', { ...OWN, cookie })).statusCode;

test('A session says what its key may do, without the names of other lanes', async () => {
  const own = await key(['read', 'operate'], ['other']);
  const response = await send('POST', '/session', OWN, { key: own });
  const session = {
    id: own.split('_')[1],
    name: 'a test',
    scopes: ['read', 'operate'],
    lanes: ['other'],
    expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
    simulator: false,
    services: [{ lane: 'other', host: 'other.example:8443' }],
    defaults: { sender: 'ACME', country: 'GB' },
  };
  expect(response.json()).toEqual(session);
  const cookie = String(response.headers['set-cookie']).split(';')[0] ?? '';
  const again = await send('GET', '/session', { ...OWN, cookie });
  expect([again.statusCode, again.json()]).toEqual([200, session]);
  expect((await send('GET', '/session', OWN)).statusCode).toBe(204);
});

test('The cookie is hidden from scripts and other sites, and bound to the host under TLS', async () => {
  const set = async (headers: Record<string, string>) =>
    String((await send('POST', '/session', headers, { key: await key(['read']) })).headers['set-cookie']);
  const rest = 'Max-Age=604800; Path=/; HttpOnly';
  const secret = '=vs_[0-9a-f]{12}_[\\w-]{43}; ';
  // Cookies of this machine are shared by all ports.
  expect(await set(OWN)).toMatch(new RegExp(`^volley-8080${secret}${rest}; SameSite=Strict$`));
  expect(await set({ ...OWN, host: 'volley.example' })).toMatch(
    new RegExp(`^__Host-volley${secret}${rest}; Secure; SameSite=Strict$`),
  );
  const { app: behindProxy, key: keyThere } = await api({ HTTP_TRUSTED_PROXIES: '127.0.0.1' });
  const { headers } = await behindProxy.inject({
    method: 'POST',
    url: '/session',
    headers: { ...OWN, 'x-forwarded-proto': 'https' },
    payload: { key: await keyThere(['read']) },
  });
  expect(headers['set-cookie']).toMatch(/^__Host-volley=.*; Secure/);
});

test('A link signs in once, as a key that is listed and that ends with the session', async () => {
  const secret = await link(['read', 'send']);
  const answers = await Promise.all([1, 2].map(() => send('POST', '/session', OWN, { link: secret })));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401]);
  const [used, refused] = answers.sort((a, b) => a.statusCode - b.statusCode);
  expect(refused?.json()).toMatchObject({ detail: expect.stringContaining('The link was used already') });
  const { id } = (used as NonNullable<typeof used>).json() as { id: string };
  const cookie = String(used?.headers['set-cookie']).split(';')[0] ?? '';
  const listed = async () => (await volley.keys.list()).find((one) => one.id === id);
  expect(await listed()).toMatchObject({
    session: true,
    name: 'anna@mail-1',
    scopes: ['read', 'send'],
    lanes: null,
  });
  const { entries } = await volley.audit();
  const cli = { kind: 'cli', name: 'anna@mail-1' };
  expect(entries.find(({ details }) => details['key'] === id)).toMatchObject({
    action: 'key.create',
    actor: cli,
  });
  expect(entries.find(({ action }) => action === 'console.link')).toMatchObject({
    actor: cli,
    details: { scopes: 'read,send' },
  });
  await expect(volley.keys.rotate(id)).rejects.toThrow('belongs to a session of the console');

  expect(await statusOf(cookie)).toBe(200);
  expect((await send('DELETE', '/session', { ...OWN, cookie })).statusCode).toBe(204);
  expect([await statusOf(cookie), await listed()]).toEqual([401, undefined]);
  // Nothing of it remains once another one begins.
  await signIn({ link: await link() });
  await vi.waitUntil(async () => (await redis.hexists(keyNames(prefix).apiKeys, id)) === 0, SOON);
});

test('Revoking the key ends its session, and that of a link', async () => {
  const own = await key(['read']);
  const cookie = await signIn({ key: own });
  await volley.keys.revoke(own.split('_')[1] ?? '');
  expect([await statusOf(cookie), (await send('GET', '/session', { ...OWN, cookie })).statusCode]).toEqual([
    401, 204,
  ]);
  const ofLink = await signIn({ link: await link() });
  const { id } = (await send('GET', '/session', { ...OWN, cookie: ofLink })).json() as { id: string };
  await volley.keys.revoke(id);
  expect(await statusOf(ofLink)).toBe(401);
  expect((await volley.keys.list()).map((one) => one.id)).not.toContain(id);
});

test('A stream of a session ends when its key, which is checked every second, is found revoked', async () => {
  const cookie = await signedIn(['read']);
  const { id } = (await send('GET', '/session', { ...OWN, cookie })).json() as { id: string };
  const host = { ...OWN, host: new URL(origin).host };
  const session = cookie.replace('8080', new URL(origin).port);
  const reply = await fetch(`${origin}/v1/events`, { headers: { ...host, cookie: session } });
  expect([reply.status, reply.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  const reader = reply.body?.getReader();
  onTestFinished(() => reader?.cancel());
  await reader?.read();
  await volley.keys.revoke(id);
  const checks = vi.spyOn(volley.keys, 'isActive');
  while (!(await reader?.read())?.done);
  // One that began with the revocation may find it.
  expect(checks.mock.calls.length).toBeLessThanOrEqual(1);
  checks.mockRestore();
});

test('A session works only for pages of this server', async () => {
  const cookie = await signedIn(['read', 'operate']);
  const post = (headers: Record<string, string>) =>
    send('POST', '/v1/lanes/main/hold', { host: HOST, cookie, ...headers });
  const requests = {
    'cross-site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    'same-site, as another port of this machine is': {
      'sec-fetch-site': 'same-site',
      origin: 'http://127.0.0.1:9000',
    },
    'typed address': { 'sec-fetch-site': 'none' },
    'lying origin': { 'sec-fetch-site': 'same-site', origin: `http://${HOST}` },
    'old browser, other port': { origin: 'http://127.0.0.1:9000' },
    'old browser, other scheme': { origin: `https://${HOST}` },
    'old browser, other site': { origin: 'https://evil.example' },
    'sandboxed page': { origin: 'null' },
    'neither header': {},
  };
  for (const [what, headers] of Object.entries(requests)) {
    const response = await post(headers);
    expect([what, response.statusCode, response.json()]).toMatchObject([what, 403, { code: 'forbidden' }]);
    const read = await send('GET', '/v1/campaigns', { host: HOST, cookie, ...headers });
    expect([what, read.statusCode]).toEqual([what, 403]);
    for (const method of ['GET', 'POST', 'DELETE'] as const) {
      const payload = method === 'POST' ? { key: await key() } : undefined;
      expect([
        what,
        (await send(method, '/session', { host: HOST, ...headers }, payload)).statusCode,
      ]).toEqual([what, 403]);
    }
  }
  expect((await volley.lanes()).find(({ name }) => name === 'main')).toMatchObject({ state: 'open' });
  for (const headers of [{ 'sec-fetch-site': 'same-origin' }, { origin: `http://${HOST}` }])
    expect((await post(headers)).statusCode).toBe(200);
  const overTls = await signIn(
    { key: await key() },
    { host: 'volley.example', origin: 'https://volley.example' },
  );
  expect(overTls).toMatch(/^__Host-/);
});

test('A session works only under addresses of this machine and CONSOLE_URL; a key works under every name', async () => {
  const cookie = await signedIn(['read']);
  const site = { 'sec-fetch-site': 'same-origin', host: 'evil.example:8080' };
  for (const [path, more] of [
    ['/v1/campaigns', { cookie }],
    ['/session', {}],
  ] as const) {
    const response = await send('GET', path, { ...site, ...more });
    expect([path, response.statusCode, response.json()]).toMatchObject([path, 421, { code: 'misdirected' }]);
  }
  const authorization = `Bearer ${await key(['read'])}`;
  expect((await send('GET', '/v1/campaigns', { host: 'volley.internal', authorization })).statusCode).toBe(
    200,
  );
});

test('A session may do what its key may, and nothing else', async () => {
  const cookie = await signedIn(['read'], ['main']);
  const status = async (method: Method, path: string) =>
    (await send(method, path, { ...OWN, cookie })).statusCode;
  expect([await status('GET', '/v1/lanes/main'), await status('GET', '/v1/lanes/other')]).toEqual([200, 404]);
  expect([await status('POST', '/v1/lanes/main/hold'), await status('GET', '/v1/keys')]).toEqual([403, 403]);
  // An API key in the header counts, whatever cookie there is; a session in the header does not.
  const operate = `Bearer ${await key(['operate'])}`;
  expect((await send('POST', '/v1/lanes/main/hold', { cookie, authorization: operate })).statusCode).toBe(
    200,
  );
  const asKey = `Bearer ${cookie.split('=')[1]}`;
  expect((await send('GET', '/v1/lanes/main', { ...OWN, authorization: asKey })).statusCode).toBe(401);
  const asCookie = `volley-8080=${await key(['read'])}`;
  expect((await send('GET', '/v1/lanes/main', { ...OWN, cookie: asCookie })).statusCode).toBe(401);
});

test('What signs in must be a key or a link, and an address may try only some', async () => {
  for (const payload of [{}, { key: 'a', link: 'b' }, { key: 7 }, { key: '' }, [1]]) {
    const response = await send('POST', '/session', OWN, payload);
    expect([payload, response.statusCode, response.headers['set-cookie']]).toEqual([payload, 400, undefined]);
  }
  const { app: other, volley: there } = await api();
  const attempt = (payload: object) =>
    other.inject({ method: 'POST', url: '/session', headers: OWN, payload });
  const { key: valid } = await there.keys.create({ name: 'shop', scopes: ['read'] });
  // No try returns while they are counted.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const statuses: number[] = [];
  for (let n = 0; n < 62; n += 1)
    statuses.push((await attempt(n % 2 ? { key: `vk_${n}` } : { link: `vl_${n}` })).statusCode);
  expect(statuses).toEqual([...Array(60).fill(401), 429, 429]);
  // Those who have a valid key still sign in.
  expect((await attempt({ key: valid })).statusCode).toBe(200);
});

test('No key, link, or session is in the log or in Redis', async () => {
  const own = await key(['read']);
  const secret = await link();
  const cookies = [await signIn({ key: own }), await signIn({ link: secret })];
  await statusOf(cookies[0] ?? '');
  await send('POST', '/session', OWN, { link: secret });
  await send('POST', '/session', { host: 'evil.example' }, { link: secret });
  expect(log.length).toBeGreaterThan(3);
  const secrets = [own, secret, ...cookies.map((cookie) => cookie.split('=')[1] ?? '')].map((text) =>
    text.slice(-43),
  );
  const stored: string[] = [];
  for (const name of await keysOf(redis, prefix)) {
    stored.push(name);
    if ((await redis.type(name)) === 'string') stored.push((await redis.get(name)) ?? '');
    if ((await redis.type(name)) === 'hash') stored.push(JSON.stringify(await redis.hgetall(name)));
  }
  const audited = JSON.stringify(await volley.audit({ limit: 1_000 }));
  for (const text of secrets) {
    expect(text).toHaveLength(43);
    for (const place of [log.join('\n'), stored.join('\n'), audited]) expect(place).not.toContain(text);
  }
});
