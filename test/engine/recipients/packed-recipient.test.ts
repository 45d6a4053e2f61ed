import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { recipientListKey, slicesKey } from '../../../src/engine/recipients/campaign-keys.js';
import {
  packedNumber,
  packRecipient,
  unpackRecipient,
} from '../../../src/engine/recipients/packed-recipient.js';
import { packSlice, SLICE } from '../../../src/engine/recipients/slice-blob.js';
import {
  countSlices,
  numbersOf,
  readSlices,
  recipientsOf,
  referencesOf,
} from '../../../src/engine/recipients/stored-slices.js';
import { testRedis } from '../../base/redis/test-redis.js';

const { redis, prefix } = testRedis('packed-recipient');
const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const recipient = fc.record({
  number: fc.integer({ min: 1, max: 999_999_999_999_999 }).map((digits) => `+${digits}`),
  values: fc.array(text, { maxLength: 4 }),
  reference: text,
});

describe('A packed recipient', () => {
  test('is unpacked as it was packed, whatever its number and its texts are', () => {
    fc.assert(
      fc.property(recipient, (one) => {
        const packed = packRecipient(one);
        expect(unpackRecipient(packed)).toEqual(one);
        expect(`+${packedNumber(packed)}`).toBe(one.number);
      }),
    );
  });

  test('that is cut short is not read as a shorter one', () => {
    const packed = packRecipient({ number: '+447700900123', values: ['Ada'], reference: 'B-1' });
    for (let length = 0; length < 6; length += 1)
      expect(() => unpackRecipient(packed.subarray(0, length))).toThrow('cut short');
    expect(() => unpackRecipient(packed.subarray(0, packed.length - 1))).toThrow('cut short');
  });
});

test('The slices of a list to which recipients are appended are read like packed ones', async () => {
  const [keys, lane, campaign] = [keyNames(prefix), 'default', 'wave'];
  const all = Array.from({ length: SLICE + 3 }, (_, at) => ({
    number: `+4477009${String(at).padStart(5, '0')}`,
    values: [`name ${at}`],
    reference: `order-${at}`,
  }));
  const list = recipientListKey(keys, lane, campaign);
  await redis.rpush(list, ...all.map((one) => packRecipient(one)));
  const series = { lane, campaign, series: 'slices' } as const;
  expect(await countSlices(redis, keys, series)).toBe(2);
  const slices = await readSlices(redis, keys, series, [0, 1, 2]);
  expect(slices[2]).toBeNull();
  const found = slices.filter((slice) => slice !== null);
  expect(found.flatMap(recipientsOf)).toEqual(all);
  expect(found.flatMap(referencesOf)).toEqual(all.map(({ reference }) => reference));
  expect(found.flatMap(numbersOf)).toEqual(all.map(({ number }) => Number(number)));
  // While the list is packed, some slices are in both places.
  await redis.hset(slicesKey(keys, lane, campaign, 'slices'), '0', packSlice(all.slice(0, SLICE)));
  expect(await countSlices(redis, keys, series)).toBe(2);
  const both = await readSlices(redis, keys, series, [0, 1]);
  expect(both.filter((slice) => slice !== null).flatMap(recipientsOf)).toEqual(all);
});
