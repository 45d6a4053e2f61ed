import { expect, onTestFinished, test } from 'vitest';
import { systemAlarm } from '../../../src/base/clock.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { openLane } from '../../../src/engine/lane/lane.js';
import { replayClaims, reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import { sweepLaneState } from '../../../src/engine/recovery/sweep.js';
import { watchLosses } from '../../../src/engine/recovery/watch-losses.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('losses');
const LOSS = 2_000;

/** A lane of two workers whose slot can move to another server. */
async function laneOfTwo(name: string) {
  const keys = keyNames(`${prefix}-${name}`);
  const fixture = laneFixture(redis, `${prefix}-${name}`, 'default', {});
  const [settings] = loadLocalConfig({ HOURLY_QUOTA: '1000', REDIS_URL: 'redis://127.0.0.1' }).lanes;
  if (settings === undefined) throw new Error('no lane');
  await fixture.campaign('c', 10);
  const worker = async (process: string) => {
    const config = loadLocalConfig({ HOURLY_QUOTA: '1000', REDIS_URL: 'redis://127.0.0.1' });
    const lane = openLane(redis, keys, config, settings, createEvents({ level: 'silent' }), () => 0.5);
    const self = { process, mayLose: () => ({ ms: LOSS, withReplicaMs: LOSS }) };
    const recent = recentClaims(performance.now, self, (own) => replayClaims(lane, own));
    await reportToBarrier(lane, 'join', recent.self, { now: START });
    return { lane, recent, recents: new Map([['default', recent]]) };
  };
  let turns = 0;
  return {
    fixture,
    keys,
    one: await worker('one'),
    other: await worker('other'),
    moveSlot: () => fixture.stored.changeServer(),
    claim(by: Awaited<ReturnType<typeof worker>>, now: number) {
      turns += 1;
      return sendClaims(by.lane).take({ turn: `t${turns}`, call: 1, want: 1, ...by.recent.self, now });
    },
  };
}

test('A worker that another one tells of a lost run id replays its claims within a second, and the lane goes on', async () => {
  const it = await laneOfTwo('moved');
  const watch = watchLosses(redis, it.keys, it.other.recents, systemAlarm);
  onTestFinished(watch.stop);
  await it.moveSlot();
  const reply = await it.claim(it.one, START + LOSS);
  expect(reply).toMatchObject({ why: 'recovering', events: [{ type: 'dataLoss' }] });
  it.one.lane.emit(reply.events);
  it.one.recent.replayAfterLoss(reply.events);
  await expect.poll(it.fixture.stored.awaited).toEqual([]);
  const next = await it.claim(it.one, START + LOSS + 1);
  expect(next.claims).toHaveLength(1);
  expect((await it.fixture.state('c')).counts).toMatchObject({ planned: 9, sending: 1 });
});

test('The sweep announces a loss again while the recovery barrier waits, in case its discoverer died', async () => {
  const it = await laneOfTwo('again');
  await it.moveSlot();
  const [found] = (await it.claim(it.one, START + LOSS)).events;
  const { events } = await sweepLaneState(it.one.lane, 1e12, ['one', 'other'], START + LOSS + 1);
  if (found?.type !== 'dataLoss') throw new Error('the claim does not notice the loss');
  expect(events).toEqual([{ type: 'awaiting', lossName: found.lossName }]);
  const watch = watchLosses(redis, it.keys, it.other.recents, systemAlarm);
  onTestFinished(watch.stop);
  it.one.lane.emit(events);
  await expect.poll(it.fixture.stored.awaited).toEqual(['one']);
});

test('A worker that drains replays its claims first, so that no recovery barrier waits for it', async () => {
  const it = await laneOfTwo('drains');
  const watch = watchLosses(redis, it.keys, it.other.recents, () => () => {});
  await it.moveSlot();
  const { events } = await it.claim(it.one, START + LOSS);
  it.one.lane.emit(events);
  await expect.poll(() => redis.zcard(it.keys.losses)).toBe(1);
  await watch.stop();
  expect(await it.fixture.stored.awaited()).toEqual(['one']);
});
