import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { TokenIssuer } from '../../../../src/tools/simulator/accounts/tokens.js';
import { parseOptions } from '../../../../src/tools/simulator/rules/options.js';
import { seededRandom } from '../../../../src/tools/simulator/rules/random.js';
import { Timers } from '../../../../src/tools/simulator/state/timers.js';
import { exchange } from '../raw-http.js';
import { simulatorUnderTest, statusOf } from '../simulator.js';

const NOW = 1_800_000_000_000;
const officeWith = (withExp: boolean): TokenIssuer =>
  new TokenIssuer({
    settings: parseOptions({ tokens: { accessLifetimeMs: 2_500, refreshLifetimeMs: 10_000, withExp } }),
    random: seededRandom(1),
    record: () => {},
    timers: new Timers(),
  });

it('Access tokens state exp with fractions of a second, for short test lifetimes', async () => {
  const office = officeWith(true);
  const { AccessToken } = await office.issue(office.openSession('acme', 'A-1'), NOW + 700);
  expect(decodeJwt(AccessToken)).toMatchObject({
    sub: 'acme',
    account: 'A-1',
    iat: NOW / 1000,
    exp: NOW / 1000 + 2.5,
  });
});

it('A token without exp expires too', async () => {
  const office = officeWith(false);
  const { AccessToken } = await office.issue(office.openSession('acme', 'A-1'), NOW);
  expect(decodeJwt(AccessToken)).not.toHaveProperty('exp');
  expect(office.accountOf(AccessToken, NOW + 2_499)).toBe('A-1');
  expect(office.accountOf(AccessToken, NOW + 2_500)).toBeUndefined();
});

it('All tokens of an account share the quota of that account', async () => {
  const { simulator, send } = await simulatorUnderTest({
    keys: [{ account: 'A-1', quota: 2 }],
    accounts: [
      { username: 'acme', password: 'p', accountId: 'A-1' },
      { username: 'other', password: 'p' },
    ],
  });
  const tokenOf = async (username: string) => {
    const head =
      'POST /api/login HTTP/1.1\nHost: sim\nContent-Type: application/json\nX-Requested-With: XMLHttpRequest';
    const request = `${head}\nContent-Length: *\n\n{"username":"${username}","password":"p"}`;
    const result = await exchange(simulator.accountBaseUrl, request);
    return typeof result === 'string' ? result : String(JSON.parse(result.body).AccessToken);
  };
  const [first, second, other] = [await tokenOf('acme'), await tokenOf('acme'), await tokenOf('other')];
  const statuses: unknown[] = [];
  for (const key of [first, second, first, second, other, other, other]) {
    statuses.push(statusOf(await send(['+4791234567'], { key })));
  }
  expect(statuses).toEqual([201, 201, 429, 429, 201, 201, 201]);
  expect(simulator.summary().maxPerWindow.map(({ key, admitted }) => [key, admitted])).toEqual([
    ['account:A-1', 2],
    ['account:other', 3],
  ]);
});
