import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/base/config/index.js';
import { refuseSinglePermit } from '../../../src/engine/lane/single-permit.js';
import { openSession } from '../../../src/tools/conformance/session.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../../engine/lane/lane-fixture.js';
import { rawServer, reply } from '../../interface/raw-server.js';

const { redis, prefix } = testRedis('conformance-session');

test('A request waits for a permit that comes soon, but not for one that comes late', async () => {
  const server = await rawServer(reply(['HTTP/1.1 404 Not Found']));
  const config = loadConfig({ MESSAGING_BASE_URL: server.origin, API_KEY: 'k', HOURLY_QUOTA: '1000' });
  const [settings] = config.lanes;
  if (settings === undefined) throw new Error('no lane');
  const { lane, tokens } = openDefaultLane(redis, prefix, { env: { QUOTA_WINDOW_MS: '600000' } });
  const session = openSession({
    config,
    lane,
    settings,
    tokenSource: tokens,
    tokens: null,
    baseUrl: server.origin,
    unknownKey: 'unknown',
    signal: undefined,
  });
  const poll = () =>
    session.request({
      method: 'GET',
      path: '/outbound/ACME/requests/1/deliveryInfos',
      as: 'lane',
      counts: 'poll',
    });
  expect(await poll()).toMatchObject({ kind: 'reply' });
  await refuseSinglePermit(lane, 'poll', { retryAfterMs: 1_000, reason: '' });
  expect(await poll()).toMatchObject({ kind: 'reply' });
  await refuseSinglePermit(lane, 'poll', { retryAfterMs: 60_000, reason: '' });
  expect(await poll()).toEqual({
    kind: 'notSent',
    reason: expect.stringMatching(/backs off after a 429; it sends again in \d+ s$/),
  });
  await lane.commands.lane('resume');
  expect(await poll()).toMatchObject({ kind: 'reply' });
  session.close();
});
