import { expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { CAMPAIGN_ID, newCampaignId } from '../../../src/campaign/states/campaign.js';
import { findLane, listCampaigns, parseState, STATE_DEFAULTS } from '../../../src/engine/store/campaigns.js';
import { entryOf } from '../../../src/engine/store/lane-index.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('campaigns');
const keys = keyNames(prefix);
const NOW = Date.UTC(2027, 0, 1);

test('Campaign ids sort by their time, whatever their random part', () => {
  const ids = [newCampaignId(NOW, () => 0.999_999_999), newCampaignId(NOW + 1, () => 0)];
  const farOff = newCampaignId(Date.UTC(2100, 0), () => 0);
  for (const id of [...ids, farOff]) expect(id).toMatch(CAMPAIGN_ID);
  expect(ids).toEqual([...ids].sort());
  for (const id of ids) expect(id).toMatch(/^[0-9a-z]{13}$/);
});

test('Each of 500 campaigns is listed once, newest first, with its lane', async () => {
  const ids = Array.from({ length: 500 }, (_, at) => newCampaignId(NOW + at, () => 0.5));
  await redis.zadd(keys.campaigns, ...ids.flatMap((id, at) => [0, entryOf(id, `lane-${at % 3}`)]));
  const listed: string[] = [];
  for await (const { id } of listCampaigns(redis, keys)) listed.push(id);
  expect(listed).toEqual([...ids].reverse());
  expect(await findLane(redis, keys, ids[4] ?? '')).toBe('lane-1');
  expect(await findLane(redis, keys, (ids[4] ?? '').slice(0, 8))).toBeNull();
  expect(await findLane(redis, keys, '* or what people type')).toBeNull();
});

test('A campaign state is read as Lua writes it: empty lists are empty objects, and unknown fields are allowed', () => {
  const written = {
    ...STATE_DEFAULTS,
    state: 'running',
    total: 2,
    ordinals: 2,
    counts: { sending: 2 },
    createdAt: NOW,
  };
  expect(parseState(JSON.stringify({ ...written, released: {} })).released).toEqual([]);
  const released = [
    { first: 0, count: 1 },
    { first: 1, count: 1, again: 'byOperator' },
  ];
  expect(parseState(JSON.stringify({ ...written, released })).released).toEqual(released);
});
