import { describe, expect, test } from 'vitest';
import { pollClaims } from '../../../src/engine/follow-up/poll-claims.js';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import { correctClock, type LaneStore } from '../../../src/engine/scripts/lane-script.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../lane/lane-fixture.js';
import { losableServer } from '../losable-server.js';
import { HOUR, MINUTE, SECOND, steppingLane } from './stepping-lane.js';

const { redis, prefix } = testRedis('clock-forward');
const laneNamed = (name: string, change?: Parameters<typeof steppingLane>[3]) =>
  steppingLane(redis, prefix, name, change);

describe('A clock of Redis that is set forward', () => {
  test('returns no permit early, and none late', async () => {
    const lane = await laneNamed('forward');
    const worker = lane.worker();
    expect(await worker.send()).toBe(100);
    lane.pass(10 * SECOND);
    lane.step(2 * HOUR);
    expect(await worker.send()).toBe(0);
    expect(lane.changes).toEqual([2 * HOUR - 5]);
    lane.pass(59 * MINUTE);
    expect(await worker.send()).toBe(0);
    lane.pass(MINUTE + 10 * SECOND);
    expect(await worker.send()).toBe(100);
  });

  test('returns no permit early after Redis has lost that the lane was corrected, however often', async () => {
    const lane = await laneNamed('correction-lost');
    const worker = lane.worker();
    expect(await worker.send()).toBe(100);
    const server = losableServer(redis, `${prefix}:`);
    await server.backUp();
    lane.pass(10 * SECOND);
    lane.step(2 * HOUR);
    for (const _loss of [1, 2, 3]) {
      expect(await worker.send()).toBe(0);
      await server.lose();
      lane.pass(5 * SECOND);
    }
    expect(await worker.send()).toBe(0);
    expect(lane.changes.map((ms) => Math.round(ms / MINUTE))).toEqual([120, 120, 120, 120]);
    lane.pass(59 * MINUTE);
    expect(await worker.send()).toBe(0);
    lane.pass(MINUTE + 10 * SECOND);
    expect(await worker.send()).toBe(100);
  });

  test('returns no permit early to a settlement or a sweep that runs first', async () => {
    const lane = await laneNamed('settled-first');
    const worker = lane.worker();
    const { claims } = await worker.claim();
    lane.pass(SECOND);
    lane.step(30 * MINUTE);
    await worker.settle(claims.slice(0, 50));
    lane.step(45 * MINUTE);
    await worker.sweep();
    await worker.settle(claims.slice(50));
    lane.pass(55 * MINUTE);
    expect(await worker.send()).toBe(0);
    expect(lane.changes.map((ms) => Math.round(ms / MINUTE))).toEqual([30, 45]);
  });

  test('returns no permit early after a small step back that no process noticed', async () => {
    const lane = await laneNamed('back-and-forward');
    const worker = lane.worker();
    await worker.sweep();
    lane.step(-4 * SECOND);
    await worker.sweep();
    // The lane's time has caught up, and a bucket of the ledger is about to end, so that its length hides nothing.
    lane.pass(10 * SECOND);
    const bucketMs = Math.ceil(HOUR / 384);
    lane.pass(bucketMs - 1 - (lane.now() % bucketMs));
    expect(await worker.send()).toBe(100);
    lane.step(2 * HOUR + 4 * SECOND);
    expect(await worker.send()).toBe(0);
    lane.pass(HOUR - 2 * SECOND);
    expect(await worker.send()).toBe(0);
    lane.pass(30 * SECOND);
    expect(await worker.send()).toBe(100);
  });

  test.each([
    [20 * MINUTE, 2 * HOUR],
    [2 * HOUR, 2 * HOUR],
    [2 * HOUR, 90 * MINUTE],
  ])(
    'returns no permit early to a process that missed that it was set back before (%i, %i ms)',
    async (back, forward) => {
      const lane = await laneNamed(`missed-${back}-${forward}`);
      const [one, other] = [lane.worker(), lane.worker()];
      await other.sweep();
      expect(await one.send()).toBe(100);
      lane.pass(SECOND);
      lane.step(-back);
      expect(await one.send()).toBe(0);
      lane.pass(SECOND);
      lane.step(forward);
      expect(await other.send()).toBe(0);
      lane.pass(59 * MINUTE);
      expect([await other.send(), await one.send()]).toEqual([0, 0]);
      lane.pass(MINUTE + 30 * SECOND);
      expect([await other.send(), await one.send()]).toEqual([100, 0]);
    },
  );

  test('remembers requests without an id for as long as before', async () => {
    const lane = await laneNamed('unnamed');
    const worker = lane.worker();
    await worker.sweep();
    await lane.fixture.stored.setUnnamed('c:0:1', lane.now() + HOUR);
    lane.step(2 * HOUR);
    await worker.sweep();
    expect(await lane.fixture.stored.unnamed()).toEqual({ 'c:0:1': lane.now() + HOUR });
  });

  test('keeps a message waiting for its parts, and the lease of its process, for as long as before', async () => {
    const lane = await laneNamed('parts');
    const worker = lane.worker();
    await worker.sweep();
    const parts = { 1: { id: 'm', digest: 'd', text: 'st', payer: '', bytes: 704 } };
    const message = { from: '+447700900101', to: 'ACME', total: 2, count: 1, parts };
    const [at, lease] = [lane.now() - MINUTE, lane.now() + SECOND];
    await lane.fixture.stored.setPending({ m: { ...message, at, lease } });
    lane.step(2 * HOUR);
    await worker.sweep();
    const { m: kept } = await lane.fixture.stored.pendingMessages();
    expect(kept).toEqual({ ...message, at: expect.any(Number), lease: lane.now() + SECOND });
    // The delay includes what a process may not have noticed, but nothing lies in the future.
    expect(kept?.['at']).toBeGreaterThanOrEqual(lane.now() - MINUTE);
    expect(kept?.['at']).toBeLessThanOrEqual(lane.now());
  });

  test('keeps an ended campaign for as long as before', async () => {
    const lane = await laneNamed('retention');
    const worker = lane.worker();
    await commandStore(worker.store).campaign('cancel', 'c');
    expect((await worker.sweep()).expired).toEqual([]);
    lane.step(2 * HOUR);
    expect((await worker.sweep()).expired).toEqual([]);
    lane.pass(59 * MINUTE);
    expect((await worker.sweep()).expired).toEqual([]);
    lane.pass(2 * MINUTE);
    expect((await worker.sweep()).expired).toEqual(['c']);
  });

  test('makes no claim overdue early', async () => {
    const lane = await laneNamed('overdue');
    const worker = lane.worker();
    const { claims } = await worker.claim(3);
    lane.pass(10 * SECOND);
    lane.step(2 * HOUR);
    expect((await worker.sweep()).overdueSends).toEqual([]);
    lane.pass(24 * SECOND);
    expect((await worker.sweep()).overdueSends).toEqual([]);
    // How far the clock was set forward is known to 10 s.
    lane.pass(12 * SECOND);
    expect((await worker.sweep()).overdueSends).toHaveLength(claims.length);
  });

  test('delays permits once, however many processes notice it', async () => {
    const lane = await laneNamed('twice');
    const [one, other] = [lane.worker(), lane.worker()];
    expect(await one.send()).toBe(100);
    expect(await other.send()).toBe(0);
    lane.pass(MINUTE);
    lane.step(HOUR);
    expect(await Promise.all([one.send(), other.send()])).toEqual([0, 0]);
    lane.pass(10 * MINUTE);
    expect(await other.send()).toBe(0);
    expect(lane.changes).toHaveLength(1);
    lane.pass(49 * MINUTE + 30 * SECOND);
    expect(await other.send()).toBe(100);
  });

  test('is not confused with the suspension of a machine', async () => {
    const lane = await laneNamed('suspended');
    let stoodStill = 0;
    const [healthy, suspended] = [lane.worker(), lane.worker(() => lane.now() - START - stoodStill)];
    expect(await suspended.send(50)).toBe(50);
    for (let minute = 0; minute < 30; minute += 1) {
      lane.pass(MINUTE);
      await healthy.sweep();
    }
    stoodStill = 30 * MINUTE;
    expect(await suspended.send()).toBe(50);
    expect(lane.changes).toEqual([]);
  });

  test('keeps a batch from being sent again before its worker can no longer send it', async () => {
    const lane = await laneNamed('resend');
    const worker = lane.worker();
    await worker.claim(2);
    lane.pass(36 * SECOND);
    const { overdueSends } = await worker.sweep();
    const overdue = overdueSends.map((claim) => ({ claim, result: 'unknown', overdue: true }) as const);
    await settleSends(worker.store, overdue, 0);
    lane.step(2 * HOUR);
    const unknown = await listUnknown(lane.fixture.store);
    const resend = (store: LaneStore) => resolveBatches(store, 'resend', 'again', unknown);
    expect(await resend(worker.store)).toMatchObject({ batches: 0, tooEarly: 2 });
    lane.pass(30 * SECOND);
    expect(await resend(worker.store)).toMatchObject({ batches: 2, tooEarly: 0 });
  });

  test('lets a process that has just started wait for one that knows the clock', async () => {
    const lane = await laneNamed('new-process');
    const known = lane.worker();
    await lane.fixture.stored.setWorkers({ one: [1, 1], other: [1, 1] });
    expect(await known.send()).toBe(100);
    lane.pass(20 * SECOND);
    lane.step(2 * HOUR);
    const started = lane.worker();
    expect(await started.claim()).toMatchObject({ claims: [], why: 'clock', againInMs: 3_000 });
    expect((await started.sweep()).overdueSends).toEqual([]);
    // As its sweep does, every two seconds.
    await correctClock(known.store);
    lane.pass(3 * SECOND);
    expect(await started.send()).toBe(0);
    lane.pass(60 * MINUTE + 10 * SECOND);
    expect(await started.send()).toBe(100);
  });

  test('makes nothing last longer that a process has begun which knows only the new time', async () => {
    const lane = await laneNamed('begun-since');
    const known = lane.worker();
    await lane.fixture.stored.setWorkers({ one: [1, 1], other: [1, 1] });
    await known.send(1);
    lane.pass(20 * SECOND);
    lane.step(2 * HOUR);
    const loses = { process: 'new', seen: 0, mayLoseMs: 2 * SECOND, withReplicaMs: 2 * SECOND };
    await reportToBarrier(lane.worker().store, 'join', loses);
    lane.pass(SECOND);
    await known.sweep();
    const { closed } = await lane.fixture.views.look(lane.now());
    expect(closed).toMatchObject([{ cause: 'joining', until: expect.any(Number) }]);
    expect(closed[0]?.until).toBeLessThanOrEqual(lane.now() + 2 * SECOND);
  });

  test('does not stop a process that no other can tell about the clock', async () => {
    const lane = await laneNamed('alone');
    expect(await lane.worker().send(40)).toBe(40);
    lane.pass(20 * MINUTE);
    expect(await lane.worker().send()).toBe(60);
  });
});

test('Another master whose clock is ahead by less than a step returns no permit early', async () => {
  const lane = await laneNamed('other-master');
  const worker = lane.worker();
  await worker.sweep();
  // A bucket of the ledger is about to end, so that its length hides nothing.
  const bucketMs = Math.ceil(HOUR / 384);
  lane.pass(bucketMs - 1 - (lane.now() % bucketMs));
  expect(await worker.send()).toBe(100);
  expect(lane.changes).toEqual([]);
  // As if the lane had been compared with a master that has failed over to this server since.
  await lane.fixture.stored.setClockServer('f'.repeat(40));
  lane.step(4 * SECOND);
  expect(await worker.send()).toBe(0);
  expect(lane.changes).toHaveLength(1);
  lane.pass(HOUR - 2 * SECOND);
  expect(await worker.send()).toBe(0);
  lane.pass(15 * SECOND);
  expect(await worker.send()).toBe(100);
  // The comparison with the new master is kept.
  expect(await lane.fixture.stored.clockServer()).not.toBe('f'.repeat(40));
  expect(lane.changes).toHaveLength(1);
});

test('A clock that drifts is not set', async () => {
  const lane = await laneNamed('drift');
  let drift = 0;
  const worker = lane.worker(() => lane.now() - START - drift);
  expect(await worker.send(40)).toBe(40);
  for (let hour = 0; hour < 48; hour += 1) {
    lane.pass(HOUR);
    // A second an hour, 0.03 %.
    drift += SECOND;
    await worker.sweep();
  }
  expect(lane.changes).toEqual([]);
});

test('A poll that is claimed first notices the clock as well', async () => {
  const lane = await laneNamed('polls', { pollShare: 0.2 });
  const worker = lane.worker();
  const { claims } = await worker.claim(80);
  await worker.settle(claims, 'N');
  lane.pass(MINUTE);
  lane.step(HOUR);
  const polls = await pollClaims(worker.store).take({ turn: 'p', call: 1, want: 100 });
  expect(polls.claims.length).toBeLessThanOrEqual(20);
  expect(lane.changes).toHaveLength(1);
});
