import { expect, test } from 'vitest';
import { importCampaign } from '../../src/pipeline/import.js';
import { createWakers } from '../../src/pipeline/queues.js';
import { sweepLane } from '../../src/pipeline/sweep.js';
import { connect } from '../../src/redis/connection.js';
import { removeCampaign } from '../../src/store/remove-campaign.js';
import { keysOf, testRedis } from '../redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis, url } = testRedis('sweep');
const { deps, keys, lane: name } = importFixture(redis, prefix);
const CAMPAIGNS = 60;

test('one sweep removes what many campaigns have left, once their retention is over', async () => {
  const lane = deps.lanes.get(name);
  if (lane === undefined) throw new Error('no lane');
  for (let at = 0; at < CAMPAIGNS; at++) {
    const made = await importCampaign(deps, { recipients: [{ to: mobile(at) }], message: 'Hello' });
    if (made.kind !== 'created') throw new Error(made.kind);
    await lane.commands.campaign('cancel', made.id);
  }
  const blocking = connect(url, 'blocking');
  const wakers = createWakers(blocking, keys);
  try {
    await sweepLane(lane, {
      redis,
      keys,
      lanes: [lane],
      wakers,
      events: deps.events,
      retentionMs: -1,
      alive: async () => [],
      discardImport: async () => {},
      removeCampaign: (of, id) => removeCampaign(redis, keys, of, id),
    });
  } finally {
    await wakers.close();
    blocking.disconnect();
  }
  expect(await redis.hlen(keys.lane(name, 'states'))).toBe(0);
  expect((await keysOf(redis, prefix)).filter((key) => key.includes(':campaign:'))).toEqual([]);
});
