import { describe, expect, test } from 'vitest';
import { testRedis } from '../base/redis/test-redis.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('key-and-account');

const ACCOUNT = { username: 'ann', password: 'secret' };
const LANE = {
  name: 'main',
  apiKey: 'key',
  account: ACCOUNT,
  authorization: 'apiKey',
  xAuthorization: 'accessToken',
};
const COUNT = 40;

describe('a lane that sends an API key and an access token', () => {
  test('sends each message once, with the quota of the key', { timeout: 120_000 }, async () => {
    const fleet = await startedFleet({
      redisUrl: url,
      prefix: `${prefix}-both`,
      workers: ['all'],
      lanes: [LANE],
      simulator: { accepts: 'both', keys: [{ key: 'key' }], accounts: [ACCOUNT], deliveryTime: 100 },
    });
    const id = await launch(fleet, { recipients: recipients(COUNT), message: 'Sale', lane: 'main' });
    const { counts } = await finished(fleet.volley, id, 40_000);
    expect(counts).toMatchObject({ total: COUNT, deliveredToTerminal: COUNT });
    expect((await fleet.simulator.summary()).duplicates).toBe(0);
    const ledger = await fleet.simulator.ledger();
    expect(new Set(ledger.map(({ key }) => key))).toEqual(new Set(['key']));
    expect(fleet.logged('token.loggedIn')).toHaveLength(1);
  });
});
