import { expect, test } from 'vitest';
import { readLaneStatus } from '../../../src/engine/lane/lane-status.js';
import { refuseSinglePermit, takeSinglePermit } from '../../../src/engine/lane/single-permit.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane, START } from './lane-fixture.js';

const { redis, prefix } = testRedis('single-permit');
let lanes = 0;

/** A lane of its own, with this quota. */
function laneWith(quota: string) {
  lanes += 1;
  return openDefaultLane(redis, `${prefix}-${lanes}`, { env: { HOURLY_QUOTA: quota } });
}

const WINDOW = 3_600_000;
const TIMEOUT = 30_000;

test('Single permits count in the window until their requests can no longer arrive, and a window longer', async () => {
  const { lane } = laneWith('2');
  const take = (kind: 'send' | 'poll' | 'other', at: number) => takeSinglePermit(lane, kind, at);
  expect(await take('poll', START)).toMatchObject({ kind: 'granted' });
  expect(await take('other', START)).toMatchObject({ kind: 'granted' });
  expect(await take('send', START)).toMatchObject({
    kind: 'denied',
    reason: expect.stringContaining('has used its quota'),
  });
  expect(await take('send', START + WINDOW + TIMEOUT - 1)).toMatchObject({ kind: 'denied' });
  expect(await take('send', START + WINDOW + TIMEOUT + 60_000)).toMatchObject({ kind: 'granted' });
});

test('A request that the service may not count leaves a quota alone that is learned', async () => {
  const { lane } = laneWith('auto');
  for (let count = 0; count < 10; count += 1) await takeSinglePermit(lane, 'other', START);
  expect(await readLaneStatus(lane)).toMatchObject({ sends: 0, polls: 0 });
});

test('A 429 to a single request makes the lane back off, and teaches it the requests before that one', async () => {
  const { lane, emitted } = laneWith('auto');
  for (let count = 0; count < 25; count += 1) await takeSinglePermit(lane, 'poll', START);
  await refuseSinglePermit(lane, 'poll', { retryAfterMs: 60_000, reason: 'too many' }, START);
  expect(emitted).toMatchObject([
    { type: 'lane.backingOff', cause: 'throttled' },
    { type: 'quota.learned', quota: 24 },
  ]);
  expect(await takeSinglePermit(lane, 'poll', START + 1_000)).toMatchObject({
    kind: 'denied',
    reason: expect.stringContaining('backs off after a 429'),
  });
});

test('A permit expires after the margin of a claim', async () => {
  let now = 1_000;
  const { lane } = openDefaultLane(redis, `${prefix}-expiry`, { monotonic: () => now, clock: () => now });
  const taken = await takeSinglePermit(lane, 'poll');
  if (taken.kind !== 'granted') throw new Error(taken.reason);
  expect(taken.permit.isExpired()).toBe(false);
  now += lane.rules.margin + 1;
  expect(taken.permit.isExpired()).toBe(true);
});
