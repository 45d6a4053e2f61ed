import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  packMessage,
  unpackMessage,
  type WaitingMessage,
} from '../../../../src/intake/outbox/definition/stored-message.js';

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const message: fc.Arbitrary<WaitingMessage> = fc.record({
  due: fc.integer({ min: 0, max: 0xff_ff_ff_ff }),
  version: fc.option(
    fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 255, 256, 2 ** 32, Number.MAX_SAFE_INTEGER)),
    {
      nil: null,
    },
  ),
  number: fc.integer({ min: 1, max: 999_999_999_999_999 }).map((digits) => `+${digits}`),
  values: fc.array(text, { maxLength: 4 }),
  reference: text,
  hasOwnTime: fc.boolean(),
  revision: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 0xffff })),
});

test('A message is read as it was packed, whatever its texts and its version are', () => {
  fc.assert(
    fc.property(message, (one) => {
      expect(unpackMessage(packMessage(one))).toEqual({ kind: 'waiting', ...one });
    }),
  );
});

test('A message keeps its form', () => {
  const packed = packMessage({
    ...{ due: 1_800_000_000, version: 65_536, number: '+447700900123' },
    ...{ values: ['Zoë', ''], reference: 'B-1' },
  });
  expect(packed.toString('hex')).toBe('576b49d200030100009bb2b6e8830d03422d31045a6fc3ab00');
});
