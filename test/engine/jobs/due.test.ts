import { expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { dueForOthers, markDue, returnDue, takeDue } from '../../../src/engine/jobs/due.js';
import { activate, bySweep } from '../../../src/engine/jobs/wake.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('due');
let stores = 0;

function emptyStore() {
  stores += 1;
  return { redis, keys: keyNames(`${prefix}-${stores}`), id: 'a' };
}

test('A lane that one sweeper has taken is not due for another until the first had 30 seconds', async () => {
  const store = emptyStore();
  await markDue(store, ['a', 'b', 'c'], 1_000);
  expect(await takeDue(store, 10, [], 999)).toMatchObject({ lanes: [] });
  expect(await takeDue(store, 2, [], 1_000)).toMatchObject({ lanes: ['a', 'b'], now: 1_000, until: 31_000 });
  expect(await takeDue(store, 2, [], 1_000)).toMatchObject({ lanes: ['c'] });
  expect(await takeDue(store, 10, [], 30_999)).toMatchObject({ lanes: [] });
  expect(await takeDue(store, 10, [], 31_000)).toMatchObject({ lanes: ['a', 'b', 'c'] });
});

test('A swept lane is due again when its sweeper says', async () => {
  const store = emptyStore();
  await markDue(store, ['a']);
  const taken = await takeDue(store, 10, [], 1_000);
  await returnDue(store, taken, new Map([['a', 5_000]]));
  expect(await takeDue(store, 10, [], 4_999)).toMatchObject({ lanes: [] });
  expect(await takeDue(store, 10, [], 5_000)).toMatchObject({ lanes: ['a'] });
});

test('A lane that is activated while a sweep looks at it stays due', async () => {
  const store = emptyStore();
  await markDue(store, ['a']);
  const taken = await takeDue(store, 10, [], 1_000);
  await markDue(store, ['a']);
  await returnDue(store, taken, new Map([['a', 600_000]]));
  expect(await takeDue(store, 10, [], 1_001)).toMatchObject({ lanes: ['a'] });
});

test('A sweep between an activation and its script does not hide what the script changed', async () => {
  const store = emptyStore();
  await activate(
    store,
    async () => {
      const taken = await takeDue(store, 10, [], 1_000);
      expect(taken.lanes).toEqual(['a']);
      await returnDue(store, taken, new Map([['a', 600_000]]));
    },
    bySweep,
  );
  expect(await takeDue(store, 10, [], 1_001)).toMatchObject({ lanes: ['a'] });
});

test('The lane stays due if the process that activates it dies after its script', async () => {
  const store = emptyStore();
  const died = activate(store, () => Promise.reject(new Error('killed')), bySweep);
  await expect(died).rejects.toThrow('killed');
  expect(await takeDue(store, 10, [], 1_000)).toMatchObject({ lanes: ['a'] });
});

test('A change that gives the lane nothing to do leaves it as the sweep left it', async () => {
  const store = emptyStore();
  const answer = await activate(
    store,
    async () => {
      const taken = await takeDue(store, 10, [], 1_000);
      await returnDue(store, taken, new Map([['a', 600_000]]));
      return 'refused';
    },
    () => null,
  );
  expect(answer).toBe('refused');
  expect(await takeDue(store, 10, [], 1_001)).toMatchObject({ lanes: [] });
});

test('A lane that changed is due although its turns cannot be scheduled, and the change succeeds', async () => {
  const store = emptyStore();
  const answer = await activate(
    store,
    async () => 'done',
    () => Promise.reject(new Error('Redis is full')),
  );
  expect(answer).toBe('done');
  expect(await takeDue(store, 10, [], 1_000)).toMatchObject({ lanes: ['a'] });
});

test('A lane that no process serves is due no more after half an hour, until it is activated', async () => {
  const store = emptyStore();
  const HALF_AN_HOUR = 30 * 60_000;
  /** Both processes pass the lane over. */
  const passOver = async (at: number): Promise<number> => {
    const taken = await takeDue(store, 10, [], at);
    await returnDue(store, taken, new Map(taken.lanes.map((lane) => [lane, dueForOthers(taken, lane)])));
    return taken.lanes.length;
  };
  await markDue(store, ['a']);
  for (const at of [1_000, 600_000, 601_000, HALF_AN_HOUR]) expect(await passOver(at)).toBe(1);
  expect(await passOver(HALF_AN_HOUR + 1_001)).toBe(1);
  expect(await passOver(2 * HALF_AN_HOUR)).toBe(0);
  expect(await redis.exists(store.keys.due)).toBe(0);
  await activate(store, () => Promise.resolve(), bySweep);
  expect(await passOver(2 * HALF_AN_HOUR)).toBe(1);
});

test('A sweeper leaves the lanes of other processes alone and still finds its own', async () => {
  const store = emptyStore();
  await markDue(store, ['a', 'b', 'c']);
  expect(await takeDue(store, 1, ['a', 'b'], 1_000)).toMatchObject({ lanes: ['c'] });
  expect(await takeDue(store, 10, [], 1_000)).toMatchObject({ lanes: ['a', 'b'] });
});

test('Marking a lane never makes it due later', async () => {
  const store = emptyStore();
  await markDue(store, ['a'], 1_000);
  await markDue(store, ['a'], 9_000);
  expect(await takeDue(store, 10, [], 1_000)).toMatchObject({ lanes: ['a'] });
});
