import { expect, test } from 'vitest';
import { readLaneStatus } from '../../../src/engine/lane/lane-status.js';
import { eventLog } from '../../../src/reporting/event-log.js';
import { throttledTimes } from '../../../src/reporting/live/lanes.js';
import { ledgerOf } from '../../../src/reporting/live/ledger.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../../engine/lane/lane-fixture.js';

const { redis, prefix } = testRedis('ledger');

const sumOf = (buckets: readonly { sends: number; polls: number }[]) => ({
  send: buckets.reduce((sum, { sends }) => sum + sends, 0),
  poll: buckets.reduce((sum, { polls }) => sum + polls, 0),
});

test('The sum of the buckets is what the status counts as used, whatever was sent and has left the window', async () => {
  const lane = laneFixture(redis, prefix, 'sums', { maxRecipients: 1 });
  await lane.campaign('c', 1_000);
  let [now, call, seen] = [START, 0, 0];
  for (let step = 0; step < 40; step += 1) {
    call += 1;
    const { claims } = await lane.claims.send({ turn: 't', call, want: 3, seen, now });
    for (const { number } of claims) seen = Math.max(seen, number);
    const answered = claims.map((claim) => ({ claim, result: 'accepted', letters: 'N' }) as const);
    if (answered.length > 0) await lane.settlements.send(answered, 0, now + 100);
    now += 240_000;
    const view = await readLaneStatus(lane.store, now, true);
    const ledger = ledgerOf('sums', view, []);
    expect(sumOf(ledger.buckets)).toEqual({ send: view.sends, poll: view.polls });
    expect(ledger.used).toEqual({ send: view.sends, poll: view.polls });
    expect(ledger.permits.reduce((sum, { count }) => sum + count, 0)).toBe(view.sends + view.polls);
    expect(view.permitsToCome.reduce((sum, { permits }) => sum + permits, 0)).toBe(view.sends + view.polls);
  }
  expect((await readLaneStatus(lane.store, now, true)).sends).toBeGreaterThan(10);
});

test('A used quota says how many permits a send finds, and when', async () => {
  const lane = laneFixture(redis, prefix, 'full', { quota: 10, pollShare: 0, inFlight: 32 });
  await lane.campaign('c', 100);
  const first = await lane.claims.send({ turn: 't', call: 1, want: 4, seen: 0, now: START });
  const settled = (claims: typeof first.claims) =>
    claims.map((claim) => ({ claim, result: 'accepted', letters: 'N' }) as const);
  await lane.settlements.send(settled(first.claims), 0, START);
  const second = await lane.claims.send({ turn: 't', call: 2, want: 20, seen: 4, now: START + 60_000 });
  await lane.settlements.send(settled(second.claims), 0, START + 60_000);
  const view = await readLaneStatus(lane.store, START + 120_000);
  // One of ten is kept for the polls of what was sent.
  expect([view.sends, view.keptForPolls, view.nextPermits]).toEqual([9, 1, 4]);
  expect(view.nextPermitAt).toBeGreaterThanOrEqual(START + 3_600_000);
  expect(view.nextPermitAt).toBeLessThan(START + 3_600_000 + 2 * view.width);
  expect(view.buckets).toEqual([]);
  // The newest minute comes first.
  expect(view.perMinute.slice(0, 3).reduce((sum, count) => sum + count, 0)).toBe(9);
});

test('The 429s of a lane are those of its backoffs in the log', async () => {
  const log = eventLog(redis, (await import('../../../src/base/redis/keys.js')).keyNames(prefix));
  const event = (lane: string, cause: string) => JSON.stringify({ type: 'lane.backingOff', lane, cause });
  for (const json of [event('a', 'throttled'), event('b', 'throttled'), event('a', 'unreachable')])
    await log.append(json);
  await log.append(JSON.stringify({ type: 'campaign.paused', lane: 'a' }));
  const times = await throttledTimes(log, 'a', 0);
  expect(times).toHaveLength(1);
  expect(await throttledTimes(log, 'a', (times[0] ?? 0) + 1)).toEqual([]);
});
