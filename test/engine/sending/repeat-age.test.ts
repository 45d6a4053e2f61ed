import { expect, test } from 'vitest';
import { grantPermit, limitPermit } from '../../../src/engine/claim/permit.js';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('repeat-age');

/** How long after its first request a batch may be repeated. */
const REPEAT_FOR = 86_400_000 - 30_000 - 864_000;
const TOO_LATE = 'an earlier request may have been accepted; the service may no longer recognise a repeat';
/** A lane whose first batch got no response and is to be repeated under its correlator. */
async function laneWithRepeat(name: string, change: Partial<ScriptRules> = {}) {
  const lane = laneFixture(redis, prefix, name, { repeatFor: REPEAT_FOR, maxRecipients: 2, ...change });
  await lane.campaign('c', 2);
  const first = await lane.claim();
  await lane.settle(first, 'unknown', START + 30_000);
  const counts = async () => (await lane.state('c')).counts;
  return { ...lane, counts, first };
}

test('A batch is repeated under its correlator while the service remembers its first request', async () => {
  const lane = await laneWithRepeat('in-time');
  const [repeat] = await lane.claim(START + REPEAT_FOR - 1);
  expect(repeat).toMatchObject({
    first: 0,
    count: 2,
    again: 'underCorrelator',
    firstAt: START,
    leaveWithinMs: 1,
  });
});

test('A lane that backs off for longer than the service remembers correlators repeats nothing', async () => {
  const lane = await laneWithRepeat('too-late');
  expect(await lane.claim(START + REPEAT_FOR)).toEqual([]);
  await lane.sweep(START + REPEAT_FOR + 35_000);
  expect(await lane.counts()).toMatchObject({ unknown: 2, planned: 0, sending: 0 });
  expect(await lane.commands.unknown()).toMatchObject([{ first: 0, count: 2, reason: TOO_LATE }]);
  expect(await lane.claim(START + REPEAT_FOR + 100_000)).toEqual([]);
});

test('A batch that is too old for a repeat does not keep the rest of its campaign from being sent', async () => {
  const lane = await laneWithRepeat('others');
  await lane.stored.changeState('c', { total: 4, ordinals: 4, counts: { planned: 4 } });
  const claims = await lane.claim(START + REPEAT_FOR);
  expect(claims.map(({ campaign, first, count }) => [campaign, first, count])).toEqual([['c', 2, 2]]);
});

test('The time of the first request counts, however often the batch was repeated', async () => {
  const lane = await laneWithRepeat('often');
  for (const at of [START + 40_000_000, START + 80_000_000]) {
    const again = await lane.claim(at);
    expect(again).toMatchObject([{ again: 'underCorrelator', firstAt: START }]);
    await lane.settle(again, 'unknown', at + 30_000);
  }
  const last = await lane.claim(START + REPEAT_FOR - 1_000);
  await lane.settle(last, 'unknown', START + REPEAT_FOR);
  expect(await lane.commands.unknown()).toHaveLength(1);
});

test('A batch that is resent by the operator is not repeated beyond the time of its first request', async () => {
  const lane = await laneWithRepeat('resent');
  await lane.claim(START + REPEAT_FOR);
  await lane.sweep(START + REPEAT_FOR + 35_000);
  const later = START + 2 * REPEAT_FOR;
  await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), later);
  const resent = await lane.claim(later);
  expect(resent).toMatchObject([{ again: 'byOperator', firstAt: START }]);
  await lane.settle(resent, 'unknown', later + 30_000);
  expect(await lane.commands.unknown()).toHaveLength(1);
});

test('A replayed claim keeps the time of its first request', async () => {
  const lane = await laneWithRepeat('replayed');
  await lane.stored.changeState('c', { cursor: 0, released: {}, counts: { planned: 2 } });
  for (const claim of lane.first) {
    expect(await replayClaim(lane.store, claim, START + REPEAT_FOR - 40_000)).toBe('restored');
  }
  await lane.settle(lane.first, 'unknown', START + REPEAT_FOR - 39_000);
  expect(await lane.claim(START + REPEAT_FOR - 38_000)).toMatchObject([{ firstAt: START }]);
});

test('A batch whose first request has no known time is not repeated', async () => {
  const lane = await laneWithRepeat('older-version');
  await lane.stored.changeState('c', { released: [{ first: 0, count: 2, again: 'underCorrelator' }] });
  expect(await lane.claim(START + 60_000)).toEqual([]);
  expect(await lane.counts()).toMatchObject({ sending: 2, planned: 0 });
});

test('A lane whose service no longer deduplicates repeats nothing', async () => {
  const lane = await laneWithRepeat('switched-off');
  const off = laneFixture(redis, prefix, 'switched-off', { maxRecipients: 2 });
  const reply = await off.claims.send({ turn: 'u', call: 1, want: 1, seen: 0, now: START + 60_000 });
  expect(reply.claims).toEqual([]);
  expect(await lane.counts()).toMatchObject({ sending: 2, planned: 0 });
});

test('The permit of a repeat ends when the service may no longer remember the first request', () => {
  let now = 0;
  const granted = grantPermit({ timeout: 3_000, margin: 500 }, () => now);
  const [repeat, later] = [limitPermit(granted, 1_000), limitPermit(granted, 10_000)];
  now = 1_000;
  expect([granted, repeat, later].map((permit) => permit.isExpired())).toEqual([false, false, false]);
  now = 1_001;
  expect([granted, repeat, later].map((permit) => permit.isExpired())).toEqual([false, true, false]);
  now = 3_501;
  expect([granted, repeat, later].map((permit) => permit.isExpired())).toEqual([true, true, true]);
});
