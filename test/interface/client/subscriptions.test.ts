import { afterEach, describe, expect, it } from 'vitest';
import {
  createSubscriptionClient,
  type SubscriptionClient,
} from '../../../src/service/client/subscriptions.js';
import { closedPort, partsOf, rawServer, reply } from '../raw-server.js';

/** Written by hand from the interface page: area A, subscription; Callback. */
const CALLBACK =
  '{"callback": {"url": "https://volley.example/in/s3cret-path", "securityToken": "the-token"}}';
const MINE = { url: 'https://volley.example/in/s3cret-path', securityToken: 'the-token' };
const OK = ['HTTP/1.1 200 OK', 'Content-Type: application/json'];
const CREATED = ['HTTP/1.1 201 Created', 'Content-Type: application/json'];

let client: SubscriptionClient | undefined;
afterEach(() => client?.close());

async function clientWith(answer: string) {
  const server = await rawServer(answer);
  const own = createSubscriptionClient({ baseUrl: `${server.origin}/smsmessaging/v1`, timeoutMs: 10_000 });
  client = own;
  return { server, own };
}

describe('the subscription, as on the interface page', () => {
  it('is created with the path, headers, and body of the page', async () => {
    const { server, own } = await clientWith(reply(CREATED, CALLBACK));
    expect(await own.create(MINE, { authorization: 'KEY-1' })).toEqual({ kind: 'created' });
    expect(server.requests).toHaveLength(1);
    const { line, headers, body } = partsOf(server.requests[0] ?? '');
    expect(line).toBe('POST /smsmessaging/v1/outbound/subscriptions HTTP/1.1');
    expect(headers).toContain('authorization: Bearer KEY-1');
    expect(headers).toContain('content-type: application/json');
    expect(body).toBe(
      '{"callback":{"url":"https://volley.example/in/s3cret-path","securityToken":"the-token"}}',
    );
  });

  it('is read', async () => {
    const { server, own } = await clientWith(reply(OK, CALLBACK));
    expect(await own.get({ authorization: 'KEY-1' })).toEqual({ kind: 'found', ...MINE });
    expect(partsOf(server.requests[0] ?? '').line).toBe(
      'GET /smsmessaging/v1/outbound/subscriptions HTTP/1.1',
    );
  });

  it('is deleted, without a request or response body', async () => {
    const { server, own } = await clientWith('HTTP/1.1 204 No Content\r\n\r\n');
    expect(await own.remove({ authorization: 'KEY-1' })).toEqual({ kind: 'removed' });
    const { line, body } = partsOf(server.requests[0] ?? '');
    expect([line, body]).toEqual(['DELETE /smsmessaging/v1/outbound/subscriptions HTTP/1.1', '']);
  });

  it('does not exist if the service answers 404', async () => {
    const { own } = await clientWith(reply(['HTTP/1.1 404 Not Found']));
    expect(await own.get({ authorization: 'KEY-1' })).toEqual({ kind: 'none' });
    expect(await own.remove({ authorization: 'KEY-1' })).toEqual({ kind: 'none' });
    expect(await own.create(MINE, { authorization: 'KEY-1' })).toEqual({
      kind: 'stopped',
      reason: 'The service answered 404: check the base URL.',
    });
  });
});

it('distinguishes a malformed subscription from one that is not accepted', async () => {
  const malformed = await clientWith(reply(['HTTP/1.1 400 Bad Request'], '{"message":"url is required"}'));
  expect(await malformed.own.create(MINE, { authorization: 'KEY-1' })).toEqual({
    kind: 'malformed',
    reason: expect.stringMatching(/answered 400.*malformed; check CALLBACK_URL.*url is required/),
  });
  malformed.own.close();
  const refused = await clientWith(
    reply(['HTTP/1.1 406 Not Acceptable'], '{"callback":{"url":"https://x.example"}}'),
  );
  expect(await refused.own.create(MINE, { authorization: 'KEY-1' })).toEqual({
    kind: 'notAccepted',
    reason: expect.stringMatching(/answered 406.*one exists already\.$/),
  });
});

it('never repeats the key, the token, or the secret URL in a reason', async () => {
  const echo = `the-token KEY-1-WITH-LETTERS ${MINE.url}`;
  const { own } = await clientWith(reply(['HTTP/1.1 406 Not Acceptable'], echo));
  const outcome = await own.create(MINE, { authorization: 'KEY-1-WITH-LETTERS' });
  expect(JSON.stringify(outcome)).not.toMatch(/the-token|KEY-1|s3cret-path/);
  expect(outcome).toHaveProperty('reason', expect.stringContaining('The service says'));
});

describe.each(['get', 'create', 'remove'] as const)('%s', (operation) => {
  const run = (own: SubscriptionClient) =>
    operation === 'create'
      ? own.create(MINE, { authorization: 'KEY-1' })
      : own[operation]({ authorization: 'KEY-1' });

  it.each([
    ['401 Unauthorized', { kind: 'unauthorised', reason: expect.stringContaining('401') }],
    ['403 Forbidden', { kind: 'stopped', reason: expect.stringContaining('403') }],
    ['302 Found', { kind: 'stopped', reason: expect.stringContaining('check the base URL') }],
    ['405 Method Not Allowed', { kind: 'stopped', reason: expect.stringContaining('405') }],
    ['500 Internal Server Error', { kind: 'unanswered', reason: 'The service answered 500.' }],
    ['408 Request Timeout', { kind: 'unanswered', reason: 'The service answered 408.' }],
  ])('returns the outcome for %s', async (status, outcome) => {
    const { server, own } = await clientWith(reply([`HTTP/1.1 ${status}`]));
    expect(await run(own)).toEqual(outcome);
    expect(server.requests).toHaveLength(1);
  });

  it('returns the wait of a 429', async () => {
    const { own } = await clientWith(reply(['HTTP/1.1 429 Too Many Requests', 'Retry-After: 7']));
    expect(await run(own)).toEqual({ kind: 'throttled', retryAfterMs: 7000 });
  });

  it('returns `unanswered` if the service is down', async () => {
    const own = createSubscriptionClient({
      baseUrl: `http://127.0.0.1:${await closedPort()}`,
      timeoutMs: 10_000,
    });
    expect(await run(own)).toEqual({ kind: 'unanswered', reason: expect.stringContaining('ECONNREFUSED') });
    own.close();
  });
});

it.each([
  ['a body that breaks off', '{"callb'],
  ['a callback without a URL', '{"callback":{"securityToken":"x"}}'],
  ['an empty body', ''],
])('does not read a subscription from %s', async (_, body) => {
  const { own } = await clientWith(reply(OK, body));
  expect(await own.get({ authorization: 'KEY-1' })).toEqual({
    kind: 'unanswered',
    reason: expect.stringContaining('could not be read'),
  });
});

it('reads a subscription without its token or its wrapper', async () => {
  const { own } = await clientWith(reply(OK, '{"url":"https://other.example/"}'));
  expect(await own.get({ authorization: 'KEY-1' })).toEqual({
    kind: 'found',
    url: 'https://other.example/',
    securityToken: null,
  });
});
