import { decodeJwt } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Simulator } from '../../../src/tools/simulator/index.js';
import { startSimulator } from '../../scene/closing.js';
import { jsonOf, type RawReply, reply } from '../../tools/simulator/raw-http.js';

let now = Date.UTC(2026, 2, 2, 9, 30);
let simulator: Simulator;
let origin: string;

beforeEach(async () => {
  simulator = await startSimulator(
    {
      allowedHosts: ['accounts.example', 'messaging.example'],
      accounts: [
        { username: 'acme', password: 'open sesame', accountId: 'A-1' },
        { username: 'reseller', password: 'secret', reseller: true, targetAccountIds: ['CHILD-7'] },
      ],
      tokens: { accessLifetimeMs: 900_000, refreshLifetimeMs: 86_400_000, lockoutAfter: 3 },
    },
    { clock: () => now },
  );
  origin = simulator.accountBaseUrl;
});

const LOGIN = `POST /api/login HTTP/1.1
Host: accounts.example
Content-Type: application/json
X-Requested-With: XMLHttpRequest
Content-Length: *

{"username":"acme","password":"open sesame"}
`;

const refresh = (token: string) => `GET /api/RefreshToken HTTP/1.1
Host: accounts.example
Content-Type: application/json
X-Requested-With: XMLHttpRequest
X-Authorization: Bearer ${token}

`;

const send = (bearer: string) => `POST /smsmessaging/v1/outbound/ACME/requests HTTP/1.1
Host: messaging.example
Authorization: Bearer ${bearer}
Content-Type: application/json
Content-Length: *

{"outboundSMSMessageRequest":{"address":["tel:+4791000001"],"senderAddress":"ACME","outboundSMSTextMessage":{"message":"Hi"},"senderName":"ACME"}}
`;

/** The lines of a streamed reply. */
async function rawStream(path: string): Promise<string[]> {
  const response = await fetch(`${origin}${path}`);
  expect(response.status).toBe(200);
  return (await response.text()).split('\n').filter((line) => line !== '');
}

function pairOf(raw: RawReply): { AccessToken: string; RefreshToken: string } {
  expect(raw.statusLine).toBe('HTTP/1.1 200 OK');
  return jsonOf(raw) as { AccessToken: string; RefreshToken: string };
}

describe('POST /api/login', () => {
  it('returns AccessToken and RefreshToken, JSON Web Tokens with iat and exp', async () => {
    const pair = pairOf(await reply(origin, LOGIN));
    expect(Object.keys(pair)).toEqual(['AccessToken', 'RefreshToken']);
    expect(decodeJwt(pair.AccessToken)).toMatchObject({
      account: 'A-1',
      iat: now / 1000,
      exp: now / 1000 + 900,
    });
    expect(decodeJwt(pair.RefreshToken)).toMatchObject({
      account: 'A-1',
      iat: now / 1000,
      exp: now / 1000 + 86_400,
    });
  });

  it('answers 10126 to a wrong password and 11044 after too many, even to the right one', async () => {
    const wrong = LOGIN.replace('open sesame', 'open sesami');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const refused = await reply(origin, wrong);
      expect(refused.statusLine).toBe('HTTP/1.1 401 Unauthorized');
      expect(jsonOf(refused)).toMatchObject({ resultCode: 10126 });
    }
    expect(jsonOf(await reply(origin, LOGIN))).toMatchObject({ resultCode: 11044 });
  });

  it('does not reset the count of failed logins after a successful one', async () => {
    const wrong = LOGIN.replace('open sesame', 'open sesami');
    for (const attempt of [wrong, wrong, LOGIN, wrong]) await reply(origin, attempt);
    expect(jsonOf(await reply(origin, LOGIN))).toMatchObject({ resultCode: 11044 });
    simulator.configure({ accounts: [{ username: 'acme', password: 'open sesame' }] });
    pairOf(await reply(origin, LOGIN));
  });

  it('lets a reseller log in for a child account and answers 10117 to any other target', async () => {
    const child = LOGIN.replace(
      '"acme","password":"open sesame"',
      '"reseller","password":"secret","targetAccountId":"CHILD-7"',
    );
    expect(decodeJwt(pairOf(await reply(origin, child)).AccessToken)).toMatchObject({ account: 'CHILD-7' });
    for (const wrong of [
      child.replace('CHILD-7', 'CHILD-8'),
      LOGIN.replace('"}', '","targetAccountId":"CHILD-7"}'),
    ]) {
      expect(jsonOf(await reply(origin, wrong))).toMatchObject({ resultCode: 10117 });
    }
  });

  it('lets a reseller log in for child accounts at any level below its own, and writes it to their activity logs', async () => {
    simulator.configure({
      accounts: [
        { username: 'top', password: 'secret', accountId: 'TOP', reseller: true },
        { username: 'middle', password: 'secret', accountId: 'MIDDLE', parent: 'TOP', reseller: true },
        { accountId: 'LOW', parent: 'MIDDLE' },
        { accountId: 'LOWEST', parent: 'LOW' },
        { username: 'shop', password: 'secret', accountId: 'SHOP', parent: 'TOP' },
      ],
    });
    const loginOf = async (username: string, target?: string) => {
      const body = {
        username,
        password: 'secret',
        ...(target === undefined ? {} : { targetAccountId: target }),
      };
      const answer = jsonOf(
        await reply(
          origin,
          LOGIN.replace('{"username":"acme","password":"open sesame"}', JSON.stringify(body)),
        ),
      ) as { AccessToken?: string; RefreshToken?: string; resultCode?: number };
      return answer.AccessToken === undefined ? answer.resultCode : decodeJwt(answer.AccessToken)['account'];
    };
    for (const target of ['MIDDLE', 'LOW', 'LOWEST', 'SHOP']) {
      expect(await loginOf('top', target)).toBe(target);
    }
    expect(await loginOf('middle', 'LOWEST')).toBe('LOWEST');
    expect(await loginOf('shop')).toBe('SHOP');
    // Neither itself, nor an account above or beside it, nor without being a reseller.
    expect(await loginOf('top', 'TOP')).toBe(10117);
    expect(await loginOf('middle', 'TOP')).toBe(10117);
    expect(await loginOf('middle', 'SHOP')).toBe(10117);
    expect(await loginOf('shop', 'LOW')).toBe(10117);

    const activity = async (query: string) =>
      (await rawStream(`/_simulator/activity${query}`)).map((line) => JSON.parse(line) as object);
    const by = (user: string, account: string) => ({ action: 'login', byUser: user, byAccount: account });
    expect(await activity('?account=LOWEST')).toEqual([
      { at: now, account: 'LOWEST', ...by('top', 'TOP') },
      { at: now, account: 'LOWEST', ...by('middle', 'MIDDLE') },
    ]);
    expect(await activity('?account=SHOP')).toEqual([
      { at: now, account: 'SHOP', ...by('top', 'TOP') },
      { at: now, account: 'SHOP', ...by('shop', 'SHOP') },
    ]);
    expect(await activity('?account=TOP')).toEqual([]);
    expect(await activity('')).toHaveLength(6);
    const unknown = await reply(origin, 'GET /_simulator/activity?account=NONE HTTP/1.1\nHost: sim\n\n');
    expect(unknown.statusLine).toBe('HTTP/1.1 404 Not Found');
  });

  it('writes a refresh for a child account to its activity log, too', async () => {
    const child = LOGIN.replace(
      '"acme","password":"open sesame"',
      '"reseller","password":"secret","targetAccountId":"CHILD-7"',
    );
    const { RefreshToken } = pairOf(await reply(origin, child));
    pairOf(await reply(origin, refresh(RefreshToken)));
    expect(simulator.activity('CHILD-7')?.map(({ action }) => action)).toEqual(['login', 'refresh']);
    expect(simulator.activity('A-1')).toEqual([]);
  });

  it.each([
    [
      'a parent that is no account',
      [{ accountId: 'LOW', parent: 'NONE' }],
      'accounts[0]: parent NONE is no account',
    ],
    [
      "accounts that are each other's parents",
      [
        { accountId: 'A', parent: 'B' },
        { accountId: 'B', parent: 'A' },
      ],
      'A is its own parent',
    ],
    ['an account without a user or an id', [{ parent: 'A-1' }], 'must have a username with a password'],
  ])('refuses options with %s', (_, accounts, message) => {
    expect(() => simulator.configure({ accounts })).toThrow(message);
  });

  it.each([
    ['without X-Requested-With', 'X-Requested-With: XMLHttpRequest\n', ''],
    ['with another Content-Type', 'application/json', 'application/x-www-form-urlencoded'],
    ['without a password', ',"password":"open sesame"', ''],
  ])('answers 400 to a login %s', async (_, part, replacement) => {
    expect((await reply(origin, LOGIN.replace(part, replacement))).statusLine).toBe(
      'HTTP/1.1 400 Bad Request',
    );
  });
});

describe('GET /api/RefreshToken', () => {
  it('exchanges a refresh token for a new pair whose access token is valid in area A', async () => {
    const first = pairOf(await reply(origin, LOGIN));
    const second = pairOf(await reply(origin, refresh(first.RefreshToken)));
    expect(second.AccessToken).not.toBe(first.AccessToken);
    expect(second.RefreshToken).not.toBe(first.RefreshToken);
    for (const token of [first.AccessToken, second.AccessToken]) {
      expect((await reply(origin, send(token))).statusLine).toBe('HTTP/1.1 201 Created');
    }
  });

  it('revokes all tokens of a session whose used refresh token is presented again, and counts the reuse', async () => {
    const other = pairOf(await reply(origin, LOGIN));
    const first = pairOf(await reply(origin, LOGIN));
    const second = pairOf(await reply(origin, refresh(first.RefreshToken)));
    expect((await reply(origin, refresh(first.RefreshToken))).statusLine).toBe('HTTP/1.1 401 Unauthorized');
    expect((await reply(origin, refresh(second.RefreshToken))).statusLine).toBe('HTTP/1.1 401 Unauthorized');
    expect((await reply(origin, send(second.AccessToken))).statusLine).toBe('HTTP/1.1 401 Unauthorized');
    expect((await reply(origin, send(other.AccessToken))).statusLine).toBe('HTTP/1.1 201 Created');
    expect(simulator.summary()).toMatchObject({
      reusedRefreshTokens: 1,
      refreshes: 3,
      refreshesGranted: 1,
      logins: 2,
    });
  });

  it('rejects an expired token and a token of another service', async () => {
    const { AccessToken, RefreshToken } = pairOf(await reply(origin, LOGIN));
    expect((await reply(origin, refresh(AccessToken))).statusLine).toBe('HTTP/1.1 401 Unauthorized');
    now += 900_000;
    expect((await reply(origin, send(AccessToken))).statusLine).toBe('HTTP/1.1 401 Unauthorized');
    now += 86_400_000;
    expect((await reply(origin, refresh(RefreshToken))).statusLine).toBe('HTTP/1.1 401 Unauthorized');
  });
});

describe('a send request', () => {
  const withToken = (key: string, token: string) =>
    send(key).replace('Content-Type', `X-Authorization: Bearer ${token}\nContent-Type`);
  const statuses = async (accepts: 'key' | 'token' | 'both' | 'either') => {
    simulator.configure({ accepts, keys: [{ key: 'KEY-1' }] });
    const { AccessToken: token } = pairOf(await reply(origin, LOGIN));
    const requests = [send('KEY-1'), send(token), withToken('KEY-1', token), withToken('KEY-1', 'other')];
    const replies = await Promise.all(requests.map((request) => reply(origin, request)));
    return replies.map(({ statusLine }) => statusLine.split(' ')[1]);
  };

  it.each([
    ['either', ['201', '201', '201', '201']],
    ['key', ['201', '401', '201', '201']],
    ['token', ['401', '201', '401', '401']],
    ['both', ['401', '401', '201', '401']],
  ] as const)(
    'with a key, a token, both, or an unknown token, where the service accepts %s',
    async (accepts, expected) => {
      expect(await statuses(accepts)).toEqual(expected);
    },
  );
});

it.each([
  ['error.code', 400, { error: { code: 10126, message: 'BadCredential: username or password not valid' } }],
  ['message', 200, { message: '10126 BadCredential: username or password not valid' }],
  ['resultCode', 401, { resultCode: 10126, message: 'BadCredential: username or password not valid' }],
] as const)('places a result code as %s under status %i', async (placement, status, body) => {
  simulator.configure({ resultCode: { placement, status } });
  const refused = await reply(origin, LOGIN.replace('open sesame', 'open sesami'));
  expect(refused.statusLine).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(jsonOf(refused)).toEqual(body);
});
