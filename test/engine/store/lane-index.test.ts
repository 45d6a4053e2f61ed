import { beforeAll, expect, test } from 'vitest';
import { entryOf, indexEntries, lanesOf, onlyLane, partsOf } from '../../../src/engine/store/lane-index.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('lane-index');
const index = `${prefix}:index`;

/** More than are read at a time, each on two lanes, in order. */
const NAMES = Array.from({ length: 250 }, (_, at) => `n${String(at).padStart(3, '0')}`);
const ENTRIES = NAMES.flatMap((name) => ['a', 'b'].map((lane) => entryOf(name, lane)));

beforeAll(async () => {
  await redis.zadd(index, ...ENTRIES.flatMap((entry) => [0, entry]));
});

async function read(range?: Parameters<typeof indexEntries>[2]): Promise<string[]> {
  const entries: string[] = [];
  for await (const { entry, name, lane } of indexEntries(redis, index, range)) {
    expect(partsOf(entry)).toEqual({ name, lane });
    entries.push(entry);
  }
  return entries;
}

test('All entries are read by name, or in the opposite order', async () => {
  expect(await read()).toEqual(ENTRIES);
  expect(await read({ isReversed: true })).toEqual(ENTRIES.toReversed());
});

test.each([false, true])(
  'The entries after one and before another are read (reversed: %j)',
  async (isReversed) => {
    const [after, before] = [entryOf('n010', 'a'), entryOf('n220', 'b')];
    const between = ENTRIES.slice(ENTRIES.indexOf(after) + 1, ENTRIES.indexOf(before));
    expect(await read({ after, before, isReversed })).toEqual(isReversed ? between.toReversed() : between);
  },
);

test('The lanes of a name are not those of a longer or a shorter name', async () => {
  const other = `${prefix}:other`;
  const entries = [entryOf('n', 'a'), entryOf('n0', 'b'), entryOf('n0', 'c'), entryOf('n00', 'd')];
  await redis.zadd(other, ...entries.flatMap((entry) => [0, entry]));
  expect(await lanesOf(redis, other, 'n0')).toEqual(['b', 'c']);
  expect(await lanesOf(redis, other, 'nothing')).toEqual([]);
});

test('A name on several lanes is ambiguous, and the error lists the names of the lanes in order', async () => {
  const only = (...lanes: string[]) => onlyLane('outbox', 'daily', lanes, async (lane) => `lane-${lane}`);
  expect(await only()).toBeUndefined();
  expect(await only('a')).toBe('a');
  await expect(only('b', 'a')).rejects.toMatchObject({ code: 'ambiguous', lanes: ['lane-a', 'lane-b'] });
});
