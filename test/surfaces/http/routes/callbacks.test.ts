import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { laneCallback, loadLocalConfig } from '../../../../src/base/config/index.js';
import { keyNames } from '../../../../src/base/redis/keys.js';
import { openLane } from '../../../../src/engine/lane/lane.js';
import { sendClaims } from '../../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../../src/engine/sending/settlements.js';
import { readState } from '../../../../src/engine/store/campaigns.js';
import { scene } from '../../../scene/scene.js';

const TOKEN = 'a-token-of-some-length';
const CALLBACK = { url: 'https://volley.example/sms/in', securityToken: TOKEN, proof: 'token' } as const;
const { api, prefix, redis } = scene('http-callbacks');
const settings = { CALLBACK_URL: CALLBACK.url, CALLBACK_SECURITY_TOKEN: TOKEN };
const { app, origin, volley, log } = await api(settings);
const off = await api({ REDIS_PREFIX: `${prefix}-off` });
const trusting = await api({ ...settings, REDIS_PREFIX: `${prefix}-path`, CALLBACK_PROOF: 'path' });
const { segment, securityToken } = laneCallback(CALLBACK, 'default');

const NUMBER = '+447700900123';
const notification = (requestId: string, status = 'DeliveredToTerminal') =>
  JSON.stringify({
    deliveryInfoList: {
      resourceURL: `https://messaging.example/smsmessaging/v1/outbound/ACME/requests/${requestId}/deliveryInfos`,
      deliveryInfo: [{ address: `tel:${NUMBER}`, deliveryStatus: status }],
    },
  });

function post(
  path: string,
  body: string,
  headers: Record<string, string> = {},
  at = origin,
): Promise<Response> {
  return fetch(`${at}${path}`, { method: 'POST', body, headers });
}

/** Creates a campaign with one recipient whose request was accepted with this id; returns a reader of its counts. */
async function accepted(requestId: string): Promise<() => Promise<Record<string, number | undefined>>> {
  const outcome = await volley.enqueue({ recipients: [{ to: NUMBER }], message: requestId, again: true });
  if (outcome.outcome !== 'created') throw new Error(`the campaign is ${outcome.outcome}`);
  const keys = keyNames(prefix);
  const config = loadLocalConfig({ ...settings, HOURLY_QUOTA: '1000' });
  const [own] = config.lanes;
  if (own === undefined) throw new Error('no lane');
  const lane = openLane(redis, keys, config, own, volley.events, Math.random);
  const { claims } = await sendClaims(lane).take({ turn: requestId, call: 1, want: 1, seen: 0 });
  await settleSends(
    lane,
    claims.map((claim) => ({ claim, result: 'accepted', letters: 'N', requestId }) as const),
    0,
  );
  return async () => (await readState(redis, keys, 'default', outcome.id))?.counts ?? {};
}

test.each<[string, (body: string) => { path?: string; headers?: Record<string, string>; body?: string }]>([
  ['as a bearer token', () => ({ headers: { authorization: `Bearer ${securityToken}` } })],
  ['in a header', () => ({ headers: { securityToken } })],
  ['in the query', () => ({ path: `?securityToken=${securityToken}` })],
  ['in the body', (body) => ({ body: JSON.stringify({ ...JSON.parse(body), securityToken }) })],
  [
    'as a signature',
    (body) => ({
      headers: { 'x-signature': createHmac('sha256', securityToken).update(body).digest('hex') },
    }),
  ],
  ['of a manual subscription', () => ({ headers: { securityToken: TOKEN } })],
])('A notification with the security token %s settles its request', async (name, withToken) => {
  const id = `r-${name.replaceAll(' ', '-')}`;
  const states = await accepted(id);
  const sent = withToken(notification(id));
  const reply = await post(`/sms/in/${segment}${sent.path ?? ''}`, sent.body ?? notification(id), {
    'content-type': 'application/json',
    ...sent.headers,
  });
  expect([reply.status, await reply.text()]).toEqual([204, '']);
  await expect.poll(() => states()).toMatchObject({ deliveredToTerminal: 1 });
});

test('A notification is accepted below /callbacks, and with any content type', async () => {
  const states = await accepted('stripped');
  const headers = { securityToken, 'content-type': 'text/plain' };
  expect((await post(`/callbacks/${segment}`, notification('stripped'), headers)).status).toBe(204);
  await expect.poll(() => states()).toMatchObject({ deliveredToTerminal: 1 });
});

test.each(['PUT', 'PATCH'])('A notification by %s is received like one by POST', async (method) => {
  const id = `by-${method}`;
  const states = await accepted(id);
  const send = (headers: Record<string, string>) =>
    fetch(`${origin}/sms/in/${segment}`, { method, body: notification(id), headers });
  expect((await send({})).status).toBe(401);
  expect((await send({ securityToken })).status).toBe(204);
  await expect.poll(() => states()).toMatchObject({ deliveredToTerminal: 1 });
});

test('A forged notification with only the secret address or only the token changes nothing', async () => {
  const states = await accepted('forged');
  const headers = { 'content-type': 'application/json' };
  const body = notification('forged', 'DeliveryImpossible');
  expect((await post(`/sms/in/${segment}`, body, headers)).status).toBe(401);
  const wrong = { ...headers, securityToken: `${securityToken.slice(1)}x`, authorization: 'Bearer x' };
  expect((await post(`/sms/in/${segment}`, body, wrong)).status).toBe(401);
  const other = laneCallback(CALLBACK, 'other');
  const right = { ...headers, securityToken };
  for (const path of ['/sms/in/guess', `/sms/in/${other.segment}`, '/sms/in/', '/sms/in', `/${segment}`]) {
    expect([path, (await post(path, body, right)).status]).toEqual([path, 404]);
  }
  await post(`/sms/in/${segment}`, notification('forged'), { ...headers, securityToken });
  await expect.poll(() => states()).toMatchObject({ deliveredToTerminal: 1 });
  expect(await states()).not.toHaveProperty('deliveryImpossible');
});

test('A notification without delivery information is rejected, and a probe of the address succeeds', async () => {
  const headers = { 'content-type': 'application/json', securityToken };
  for (const body of ['{}', '{', '"x"', '[]']) {
    const reply = await post(`/sms/in/${segment}`, body, headers);
    expect([body, reply.status]).toEqual([body, 400]);
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
  }
  expect((await post(`/sms/in/${segment}`, '', { securityToken })).status).toBe(204);
  expect((await fetch(`${origin}/sms/in/${segment}`)).status).toBe(204);
  expect((await fetch(`${origin}/sms/in/guess`)).status).toBe(404);
});

test('With CALLBACK_PROOF=path, a notification needs the secret path and no token', async () => {
  const headers = { 'content-type': 'application/json' };
  expect((await post(`/sms/in/${segment}`, notification('any'), headers, trusting.origin)).status).toBe(204);
  expect((await post('/sms/in/guess', notification('any'), headers, trusting.origin)).status).toBe(404);
});

test('Without CALLBACK_URL there is no address for notifications', async () => {
  for (const path of [`/sms/in/${segment}`, `/callbacks/${segment}`]) {
    expect((await post(path, notification('any'), { securityToken }, off.origin)).status).toBe(404);
  }
});

test.each(['/caf%C3%A9', '/a%20b', '/a:b', '/a%E0'])(
  'The public path may contain encoded and special characters: %s',
  async (path) => {
    const callback = { ...CALLBACK, url: `https://volley.example${path}` };
    const one = await api({ ...settings, CALLBACK_URL: callback.url });
    const short = `/callbacks/${laneCallback(callback, 'default').segment}`;
    // No request can match a path that cannot be decoded.
    const own = path === '/a%E0' ? short : `${path}/${segment}`;
    for (const at of [own, short])
      expect([at, (await fetch(`${one.origin}${at}`)).status]).toEqual([at, 204]);
  },
);

test('Every request to the callback address is answered without a server error', async () => {
  const text = fc.string({ unit: fc.constantFrom(...'abz019%/?#&=:;,.{}[]"\\\u00e9\u2028 ') });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(segment, 'guess', `${segment}%`, `${segment}/more`),
      text,
      fc.oneof(
        fc.json(),
        text,
        fc.jsonValue().map((value) => JSON.stringify({ deliveryInfo: value })),
        fc
          .record({ address: text, deliveryStatus: text, requestId: text })
          .map((info) =>
            JSON.stringify({ deliveryInfoList: { deliveryInfo: [info], resourceURL: info.address } }),
          ),
      ),
      fc.constantFrom('application/json', 'text/xml', 'multipart/form-data', 'x'),
      fc.boolean(),
      async (at, query, payload, type, isOurs) => {
        const { statusCode } = await app.inject({
          method: 'POST',
          url: `/sms/in/${at}?${encodeURI(query)}`,
          payload,
          headers: { 'content-type': type, ...(isOurs ? { securitytoken: securityToken } : {}) },
        });
        expect(at === segment ? [204, 400, 401] : [400, 404, 415]).toContain(statusCode);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('The log contains no address, token, or number, and reports rejected notifications', () => {
  const lines = log.join('\n');
  expect(lines).toContain('without a valid security token');
  for (const secret of [segment, securityToken, TOKEN, NUMBER]) expect(lines).not.toContain(secret);
});
