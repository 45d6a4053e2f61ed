import { describe, expect, test } from 'vitest';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { HOUR, MINUTE, SECOND, steppingLane } from './stepping-lane.js';

const { redis, prefix } = testRedis('clock-back');
const laneNamed = (name: string, change?: Parameters<typeof steppingLane>[3]) =>
  steppingLane(redis, prefix, name, change);

describe('A clock of Redis that is set back', () => {
  test('returns all permits within one window', async () => {
    const lane = await laneNamed('back');
    const worker = lane.worker();
    expect(await worker.send()).toBe(100);
    lane.pass(MINUTE);
    lane.step(-2 * HOUR);
    expect(await worker.send()).toBe(0);
    expect(lane.changes).toHaveLength(1);
    lane.pass(59 * MINUTE + 50 * SECOND);
    expect(await worker.send()).toBe(0);
    lane.pass(MINUTE);
    expect(await worker.send()).toBe(100);
  });

  test('after it was set forward costs neither extra requests nor more than a window', async () => {
    const lane = await laneNamed('forward-and-back');
    const worker = lane.worker();
    expect(await worker.send()).toBe(100);
    lane.pass(10 * SECOND);
    lane.step(2 * HOUR);
    expect(await worker.send()).toBe(0);
    lane.pass(10 * SECOND);
    lane.step(-2 * HOUR);
    expect(await worker.send()).toBe(0);
    lane.pass(59 * MINUTE);
    expect(await worker.send()).toBe(0);
    lane.pass(2 * MINUTE);
    expect(await worker.send()).toBe(100);
    expect(lane.changes).toHaveLength(2);
  });

  test('ends backoffs and probes in time, and makes claims overdue in time', async () => {
    const lane = await laneNamed('back-off');
    const worker = lane.worker();
    const { claims } = await worker.claim(2);
    const [first] = claims;
    if (first === undefined) throw new Error('no claim');
    const throttled = { claim: first, result: 'throttled', retryAfterMs: 20 * SECOND } as const;
    await settleSends(worker.store, [throttled], 0);
    lane.step(-2 * HOUR);
    expect(await worker.send()).toBe(0);
    expect((await worker.sweep()).overdueSends).toEqual([]);
    lane.pass(36 * SECOND);
    expect((await worker.sweep()).overdueSends).toHaveLength(1);
    lane.pass(HOUR);
    expect(await worker.send()).toBe(1);
  });

  test('lets no batch be repeated for longer than the service remembers its correlator', async () => {
    const lane = await laneNamed('back-repeat', { repeatFor: HOUR });
    const worker = lane.worker();
    const { claims } = await worker.claim(2);
    const lost = claims.map((claim) => ({ claim, result: 'unknown', reason: 'timed out' }) as const);
    await settleSends(worker.store, lost.slice(0, 1), 0);
    lane.pass(10 * MINUTE);
    await worker.sweep();
    lane.pass(20 * MINUTE);
    lane.step(-20 * MINUTE);
    await worker.sweep();
    await settleSends(worker.store, lost.slice(1), 0);
    lane.pass(31 * MINUTE);
    expect((await worker.claim(2)).claims.filter(({ again }) => again)).toEqual([]);
  });

  test('is corrected by a process that has just started', async () => {
    const lane = await laneNamed('back-started');
    expect(await lane.worker().send(40)).toBe(40);
    lane.step(-2 * HOUR);
    expect(await lane.worker().send()).toBe(60);
    expect(lane.changes).toEqual([-2 * HOUR]);
  });

  test('a little more after it was set back far changes nothing more', async () => {
    const lane = await laneNamed('back-again');
    const [worker, other] = [lane.worker(), lane.worker()];
    expect([await worker.send(10), await other.send(10)]).toEqual([10, 10]);
    lane.step(-20 * SECOND);
    expect(await worker.send(10)).toBe(10);
    lane.pass(SECOND);
    lane.step(-4 * SECOND);
    // The other process sees both steps at once, and corrects the lane to a time before the one that the first process has seen.
    expect([await other.send(10), await worker.send(10)]).toEqual([10, 10]);
    expect(lane.changes).toEqual([-20 * SECOND]);
  });

  test('by less than 5 s changes nothing', async () => {
    const lane = await laneNamed('slightly-back');
    const worker = lane.worker();
    expect(await worker.send(40)).toBe(40);
    lane.step(-4_900);
    expect(await worker.send()).toBe(60);
    lane.pass(HOUR + 20 * SECOND);
    expect(await worker.send()).toBe(100);
    expect(lane.changes).toEqual([]);
  });
});
