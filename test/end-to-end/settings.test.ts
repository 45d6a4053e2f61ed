import { expect, test } from 'vitest';
import { testRedis } from '../base/redis/test-redis.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('settings');

test('A lane whose variable is missing does not keep the others from being served, and its campaigns say so', {
  timeout: 90_000,
}, async () => {
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-missing`,
    workers: ['all'],
    settings: { B_KEY: 'another' },
    lanes: [
      { name: 'a', apiKey: 'key' },
      { name: 'b', apiKeyEnv: 'B_KEY' },
    ],
    own: async () => ({ B_KEY: '' }),
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100 },
  });
  const { volley } = fleet;
  const [served, unserved] = await Promise.all(
    ['a', 'b'].map((lane) => launch(fleet, { lane, recipients: recipients(5), message: 'Sale' })),
  );
  expect((await finished(volley, served ?? '', 60_000)).counts.deliveredToTerminal).toBe(5);
  const { blockedBy, waitingFor } = await volley.status(unserved ?? '');
  expect(blockedBy?.reason).toMatch(/^no worker that runs has the credentials of lane b; /);
  expect(waitingFor).toBe('workers');
  expect(fleet.logged('config.hint').map(({ hint }) => hint)).toEqual([
    expect.stringMatching(
      /lane "b": apiKeyEnv names B_KEY, which is not set .* serves only the other lanes$/,
    ),
  ]);
});
