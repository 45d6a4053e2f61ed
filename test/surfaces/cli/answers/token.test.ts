import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { lanesFile, prefix, shell, startSimulator } = scene('cli-token');
const { settings: service } = await startSimulator({
  accounts: [{ username: 'anna', password: 'right', reseller: true, targetAccountIds: ['child'] }],
});
const account = { ACCOUNT_USERNAME: 'anna', ACCOUNT_PASSWORD: 'right', ACCOUNT_TARGET_ID: 'child' };
const ON_LANE = { lane: 'default', targetAccount: 'child' };

test('An account logs in, and its token is shown and renewed without being printed', async () => {
  const { volley, json } = shell({ ...service, ...account });
  expect(await json('token', 'show')).toMatchObject({ exit: 0, output: { ...ON_LANE, state: 'none' } });
  expect((await volley('token', 'login')).stdout).toBe(
    'Logged in: lane default (target account child) uses token number 1.\n',
  );
  expect(await json('token', 'refresh')).toEqual({
    exit: 0,
    output: { ...ON_LANE, outcome: 'token', generation: 2 },
  });
  expect((await volley('token', 'show')).stdout).toMatch(
    /^Lane default \(target account child\): token usable, .* old, valid for .*\.\nRefresh token: ready\. /,
  );
});

test('After two refused passwords, Volley logs in no more, with exit code 3', async () => {
  const wrong = { ...account, ACCOUNT_PASSWORD: 'wrong', REDIS_PREFIX: `${prefix}-wrong` };
  const { json } = shell({ ...service, ...wrong });
  const outcomes = [await json('token', 'login'), await json('token', 'login')].map(({ exit, output }) => [
    exit,
    (output as { outcome: string }).outcome,
  ]);
  expect(outcomes.at(-1)).toEqual([3, 'stopped']);
});

test('With several lanes, a command about a token means the only one with an account', async () => {
  const lane = (name: string, user: string) => ({
    name,
    account: { usernameEnv: `USER_${user}`, passwordEnv: `PASSWORD_${user}` },
  });
  const run = (...lanes: object[]) => {
    const env = { USER_A: 'anna', PASSWORD_A: 'right', USER_B: 'ben', PASSWORD_B: 'right' };
    const LANES_FILE = lanesFile(['key', ...lanes]);
    return shell({ ...service, ...env, LANES_FILE, REDIS_PREFIX: `${prefix}-lanes` }).volley('token', 'show');
  };
  expect((await run(lane('one', 'A'))).stdout).toMatch(/^Lane one: token none/);
  const several = await run(lane('one', 'A'), lane('two', 'B'));
  expect([several.exit, several.stderr]).toEqual([
    2,
    expect.stringContaining('Several lanes have an account. Choose one with --lane (one, two).'),
  ]);
});
