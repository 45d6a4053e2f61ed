import { describe, expect, it, onTestFinished } from 'vitest';
import type { AccountCredentials } from '../../../src/base/account.js';
import { type AccountClient, createAccountClient } from '../../../src/service/client/accounts.js';
import { type Answer, closedPort, partsOf, rawServer, reply } from '../raw-server.js';

/** Written by hand from the interface page: Token pair. */
const PAIR = '{"AccessToken": "eyJh.eyJ1.c2ln", "RefreshToken": "eyJh.eyJy.c2ln"}';
const OK = ['HTTP/1.1 200 OK', 'Content-Type: application/json; charset=utf-8', 'Keep-Alive: timeout=5'];

const CREDENTIALS = { username: 'org-user', password: 'open "sesame" å' };

function clientOf(baseUrl: string, timeoutMs = 10_000): AccountClient {
  const client = createAccountClient({ baseUrl, timeoutMs });
  onTestFinished(() => client.close());
  return client;
}

async function loggedIn(answer: Answer, credentials: AccountCredentials = CREDENTIALS) {
  const server = await rawServer(answer);
  return { server, outcome: await clientOf(server.origin).login(credentials) };
}

async function refreshed(answer: Answer) {
  const server = await rawServer(answer);
  return { server, outcome: await clientOf(server.origin).refresh('eyJh.OLD.c2ln') };
}

describe('a login, as on the interface page', () => {
  it('sends the path, headers, and body of the page', async () => {
    const { server } = await loggedIn(reply(OK, PAIR));
    const { line, headers, body } = partsOf(server.requests[0] ?? '');
    expect(line).toBe('POST /api/login HTTP/1.1');
    expect(headers).toContain('content-type: application/json');
    expect(headers).toContain('x-requested-with: XMLHttpRequest');
    expect(headers.join('\n')).not.toMatch(/authorization/i);
    expect(body).toBe('{"username":"org-user","password":"open \\"sesame\\" å"}');
  });

  it('includes the target account if there is one', async () => {
    const { server } = await loggedIn(reply(OK, PAIR), { ...CREDENTIALS, targetAccountId: 'child-7' });
    expect(partsOf(server.requests[0] ?? '').body).toBe(
      '{"username":"org-user","password":"open \\"sesame\\" å","targetAccountId":"child-7"}',
    );
  });

  it('reads the token pair', async () => {
    const { outcome } = await loggedIn(reply(OK, PAIR));
    expect(outcome).toEqual({ kind: 'pair', accessToken: 'eyJh.eyJ1.c2ln', refreshToken: 'eyJh.eyJy.c2ln' });
  });

  it.each([
    ['inside a wrapper', `{"result":{"tokens":${PAIR}}}`],
    ['in camel case', '{"accessToken":"eyJh.eyJ1.c2ln","refreshToken":"eyJh.eyJy.c2ln"}'],
    ['in snake case', '{"access_token":"eyJh.eyJ1.c2ln","refresh_token":"eyJh.eyJy.c2ln"}'],
    ['beside digits that look like a result code', `{"id":10126,"pair":${PAIR}}`],
  ])('reads a token pair %s', async (_how, body) => {
    const { outcome } = await loggedIn(reply(OK, body));
    expect(outcome).toEqual({ kind: 'pair', accessToken: 'eyJh.eyJ1.c2ln', refreshToken: 'eyJh.eyJy.c2ln' });
  });

  it.each([
    ['no body', ''],
    ['one token alone', '{"AccessToken":"eyJh.eyJ1.c2ln"}'],
    ['an empty token', '{"AccessToken":"","RefreshToken":"eyJh.eyJy.c2ln"}'],
    ['a token that cannot be a header value', '{"AccessToken":"a\\nb","RefreshToken":"eyJh.eyJy.c2ln"}'],
  ])('treats a 200 with %s as no answer and repeats nothing of it', async (_what, body) => {
    const { outcome } = await loggedIn(reply(OK, body));
    expect(outcome).toEqual({ kind: 'noAnswer', reason: expect.not.stringContaining('eyJ') });
  });
});

describe('a refresh, as on the interface page', () => {
  it('sends a GET with the refresh token in X-Authorization and nowhere else', async () => {
    const { server, outcome } = await refreshed(reply(OK, PAIR));
    const { line, headers, body } = partsOf(server.requests[0] ?? '');
    expect(line).toBe('GET /api/RefreshToken HTTP/1.1');
    expect(headers).toContain('content-type: application/json');
    expect(headers).toContain('x-requested-with: XMLHttpRequest');
    expect(headers).toContain('x-authorization: Bearer eyJh.OLD.c2ln');
    expect(headers.filter((header) => header.toLowerCase().startsWith('authorization'))).toEqual([]);
    expect(body).toBe('');
    expect(outcome).toMatchObject({ kind: 'pair' });
  });

  it.each(['400 Bad Request', '401 Unauthorized', '403 Forbidden'])('is refused by %s', async (status) => {
    const { outcome } = await refreshed(reply([`HTTP/1.1 ${status}`], 'token eyJh.OLD.c2ln is used'));
    expect(outcome).toEqual({ kind: 'refused', reason: expect.stringContaining('is used') });
    expect(JSON.stringify(outcome)).not.toContain('OLD');
  });

  it('is sent once, even after a connection reset', async () => {
    const { server, outcome } = await refreshed((socket) => socket.resetAndDestroy());
    expect(outcome.kind).toBe('noAnswer');
    expect(server.requests).toHaveLength(1);
  });
});

describe('result codes anywhere in a response', () => {
  const places: [string, (code: string) => string][] = [
    ['a number in the body of a 200', (code) => reply(OK, `{"resultCode":${code}}`)],
    [
      'a string in the body of a 401',
      (code) => reply(['HTTP/1.1 401 Unauthorized'], `{"error":{"code":"${code}"}}`),
    ],
    ['a nested object', (code) => reply(['HTTP/1.1 400 Bad Request'], `{"a":[{"b":{"c":[{"d":${code}}]}}]}`)],
    ['a sentence', (code) => reply(['HTTP/1.1 500 Error'], `Login failed with code ${code}.`)],
    ['a word', (code) => reply(['HTTP/1.1 403 Forbidden'], `{"message":"ERR${code}: failed"}`)],
    [
      'a long error name',
      (code) => reply(['HTTP/1.1 403 Forbidden'], `authentication-failed.AUTH-${code}-refused`),
    ],
    ['a header', (code) => reply(['HTTP/1.1 403 Forbidden', `X-Result-Code: ${code}`])],
    ['an unknown header', (code) => reply([...OK, `Zork: ${code}`], '{}')],
    ['the status line', (code) => reply([`HTTP/1.1 401 ${code}`])],
  ];

  it.each(places)('reads 10126 in %s as a bad credential', async (_place, answer) => {
    expect((await loggedIn(answer('10126'))).outcome).toEqual({ kind: 'badCredential' });
  });
  it.each(places)('reads 10117 in %s as a wrong target account', async (_place, answer) => {
    expect((await loggedIn(answer('10117'))).outcome).toEqual({ kind: 'wrongTarget' });
  });
  it.each(places)('reads 11044 in %s as a blocked account', async (_place, answer) => {
    expect((await loggedIn(answer('11044'))).outcome).toEqual({ kind: 'blocked' });
  });

  it.each(['Timeout', 'timed out', 'TIME-OUT', 'The request has timed-out', 'LoginTimeOut'])(
    'reads 10126 that mentions a timeout as a login timeout: %s',
    async (message) => {
      const { outcome } = await loggedIn(reply(OK, `{"code":10126,"message":"${message}"}`));
      expect(outcome).toEqual({ kind: 'loginTimeout' });
    },
  );

  it.each([
    ['the length of the body', reply([...OK], 'x'.repeat(10126))],
    ['part of a longer number', reply(OK, '{"at":1010126, "n": 101260}')],
    ['part of an id', reply([...OK, 'X-Request-Id: 10126'], '{"trace":"4f2a-10126-9c3d-0011-aabbccddeeff"}')],
  ])('does not read a result code from %s', async (_what, answer) => {
    expect((await loggedIn(answer)).outcome.kind).toBe('noAnswer');
  });
});

describe('login responses without a result code', () => {
  it.each([
    ['302 Found', 'refused'],
    ['400 Bad Request', 'refused'],
    ['401 Unauthorized', 'refused'],
    ['403 Forbidden', 'refused'],
    ['404 Not Found', 'refused'],
    ['408 Request Timeout', 'noAnswer'],
    ['429 Too Many Requests', 'noAnswer'],
    ['500 Internal Server Error', 'noAnswer'],
    ['503 Service Unavailable', 'noAnswer'],
  ])('treats %s as %s and sends one request', async (status, kind) => {
    const { server, outcome } = await loggedIn(
      reply([`HTTP/1.1 ${status}`, 'Location: /elsewhere', 'Retry-After: 0']),
    );
    expect(outcome.kind).toBe(kind);
    expect(server.requests).toHaveLength(1);
  });

  it('has no answer if the service does not respond', async () => {
    const server = await rawServer(() => {});
    // Long enough for a busy process to write the request.
    expect((await clientOf(server.origin, 2_000).login(CREDENTIALS)).kind).toBe('noAnswer');
    expect(server.requests).toHaveLength(1);
  });

  it('is not sent if the service refuses the connection, or the call is cancelled before', async () => {
    const down = clientOf(`http://127.0.0.1:${await closedPort()}`);
    const refused = { kind: 'notSent', reason: expect.stringContaining('ECONNREFUSED') };
    expect([await down.login(CREDENTIALS), await down.refresh('eyJh.OLD.c2ln')]).toEqual([refused, refused]);
    const server = await rawServer(() => {});
    expect((await clientOf(server.origin).login(CREDENTIALS, AbortSignal.abort())).kind).toBe('notSent');
    expect(server.requests).toHaveLength(0);
  });

  it('never repeats the user name or the password', async () => {
    const { outcome } = await loggedIn(reply(['HTTP/1.1 400 Bad'], JSON.stringify({ bad: CREDENTIALS })));
    expect(JSON.stringify(outcome)).not.toMatch(/org-user|sesame|å/);
  });
});
