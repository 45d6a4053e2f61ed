import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { VolleyEvent } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { OLDER_DATA } from '../../../src/campaign/states/block-codes.js';
import { firstClosed } from '../../../src/engine/lane/closed.js';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { readLaneStatus } from '../../../src/engine/lane/lane-status.js';
import { openHighestClaims } from '../../../src/engine/recovery/highest-claims.js';
import { reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';
import { laneFixture } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('highest-claims');
const folder = await mkdtemp(join(tmpdir(), 'volley-state-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A Redis of its own prefix, with lane `a`, and workers with state files. */
function place(name: string) {
  const own = `${prefix}-${name}`;
  const keys = keyNames(own);
  const { rules } = laneFixture(redis, own, 'a');
  const lane = { redis, keys, id: 'a', rules };
  const stored = storedLane(lane);
  const emitted: VolleyEvent[] = [];
  let now = 0;
  return {
    keys,
    emitted,
    wait: (ms: number): void => {
      now += ms;
    },
    /** The lane has assigned claims up to this number. */
    assign: stored.assign,
    sequence: stored.sequence,
    held: async () => firstClosed(await readLaneStatus(lane), ['held'])?.why ?? '',
    resume: () => commandStore(lane).lane('resume'),
    /** A process without a state file, which knows this claim, notices that Redis knows less. */
    notice: (seen: number) =>
      reportToBarrier(lane, 'join', { process: 'other', seen, mayLoseMs: 0, withReplicaMs: 0 }),
    /** A worker that has seen this claim; Redis may lose as much. Each of its ticks must be asked for. */
    async worker(file: string, seen = 0, lossMs = 0) {
      let tick = async (): Promise<void> => {};
      const highest = await openHighestClaims({
        redis,
        keys,
        file: join(folder, `${name}-${file}`),
        events: { emit: (event) => void emitted.push(event) },
        monotonic: () => now,
        alarm: (_ms, callback) => {
          tick = async () => void callback();
          return () => {};
        },
        signal: new AbortController().signal,
        mayLose: () => ({ ms: lossMs, withReplicaMs: lossMs }),
      });
      const self = { process: file, seen, mayLoseMs: 0, withReplicaMs: 0 };
      highest.watch(new Map([['a', { self }]]));
      return {
        ...highest,
        self,
        tick: () => tick(),
        join: async () => {
          const kept = highest.of('a');
          const joining = { ...self, seen: Math.max(seen, kept), kept };
          return (await reportToBarrier(lane, 'join', joining)).events;
        },
      };
    },
    kept: async (file: string): Promise<number> =>
      JSON.parse(await readFile(join(folder, `${name}-${file}`), 'utf8')).claims.a ?? 0,
  };
}

describe('A claim', () => {
  test('is kept when Redis can no longer lose it', async () => {
    const { worker, assign, wait, kept } = place('old-enough');
    await assign(500);
    const one = await worker('one', 500, 2_000);
    await one.tick();
    await expect.poll(() => one.of('a')).toBe(0);
    wait(2_000);
    await one.stop();
    expect(await kept('one')).toBe(500);
  });

  test('that a failover has lost is never kept, and the next start holds nothing', async () => {
    const { worker, assign, notice, wait, held } = place('failover');
    await assign(500);
    const one = await worker('one', 500, 2_000);
    await one.tick();
    // The new master knows claims up to 495, which another worker notices.
    await assign(495);
    await notice(500);
    wait(2_000);
    await one.stop();
    expect(one.of('a')).toBe(0);
    const again = await worker('one');
    await again.join();
    expect(await held()).toBe('');
  });

  test('that a worker keeps is known to the others, and holds a lane that has lost it once', async () => {
    const { worker, assign, sequence, held, resume, emitted } = place('exchange');
    await assign(500);
    await (await worker('one', 500)).stop();
    await (await worker('two')).stop();
    await assign(300);
    const two = await worker('two');
    expect(two.of('a')).toBe(500);
    expect(await two.join()).toEqual([{ type: 'rolledBack', missing: 500 }]);
    expect(await held()).toBe(OLDER_DATA);
    expect(await sequence()).toBe(1e9);
    await resume();
    expect(await (await worker('one')).join()).toEqual([]);
    expect(await held()).toBe('');
    expect(emitted).toEqual([]);
  });

  test('is missed even if claim numbers were skipped since the backup was put back', async () => {
    const { worker, assign, notice, held } = place('skipped');
    await assign(500);
    await (await worker('one', 500)).stop();
    await assign(300);
    // A process without a file notices that Redis was restarted, and that it knows less.
    await notice(310);
    await (await worker('one')).join();
    expect(await held()).not.toBe('');
  });

  test('is not missed in a lane that has skipped numbers for another reason', async () => {
    const { worker, assign, notice, held } = place('restarted');
    await assign(500);
    await (await worker('one', 500)).stop();
    await notice(510);
    await (await worker('one')).join();
    expect(await held()).toBe('');
  });
});

describe('A Redis with other data', () => {
  test('holds the lanes if it was emptied', async () => {
    const { worker, assign, held, keys } = place('emptied');
    await assign(500);
    await (await worker('one', 500)).stop();
    await redis.del(keys.lane('a', 'lane'), keys.highestClaims);
    await (await worker('one')).join();
    expect(await held()).not.toBe('');
  });

  test('that a worker has not seen starts its file over, and what it had before is recognised', async () => {
    const { worker, assign, held, keys, emitted } = place('other');
    await assign(500);
    await (await worker('one', 500)).stop();
    const first = await redis.hgetall(keys.highestClaims);
    await redis.del(keys.highestClaims);
    await redis.hset(keys.highestClaims, ':data', 'another');
    await assign(10);
    const one = await worker('one');
    await one.join();
    await one.stop();
    expect(await held()).toBe('');
    expect(emitted).toMatchObject([{ type: 'stateFile.otherData' }]);
    await redis.hset(keys.highestClaims, first);
    expect((await worker('one')).isEarlierData).toBe(true);
  });
});

describe('STATE_FILE', () => {
  test.each([
    ['something else', /does not contain what Volley writes/],
    ['{"claims":{}}', /does not contain what Volley writes/],
  ])('with %j is refused', async (content, message) => {
    await writeFile(join(folder, 'refused-one'), content);
    await expect(place('refused').worker('one')).rejects.toThrow(message);
  });

  test('in a folder that does not exist is refused', async () => {
    await expect(place('missing').worker('no/one')).rejects.toThrow(/^STATE_FILE cannot be written/);
  });

  test('that workers share keeps what each of them has written', async () => {
    const { worker, assign, kept } = place('shared');
    await assign(20);
    const first = await worker('file', 10);
    await first.tick();
    await expect.poll(() => kept('file')).toBe(10);
    const second = await worker('file', 20);
    await second.tick();
    await expect.poll(() => kept('file')).toBe(20);
    // The first one has not learned of that.
    first.self.seen = 15;
    await first.tick();
    await expect.poll(() => first.of('a')).toBe(20);
    expect(await kept('file')).toBe(20);
  });

  test('that is empty is that of a first start', async () => {
    await writeFile(join(folder, 'empty-one'), '');
    expect((await place('empty').worker('one')).of('a')).toBe(0);
  });
});
