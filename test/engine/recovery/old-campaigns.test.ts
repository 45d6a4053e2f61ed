import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { campaignIdTime } from '../../../src/campaign/states/campaign.js';
import { openLanes } from '../../../src/engine/lane/lane-finder.js';
import { checkOldCampaigns } from '../../../src/engine/recovery/old-campaigns.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { listCampaigns } from '../../../src/engine/store/campaigns.js';
import { entryOf } from '../../../src/engine/store/lane-index.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('old-campaigns');
const DAY = 86_400_000;
const MAX_AGE = 90 * DAY;
const DEADLINE = 3 * DAY;

/** An installation with the lane `default`; `lane` may be another one, which is not configured. */
function installation(name: string, lane = 'default', env: Record<string, string> = {}) {
  const own = `${prefix}-${name}`;
  const config = loadLocalConfig({ REDIS_PREFIX: own, ...env });
  const events = createEvents({ level: 'silent' });
  const emitted: VolleyEvent[] = [];
  events.onAny((event) => emitted.push(event));
  const deadline = config.followUpDeadlineMs;
  const fixture = laneFixture(redis, own, lane, { maxRecipients: 2, quota: 1_000, deadline });
  const finder = openLanes({ redis, keys: fixture.keys, config, events, random: () => 0.5 });
  const discarded: string[] = [];
  let count = 0;
  const index = (id: string) => redis.zadd(fixture.keys.campaigns, 0, entryOf(id, lane));
  return {
    ...fixture,
    index,
    /** The campaigns of the index, newest first. */
    async indexed(): Promise<string[]> {
      const ids: string[] = [];
      for await (const { id } of listCampaigns(redis, fixture.keys)) ids.push(id);
      return ids;
    },
    own,
    emitted,
    discarded,
    async add(recipients: number, change: Record<string, unknown> = {}): Promise<string> {
      const id = `${campaignIdTime(START)}aaaa${count++}`;
      await index(id);
      await fixture.campaign(id, recipients, change);
      return id;
    },
    check: (now: number) =>
      checkOldCampaigns(
        {
          redis,
          keys: fixture.keys,
          finder,
          events,
          retentionMs: config.retentionMs,
          maxCampaignAgeMs: config.maxCampaignAgeMs,
          followUpPastMaxAgeMs: config.followUpPastMaxAgeMs,
          discardImport: async (_, id) => void discarded.push(id),
          removeCampaign: (of, id) => removeCampaign(redis, fixture.keys, of, id),
        },
        now,
      ),
  };
}

test('A campaign that is paused for ever lapses at the maximum age, and then ends', async () => {
  const { add, check, state, emitted, stored } = installation('paused');
  const [old, later] = [
    await add(5, { state: 'paused' }),
    await add(5, { state: 'paused', launchAt: START + DAY }),
  ];
  await check(START + MAX_AGE - 1);
  expect(await state(old)).toMatchObject({ state: 'paused', counts: { planned: 5 } });
  await check(START + MAX_AGE);
  expect(await state(old)).toMatchObject({ state: 'completed', counts: { planned: 0, lapsed: 5 } });
  // The age counts from the start of the campaign.
  expect(await state(later)).toMatchObject({ state: 'paused', counts: { planned: 5 } });
  expect(await stored.ended()).toEqual({ [old]: START + MAX_AGE });
  expect(emitted).toMatchObject([
    { type: 'campaign.tooOld', campaign: old, recipientCount: 5 },
    { type: 'campaign.completed', campaign: old },
  ]);
});

test.each([
  ['configured', 'default'],
  ['not configured', 'gone'],
])(
  'Unknown outcomes and missing reports end one follow-up deadline later, in a lane that is %s',
  async (name, lane) => {
    const it = installation(name.replace(' ', '-'), lane);
    const id = await it.add(6, { batch: 2 });
    const claims = await it.claim(START, 2);
    const [first, second] = claims;
    if (first === undefined || second === undefined) throw new Error('no claims');
    await it.settlements.send(
      [
        { claim: first, result: 'unknown', reason: 'timed out' },
        { claim: second, result: 'accepted', letters: 'NT', requestId: 'r' },
      ],
      0.5,
      START + 1_000,
    );
    await it.check(START + MAX_AGE);
    expect((await it.state(id)).counts).toMatchObject({ lapsed: 2, unknown: 2, deliveredToNetwork: 1 });
    await it.check(START + MAX_AGE + DEADLINE);
    expect(await it.state(id)).toMatchObject({
      state: 'completed',
      counts: {
        lapsed: 2,
        unknown: 0,
        abandoned: 2,
        deliveredToNetwork: 0,
        unconfirmed: 1,
        deliveredToTerminal: 1,
      },
      endedAt: START + MAX_AGE + DEADLINE,
    });
    expect(await it.stored.letters(id)).toBe('AACT');
    expect(await it.commands.unknown()).toEqual([]);
  },
);

test('Missing reports end at the maximum age if requests are followed up without a deadline', async () => {
  const { add, check, claims, settlements, state } = installation('never', 'default', {
    FOLLOW_UP_DEADLINE: 'never',
  });
  const id = await add(2, { batch: 2 });
  const { claims: claimed } = await claims.send({ turn: 't', call: 1, want: 1, seen: 0, now: START });
  const accepted = claimed.map(
    (claim) => ({ claim, result: 'accepted', letters: 'NT', requestId: 'r' }) as const,
  );
  await settlements.send(accepted, 0.5, START + 1_000);
  await check(START + MAX_AGE - 1);
  expect(await state(id)).toMatchObject({ state: 'running', counts: { deliveredToNetwork: 1 } });
  await check(START + MAX_AGE);
  expect(await state(id)).toMatchObject({
    state: 'completed',
    counts: { deliveredToNetwork: 0, unconfirmed: 1, deliveredToTerminal: 1 },
  });
});

test('A request in flight at the maximum age is not interrupted', async () => {
  const { add, check, claims, state } = installation('in-flight');
  const id = await add(1);
  const now = START + MAX_AGE;
  await claims.send({ turn: 't', call: 1, want: 1, seen: 0, now });
  await check(now + 1_000);
  expect(await state(id)).toMatchObject({ state: 'running', counts: { sending: 1 }, endedAt: 0 });
});

test('An entry of the index is removed if its campaign was lost', async () => {
  const { add, check, index, indexed } = installation('lost');
  const [lost, kept] = [`${campaignIdTime(START)}lost`, await add(1, { state: 'paused' })];
  await index(lost);
  // Its data may not have been written yet.
  await check(START + 29 * DAY);
  expect(await indexed()).toEqual([lost, kept]);
  await check(START + 31 * DAY);
  expect(await indexed()).toEqual([kept]);
});

test('The campaigns of a lane that is not configured are removed after their retention', async () => {
  const { add, check, stored, own, discarded } = installation('removed', 'gone');
  const ended = await add(1, { state: 'completed', counts: { deliveredToTerminal: 1 }, endedAt: START });
  const importing = await add(1, { state: 'importing', launchAt: 0 });
  await stored.end(ended, START);
  await check(START + 29 * DAY);
  expect((await keysOf(redis, own)).length).toBeGreaterThan(0);
  expect(await stored.campaigns()).toContain(ended);
  await check(START + 31 * DAY);
  expect(await stored.campaigns()).not.toContain(ended);
  expect(await stored.ended()).toEqual({});
  expect(discarded).toEqual([importing]);
});
