import { expect, onTestFinished, test } from 'vitest';
import { laneCallback } from '../../../src/base/config/index.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { redactedUrl, subscriptionService } from '../../../src/engine/notifications/subscription-service.js';
import { createTokenCache } from '../../../src/service/auth/token-cache.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { rawServer, reply } from '../../interface/raw-server.js';
import { accountService } from '../../service/auth/account-service.js';
import { atSimulator, CALLBACK, clientOf, FOREIGN, OWN, tokenSource } from './subscribing.js';

const { redis, prefix } = testRedis('subscription');
const { simulator, serviceOf, held } = atSimulator();

test('Each lane has an address and a token of its own that do not reveal the security token', () => {
  const other = laneCallback(CALLBACK, 'other');
  const all = [OWN.segment, OWN.securityToken, other.segment, other.securityToken];
  expect(new Set(all).size).toBe(4);
  for (const secret of all) expect(secret).toMatch(/^[\w-]{43}$/);
  expect(JSON.stringify([OWN, other])).not.toContain(CALLBACK.securityToken);
  expect(laneCallback(CALLBACK, 'main')).toEqual(OWN);
});

test('Without a subscription `create` creates one, and a second `create` changes nothing', async () => {
  const subscription = serviceOf();
  expect(await subscription.get()).toEqual({ state: 'none' });
  const url = 'https://volley.example/in/…';
  expect(await subscription.create()).toEqual({ outcome: 'created', url, replaced: 'none' });
  expect(await held()).toEqual({ kind: 'found', url: OWN.url, securityToken: OWN.securityToken });
  expect(await subscription.create()).toEqual({ outcome: 'already', url });
  expect(await subscription.get()).toEqual({ state: 'ours', url });
  expect(await subscription.remove()).toEqual({ outcome: 'deleted', url });
  expect(await subscription.remove()).toEqual({ outcome: 'none' });
});

test('A foreign subscription is reported and left alone unless `force` is set', async () => {
  await clientOf(simulator().messagingBaseUrl).create(FOREIGN, { authorization: 'key' });
  const subscription = serviceOf();
  const url = 'https://other.example/hook/…';
  expect(await subscription.get()).toEqual({ state: 'foreign', url });
  expect(await subscription.create()).toEqual({ outcome: 'foreign', url });
  expect(await subscription.remove()).toEqual({ outcome: 'foreign', url });
  expect(await held()).toMatchObject(FOREIGN);
  expect(await subscription.create({ force: true })).toMatchObject({
    outcome: 'created',
    replaced: 'foreign',
  });
  expect(await held()).toMatchObject({ url: OWN.url });
});

test.each([
  ['another security token', { ...CALLBACK, securityToken: 'the-token-of-last-year' }],
  ['another address', { ...CALLBACK, url: 'https://old.example/notifications' }],
])('A subscription of ours with %s is replaced', async (_, before) => {
  await serviceOf(before).create();
  const subscription = serviceOf();
  expect(await subscription.get()).toMatchObject({ state: 'outdated' });
  expect(await subscription.create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
  expect(await held()).toMatchObject({ url: OWN.url, securityToken: OWN.securityToken });
});

test.each([
  ['below our address', 'https://volley.example/in/other/hook'],
  ['below our address, in one part', 'https://volley.example/in/hook'],
  ['at our address', 'https://volley.example/in'],
  ['at an address that only begins like ours', `https://volley.example/inn/${OWN.segment.slice(1)}x`],
  ['on our host', `https://volley.example/${'a'.repeat(43)}`],
  ['at our path on another port', 'https://volley.example:8443/in/hook'],
])('A foreign subscription %s is left alone', async (_, url) => {
  const client = clientOf(simulator().messagingBaseUrl);
  await client.create({ url, securityToken: 'theirs' }, { authorization: 'key' });
  const subscription = serviceOf();
  expect(await subscription.create()).toMatchObject({ outcome: 'foreign' });
  expect(await subscription.remove()).toMatchObject({ outcome: 'foreign' });
  expect(await held()).toMatchObject({ url });
});

const shows = (url: string, securityToken?: string | null) =>
  reply(['HTTP/1.1 200 OK'], JSON.stringify({ callback: { url, securityToken } }));

test.each([
  ['with its port', OWN.url.replace('.example', '.example:443'), OWN.securityToken],
  ['with capitals in its host', OWN.url.replace('volley', 'Volley'), OWN.securityToken],
  ['with a slash at its end', `${OWN.url}/`, OWN.securityToken],
  ['without its token', OWN.url, undefined],
  ['with null for a token', OWN.url, null],
  ['with an empty token', OWN.url, ''],
  ['with its token masked', OWN.url, '********'],
  ['with most of its token masked', OWN.url, `****${OWN.securityToken.slice(-4)}`],
])('Our subscription is recognised if the service shows it %s', async (_, url, securityToken) => {
  const server = await rawServer(shows(url, securityToken));
  expect(await serviceOf(CALLBACK, server.origin).create()).toMatchObject({ outcome: 'already' });
});

test('A service that shows another token than it was given gets one replacement, not one per check', async () => {
  const digest = shows(OWN.url, '5f4dcc3b5aa765d61d8327deb882cf99');
  const made = reply(['HTTP/1.1 201 Created']);
  const server = await rawServer([digest, reply(['HTTP/1.1 204 No Content']), made, digest]);
  const subscription = serviceOf(CALLBACK, server.origin);
  expect(await subscription.create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
  expect(await subscription.create()).toMatchObject({ outcome: 'already' });
  expect(await subscription.create()).toMatchObject({ outcome: 'already' });
  expect(server.requests.filter((request) => !request.startsWith('GET '))).toHaveLength(2);
});

test('Two installations with one secret and two addresses do not replace each other’s subscription again and again', async () => {
  const [one, other] = [serviceOf(), serviceOf({ ...CALLBACK, url: 'https://other.example/in' })];
  expect(await one.create()).toMatchObject({ outcome: 'created', replaced: 'none' });
  expect(await other.create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
  for (let time = 0; time < 3; time += 1) {
    expect(await one.create()).toEqual({ outcome: 'foreign', url: 'https://other.example/in/…' });
    expect(await other.create()).toMatchObject({ outcome: 'already' });
  }
  // `force` still replaces it, and so does a new process with a new address.
  expect(await one.create({ force: true })).toMatchObject({ outcome: 'created' });
  expect(await serviceOf({ ...CALLBACK, url: 'https://third.example' }).create()).toMatchObject({
    outcome: 'created',
    replaced: 'outdated',
  });
});

test('Without CALLBACK_URL every subscription is foreign, and none is created', async () => {
  const subscription = serviceOf({ ...CALLBACK });
  await subscription.create();
  const none = subscriptionService({
    lane: 'main',
    client: clientOf(simulator().messagingBaseUrl),
    tokenSource,
    callback: undefined,
  });
  expect(await none.get()).toMatchObject({ state: 'foreign' });
  expect(await none.create({ force: true })).toMatchObject({ outcome: 'refused' });
  expect(await subscription.get()).toMatchObject({ state: 'ours' });
});

test('Subscription calls use no quota', async () => {
  const subscription = serviceOf();
  for (let time = 0; time < 5; time += 1) await subscription.create();
  expect(simulator().summary().throttled).toBe(0);
});

const NONE = reply(['HTTP/1.1 404 Not Found']);
test.each([
  ['400', 'refused', /malformed; check CALLBACK_URL/],
  ['406', 'refused', /the cause is not documented/],
  ['500', 'unanswered', /answered 500/],
])('If the service answers %s to `create`, the outcome is %s', async (status, outcome, reason) => {
  const server = await rawServer([NONE, reply([`HTTP/1.1 ${status} No`]), NONE]);
  const created = await serviceOf(CALLBACK, server.origin).create();
  expect(created).toEqual({ outcome, reason: expect.stringMatching(reason) });
});

test('A 406 because another of our processes was faster counts as created', async () => {
  const ours = JSON.stringify({ callback: { url: OWN.url, securityToken: OWN.securityToken } });
  const server = await rawServer([
    NONE,
    reply(['HTTP/1.1 406 Not Acceptable']),
    reply(['HTTP/1.1 200 OK'], ours),
  ]);
  expect(await serviceOf(CALLBACK, server.origin).create()).toMatchObject({ outcome: 'created' });
});

test('A refused key is reported, and nothing is created', async () => {
  const server = await rawServer(reply(['HTTP/1.1 401 Unauthorized']));
  const subscription = serviceOf(CALLBACK, server.origin);
  expect(await subscription.get()).toMatchObject({
    state: 'refused',
    reason: expect.stringContaining('401'),
  });
  expect(await subscription.create()).toMatchObject({ outcome: 'refused' });
  expect(server.requests.every((request) => request.startsWith('GET '))).toBe(true);
});

test('A token that may send but not subscribe does not stop the account', async () => {
  const server = await rawServer(reply(['HTTP/1.1 401 Unauthorized']));
  const service = accountService(undefined);
  const own = { username: 'subscriber', password: 'right' };
  const cache = createTokenCache({
    redis,
    keys: keyNames(prefix),
    account: own,
    requestTimeoutMs: 10_000,
    login: service.login,
    refresh: service.refresh,
  });
  onTestFinished(() => cache.close());
  const process = () =>
    subscriptionService({
      lane: 'main',
      client: clientOf(server.origin),
      tokenSource: laneTokenSource('main', { kind: 'account', ...own }, cache),
      callback: CALLBACK,
    });
  const [one, other] = [process(), process()];
  for (let time = 0; time < 3; time += 1) {
    expect(await one.create()).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('401') });
    expect(await other.create()).toMatchObject({ outcome: 'refused' });
  }
  expect(await cache.get()).toMatchObject({ kind: 'token' });
  // Each process tries one newer token, and not one per check.
  expect([service.logins, service.presented.length]).toEqual([1, 2]);
});

test('An expired token is renewed for a subscription call', async () => {
  const ours = JSON.stringify({ callback: { url: OWN.url, securityToken: OWN.securityToken } });
  const server = await rawServer([reply(['HTTP/1.1 401 No']), reply(['HTTP/1.1 200 OK'], ours)]);
  const service = accountService(undefined);
  const own = { username: 'expired', password: 'right' };
  const account = { account: own, login: service.login, refresh: service.refresh };
  const cache = createTokenCache({ redis, keys: keyNames(prefix), requestTimeoutMs: 10_000, ...account });
  onTestFinished(() => cache.close());
  const tokenSourceOf = laneTokenSource('main', { kind: 'account', ...own }, cache);
  const subscription = subscriptionService({
    lane: 'main',
    client: clientOf(server.origin),
    tokenSource: tokenSourceOf,
    callback: CALLBACK,
  });
  expect(await subscription.get()).toMatchObject({ state: 'ours' });
  expect(service.presented).toEqual(['refresh-1']);
});

test('A redacted address contains no part that may be a secret', () => {
  expect(redactedUrl('https://a.example/hook/s3cret?token=x')).toBe('https://a.example/hook/…');
  expect(redactedUrl('https://a.example')).toBe('https://a.example/');
  expect(redactedUrl('nonsense')).toBe('…');
  expect(redactedUrl('https://a.example/hook/s3cret/')).toBe('https://a.example/hook/…');
  expect(redactedUrl('https://a.example/hook/s3cret//')).toBe('https://a.example/hook/…');
  expect(redactedUrl('https://user:s3cret@a.example/hook')).toBe('https://a.example/…');
  expect(redactedUrl(`https://a.example/${'s3cret'.repeat(8)}/hook/x`)).toBe('https://a.example/…/hook/…');
  expect(redactedUrl('mailto:s3cret@a.example')).toBe('…');
  const before = process.cpuUsage();
  expect(redactedUrl(`https://a.example/${'a'.repeat(1_000_000)}/`)).toBe('…');
  // Microseconds of this process.
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
});
