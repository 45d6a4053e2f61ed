import { expect, onTestFinished, test } from 'vitest';
import { createTokenCache } from '../../src/auth/token-cache.js';
import { laneCallback } from '../../src/config/index.js';
import { laneTokenSource } from '../../src/lane/token-source.js';
import { subscriptionDesk } from '../../src/notifications/subscription-service.js';
import { keyNames } from '../../src/redis/keys.js';
import { accountService } from '../auth/account-service.js';
import { rawServer, reply } from '../interface/raw-server.js';
import { testRedis } from '../redis/test-redis.js';
import { atSimulator, CALLBACK, clientOf, FOREIGN, OWN, tokenSource } from './subscribing.js';

const { redis, prefix } = testRedis('subscription');
const { simulator, deskOf, there } = atSimulator();

test('each lane has an address and a token of its own, from which the security token cannot be told', () => {
  const other = laneCallback(CALLBACK, 'other');
  const all = [OWN.segment, OWN.securityToken, other.segment, other.securityToken];
  expect(new Set(all).size).toBe(4);
  for (const secret of all) expect(secret).toMatch(/^[\w-]{43}$/);
  expect(JSON.stringify([OWN, other])).not.toContain(CALLBACK.securityToken);
  expect(laneCallback(CALLBACK, 'main')).toEqual(OWN);
});

test('where there is none it is made, and then it is there already', async () => {
  const desk = deskOf();
  expect(await desk.get()).toEqual({ state: 'none' });
  const url = 'https://volley.example/in/…';
  expect(await desk.create()).toEqual({ outcome: 'created', url, replaced: 'none' });
  expect(await there()).toEqual({ kind: 'found', url: OWN.url, securityToken: OWN.securityToken });
  expect(await desk.create()).toEqual({ outcome: 'already', url });
  expect(await desk.get()).toEqual({ state: 'ours', url });
  expect(await desk.remove()).toEqual({ outcome: 'deleted', url });
  expect(await desk.remove()).toEqual({ outcome: 'none' });
});

test('somebody else’s is told of and left alone, unless it is forced', async () => {
  await clientOf(simulator().messagingBaseUrl).create(FOREIGN, 'key');
  const desk = deskOf();
  const url = 'https://other.example/hook/…';
  expect(await desk.get()).toEqual({ state: 'foreign', url });
  expect(await desk.create()).toEqual({ outcome: 'foreign', url });
  expect(await desk.remove()).toEqual({ outcome: 'foreign', url });
  expect(await there()).toMatchObject(FOREIGN);
  expect(await desk.create({ force: true })).toMatchObject({ outcome: 'created', replaced: 'foreign' });
  expect(await there()).toMatchObject({ url: OWN.url });
});

test.each([
  ['another security token', { ...CALLBACK, securityToken: 'the-token-of-last-year' }],
  ['another address', { ...CALLBACK, url: 'https://old.example/notifications' }],
])('one of ours of %s is renewed', async (_, before) => {
  await deskOf(before).create();
  const desk = deskOf();
  expect(await desk.get()).toMatchObject({ state: 'outdated' });
  expect(await desk.create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
  expect(await there()).toMatchObject({ url: OWN.url, securityToken: OWN.securityToken });
});

test.each([
  ['below our address', 'https://volley.example/in/other/hook'],
  ['below our address, in one part', 'https://volley.example/in/hook'],
  ['at our address', 'https://volley.example/in'],
  ['at an address that only begins like ours', `https://volley.example/inn/${OWN.segment.slice(1)}x`],
  ['on our host', `https://volley.example/${'a'.repeat(43)}`],
  ['at our path on another port', 'https://volley.example:8443/in/hook'],
])('somebody else’s %s is left alone', async (_, url) => {
  const client = clientOf(simulator().messagingBaseUrl);
  await client.create({ url, securityToken: 'theirs' }, 'key');
  const desk = deskOf();
  expect(await desk.create()).toMatchObject({ outcome: 'foreign' });
  expect(await desk.remove()).toMatchObject({ outcome: 'foreign' });
  expect(await there()).toMatchObject({ url });
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
  ['with its token blotted out', OWN.url, '********'],
  ['with most of its token blotted out', OWN.url, `****${OWN.securityToken.slice(-4)}`],
])('ours is known as ours where the service shows it %s', async (_, url, securityToken) => {
  const server = await rawServer(shows(url, securityToken));
  expect(await deskOf(CALLBACK, server.origin).create()).toMatchObject({ outcome: 'already' });
});

test('a service that shows another token than it was given is not asked again and again', async () => {
  const digest = shows(OWN.url, '5f4dcc3b5aa765d61d8327deb882cf99');
  const made = reply(['HTTP/1.1 201 Created']);
  const server = await rawServer([digest, reply(['HTTP/1.1 204 No Content']), made, digest]);
  const desk = deskOf(CALLBACK, server.origin);
  expect(await desk.create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
  expect(await desk.create()).toMatchObject({ outcome: 'already' });
  expect(await desk.create()).toMatchObject({ outcome: 'already' });
  expect(server.requests.filter((request) => !request.startsWith('GET '))).toHaveLength(2);
});

test('two installations of one secret and two addresses do not take it from each other for ever', async () => {
  const [one, other] = [deskOf(), deskOf({ ...CALLBACK, url: 'https://other.example/in' })];
  expect(await one.create()).toMatchObject({ outcome: 'created', replaced: 'none' });
  expect(await other.create()).toMatchObject({ outcome: 'created', replaced: 'outdated' });
  for (let time = 0; time < 3; time += 1) {
    expect(await one.create()).toEqual({ outcome: 'foreign', url: 'https://other.example/in/…' });
    expect(await other.create()).toMatchObject({ outcome: 'already' });
  }
  // A person may have it so, and who is started anew with another address.
  expect(await one.create({ force: true })).toMatchObject({ outcome: 'created' });
  expect(await deskOf({ ...CALLBACK, url: 'https://third.example' }).create()).toMatchObject({
    outcome: 'created',
    replaced: 'outdated',
  });
});

test('without an address nothing is ours, and nothing is made', async () => {
  const desk = deskOf({ ...CALLBACK });
  await desk.create();
  const none = subscriptionDesk({
    lane: 'main',
    client: clientOf(simulator().messagingBaseUrl),
    tokenSource,
    callback: undefined,
  });
  expect(await none.get()).toMatchObject({ state: 'foreign' });
  expect(await none.create({ force: true })).toMatchObject({ outcome: 'refused' });
  expect(await desk.get()).toMatchObject({ state: 'ours' });
});

test('its calls take none of the quota', async () => {
  const desk = deskOf();
  for (let time = 0; time < 5; time += 1) await desk.create();
  expect(simulator().summary().throttled).toBe(0);
});

const NONE = reply(['HTTP/1.1 404 Not Found']);
test.each([
  ['400', 'refused', /malformed; check CALLBACK_URL/],
  ['406', 'refused', /only one can exist/],
  ['500', 'unanswered', /answered 500/],
])('a service that answers %s to it is told of as %s', async (status, outcome, reason) => {
  const server = await rawServer([NONE, reply([`HTTP/1.1 ${status} No`]), NONE]);
  const told = await deskOf(CALLBACK, server.origin).create();
  expect(told).toEqual({ outcome, reason: expect.stringMatching(reason) });
});

test('406 because another process of ours was quicker is no failure', async () => {
  const ours = JSON.stringify({ callback: { url: OWN.url, securityToken: OWN.securityToken } });
  const server = await rawServer([
    NONE,
    reply(['HTTP/1.1 406 Not Acceptable']),
    reply(['HTTP/1.1 200 OK'], ours),
  ]);
  expect(await deskOf(CALLBACK, server.origin).create()).toMatchObject({ outcome: 'created' });
});

test('a key that is refused is told of, and nothing is made', async () => {
  const server = await rawServer(reply(['HTTP/1.1 401 Unauthorized']));
  const desk = deskOf(CALLBACK, server.origin);
  expect(await desk.get()).toMatchObject({
    state: 'unanswered',
    final: true,
    reason: expect.stringContaining('401'),
  });
  expect(await desk.create()).toMatchObject({ outcome: 'refused' });
  expect(server.requests.every((request) => request.startsWith('GET '))).toBe(true);
});

test('a service that takes an account’s token for messages and not for subscriptions does not stop the account', async () => {
  const server = await rawServer(reply(['HTTP/1.1 401 Unauthorized']));
  const service = accountService(undefined);
  const own = { username: 'subscriber', password: 'right' };
  const cache = createTokenCache({
    redis,
    keys: keyNames(prefix),
    account: own,
    requestTimeoutMs: 1_000,
    login: service.login,
    refresh: service.refresh,
  });
  onTestFinished(() => cache.close());
  const process = () =>
    subscriptionDesk({
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
  // A token that has expired without saying so is renewed: once a process, and not each time it looks.
  expect([service.logins, service.presented.length]).toEqual([1, 2]);
});

test('a token that is not good any more is renewed for a subscription', async () => {
  const ours = JSON.stringify({ callback: { url: OWN.url, securityToken: OWN.securityToken } });
  const server = await rawServer([reply(['HTTP/1.1 401 No']), reply(['HTTP/1.1 200 OK'], ours)]);
  const service = accountService(undefined);
  const own = { username: 'expired', password: 'right' };
  const account = { account: own, login: service.login, refresh: service.refresh };
  const cache = createTokenCache({ redis, keys: keyNames(prefix), requestTimeoutMs: 1_000, ...account });
  onTestFinished(() => cache.close());
  const tokenSourceOf = laneTokenSource('main', { kind: 'account', ...own }, cache);
  const desk = subscriptionDesk({
    lane: 'main',
    client: clientOf(server.origin),
    tokenSource: tokenSourceOf,
    callback: CALLBACK,
  });
  expect(await desk.get()).toMatchObject({ state: 'ours' });
  expect(service.presented).toEqual(['refresh-1']);
});
