import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { slicesKey } from '../../../src/engine/recipients/campaign-keys.js';
import {
  packSlice,
  SLICE,
  type StoredRecipient,
  unpackNumbers,
  unpackSlice,
} from '../../../src/engine/recipients/slice-blob.js';
import { createReadCache, SliceWriter, sliceReader } from '../../../src/engine/recipients/slices.js';
import { codePoint } from '../../base/code-point.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { prefix, redis } = testRedis('slices');
const keys = keyNames(prefix);

const number = fc.integer({ min: 1, max: 999_999_999_999_999 }).map((digits) => `+${digits}`);
const value = fc.oneof(
  fc.string({ unit: codePoint, maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
);
const NAMES = [
  'Anna',
  'Søren',
  'José',
  'Zoë',
  'Grace',
  'Liam',
  'Wells',
  'York',
  'Cardiff',
  'Leeds',
  'Bristol',
];
const slice = fc.integer({ min: 0, max: 4 }).chain((columns) =>
  fc.array(fc.record({ number, values: fc.array(value, { minLength: columns, maxLength: columns }) }), {
    minLength: 1,
    maxLength: SLICE,
  }),
);

function shared(count: number, first = 447_700_900_000): StoredRecipient[] {
  return Array.from({ length: count }, (_, at) => ({ number: `+${first + at * 7_919}`, values: [] }));
}

describe('A slice', () => {
  test('is unpacked as it was packed, whatever numbers and values it holds', () => {
    fc.assert(
      fc.property(slice, (recipients) => {
        const blob = packSlice(recipients);
        expect(unpackSlice(blob)).toEqual(recipients);
        expect(unpackNumbers(blob).map((digits) => `+${digits}`)).toEqual(recipients.map((r) => r.number));
      }),
    );
  });

  test('can hold the longest and the shortest numbers next to each other', () => {
    const numbers = ['+999999999999999', '+1', '+999999999999998', '+2', '+100000000000000'];
    const recipients = numbers.map((each) => ({ number: each, values: [] }));
    expect(unpackSlice(packSlice(recipients))).toEqual(recipients);
  });

  test('takes at most 10 bytes per recipient, with numbers of one country in any order, a name, and a town', () => {
    const recipients = Array.from({ length: SLICE }, (_, at) => ({
      number: `+4477${10_000_000 + ((at * 7_654_321) % 10_000_000)}`,
      values: [`${NAMES[(at * 7) % NAMES.length]} ${at % 97}`, NAMES[(at * 5) % NAMES.length] ?? ''],
    }));
    expect(packSlice(recipients).length).toBeLessThanOrEqual(10 * SLICE);
  });

  test('cannot be packed without recipients, with too many, or with unequal numbers of values', () => {
    expect(() => packSlice([])).toThrow(RangeError);
    expect(() => packSlice(shared(SLICE + 1))).toThrow(RangeError);
    const unequal = [
      { number: '+1', values: ['a'] },
      { number: '+2', values: ['a', 'b'] },
    ];
    expect(() => packSlice(unequal)).toThrow(RangeError);
  });

  test('that is cut short is not read as a smaller one', () => {
    const blob = packSlice(shared(10));
    expect(() => unpackSlice(blob.subarray(0, blob.length - 1))).toThrow();
  });
});

describe('A slice reader', () => {
  async function stored(campaign: string, count: number): Promise<StoredRecipient[]> {
    const all = shared(count);
    for (let first = 0; first < count; first += SLICE) {
      const blob = packSlice(all.slice(first, first + SLICE));
      await redis.hset(slicesKey(keys, 'main', campaign, 'slices'), String(first / SLICE), blob);
    }
    return all;
  }

  test('reads any range, within a slice and across several', async () => {
    const all = await stored('ranges', 700);
    const reader = sliceReader(redis, keys, 'main');
    for (const [from, count] of [
      [0, 1],
      [255, 1],
      [255, 2],
      [256, 256],
      [100, 600],
      [699, 1],
    ] as const) {
      expect(await reader.recipients('ranges', from, count)).toEqual(all.slice(from, from + count));
    }
  });

  test('refuses a range that is not stored', async () => {
    await stored('short', 300);
    const reader = sliceReader(redis, keys, 'main');
    await expect(reader.recipients('short', 299, 2)).rejects.toThrow('expected 2 recipients');
    await expect(reader.recipients('short', 512, 1)).rejects.toThrow('there is no slice 2');
  });

  test('reads a slice from Redis once for all its batches', async () => {
    const all = await stored('once', SLICE);
    const reader = sliceReader(redis, keys, 'main');
    const first = await Promise.all([reader.recipients('once', 0, 1), reader.recipients('once', 1, 1)]);
    await redis.unlink(slicesKey(keys, 'main', 'once', 'slices'));
    expect(first.flat()).toEqual(all.slice(0, 2));
    expect(await reader.recipients('once', 2, 1)).toEqual(all.slice(2, 3));
  });

  test('evicts the least recently used slice, and reads again after a failure', async () => {
    const all = await stored('many', 70 * SLICE);
    const reader = sliceReader(redis, keys, 'main');
    for (let at = 0; at < 70; at++) await reader.recipients('many', at * SLICE, 1);
    const key = slicesKey(keys, 'main', 'many', 'slices');
    const blob = await redis.hgetBuffer(key, '0');
    await redis.hdel(key, '0', '69');
    expect(await reader.recipients('many', 69 * SLICE, 1)).toEqual(all.slice(69 * SLICE, 69 * SLICE + 1));
    await expect(reader.recipients('many', 0, 1)).rejects.toThrow('there is no slice 0');
    await redis.hset(key, '0', blob ?? '');
    expect(await reader.recipients('many', 0, 1)).toEqual(all.slice(0, 1));
  });
});

/** A cache of two values that records what it reads. */
function recordingCache() {
  const read: string[] = [];
  const cached = createReadCache<string>(2);
  const get = (key: string): Promise<string> =>
    cached(key, async () => {
      read.push(key);
      return key.toUpperCase();
    });
  return { read, get };
}

test('The value that was used least recently is evicted', async () => {
  const { read, get } = recordingCache();
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) expect(await get(key)).toBe(key.toUpperCase());
  expect(read).toEqual(['a', 'b', 'c', 'b']);
});

test('Calls for a value that is being read share one read', async () => {
  const { read, get } = recordingCache();
  expect(await Promise.all([get('a'), get('a')])).toEqual(['A', 'A']);
  expect(read).toEqual(['a']);
});

test('A value leaves the cache after a while, so that no process keeps a number that was forgotten', async () => {
  let value = 'with the number';
  const cached = createReadCache<string>(2, 20);
  const get = (): Promise<string> => cached('a', async () => value);
  await get();
  value = 'without';
  await expect.poll(() => get()).toBe('without');
});

test('A failed read is not kept', async () => {
  const cached = createReadCache<string>(2);
  const failed = cached('a', () => Promise.reject(new Error('Redis is away')));
  await expect(failed).rejects.toThrow('Redis is away');
  expect(await cached('a', async () => 'here')).toBe('here');
});

test('A writer waits for the oldest write while three are pending, so a slow Redis does not fill the memory', async () => {
  const finish: (() => void)[] = [];
  const writer = new SliceWriter(
    () =>
      new Promise((resolve) => {
        finish.push(resolve);
      }),
  );
  const writeSlice = (): Promise<void> => {
    for (const recipient of shared(SLICE)) writer.add(recipient);
    return writer.flushed();
  };
  await writeSlice();
  await writeSlice();
  let isFlushed = false;
  const third = writeSlice().then(() => {
    isFlushed = true;
  });
  await setImmediate();
  expect({ writes: finish.length, isFlushed }).toEqual({ writes: 3, isFlushed: false });
  finish[0]?.();
  await third;
});
