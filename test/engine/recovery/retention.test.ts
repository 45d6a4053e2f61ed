import { expect, test } from 'vitest';
import { metaKey } from '../../../src/engine/recipients/campaign-keys.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { findLane } from '../../../src/engine/store/campaigns.js';
import { entryOf } from '../../../src/engine/store/lane-index.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from '../../intake/import/import-fixture.js';
import { storedLane } from '../../scene/stored.js';

const { prefix, redis } = testRedis('retention');
const { deps, keys, lane } = importFixture(redis, prefix);
const stored = storedLane({ redis, keys, id: lane });
const RECIPIENTS = 1_000;

/** A campaign with every kind of data that campaigns have. */
async function campaign(message: string): Promise<string> {
  const recipients = Array.from({ length: RECIPIENTS }, (_, at) => ({ to: mobile(at) }));
  await deps.suppression.add([mobile(RECIPIENTS - 1)], SUPPRESSING);
  const outcome = await importCampaign(deps, { recipients, message, idempotencyKey: message });
  if (outcome.outcome !== 'created') throw new Error(`it was ${outcome.outcome}`);
  await stored.setLetters(outcome.id, 'T'.repeat(RECIPIENTS - 1));
  for (let first = 0; first < RECIPIENTS - 1; first += 100)
    await stored.setRequest(outcome.id, first, 100, 1, 'id');
  return outcome.id;
}

async function end(id: string): Promise<void> {
  await stored.changeState(id, { state: 'completed', endedAt: 5 });
  await stored.end(id, 5);
}

test('Removing an ended campaign leaves nothing of it, and does not touch other campaigns', async () => {
  const [id, other] = [await campaign('Removed'), await campaign('Kept')];
  await end(id);
  const kept = (await keysOf(redis, prefix)).filter((key) => key.includes(other)).length;
  await removeCampaign(redis, keys, lane, id);
  const left = await keysOf(redis, prefix);
  expect(left.filter((key) => key.includes(id))).toEqual([]);
  expect(left.filter((key) => key.includes(other))).toHaveLength(kept);
  expect(await stored.placesOf(id)).toEqual([]);
  expect(await findLane(redis, keys, id)).toBeNull();
  expect(await findLane(redis, keys, other)).toBe(lane);
  expect(await redis.keys(`${prefix}:idempotency:*`)).toHaveLength(3);
  await removeCampaign(redis, keys, lane, id);
});

test('A campaign that has not ended is not removed', async () => {
  const id = await campaign('Open');
  const before = await keysOf(redis, prefix);
  await removeCampaign(redis, keys, lane, id);
  expect((await keysOf(redis, prefix)).sort()).toEqual(before.sort());
  expect(await readMeta(redis, keys, lane, id)).not.toBeNull();
});

test('A removal that was interrupted can be continued', async () => {
  const id = await campaign('Broken off');
  await end(id);
  // The index entry and the data are gone; the state and the entry that the sweep reads are not.
  await redis.zrem(keys.campaigns, entryOf(id, lane));
  await redis.unlink(metaKey(keys, lane, id));
  await removeCampaign(redis, keys, lane, id);
  expect((await keysOf(redis, prefix)).filter((key) => key.includes(id))).toEqual([]);
  expect(await stored.ended()).not.toHaveProperty(id);
});
