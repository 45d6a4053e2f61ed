import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SeenRecipients } from '../../../../src/intake/import/rows/seen-recipients.js';
import { NIGHTLY } from '../../../base/parts.js';

const row = fc.record({
  number: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 999_999_999_999_999 })),
  digest: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
});

it('A table of recipients finds the earlier row of a number as a Map does, also while it grows', () => {
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 6_000, size: 'max' }),
      fc.boolean(),
      fc.boolean(),
      (rows, hasDigests, keepsTexts) => {
        const compact = new SeenRecipients({ hasDigests });
        const plain = new Map<number, { line: number; digest: number }[]>();
        const wrong = rows.filter(({ number, digest: drawn }, line) => {
          const digest = hasDigests ? drawn : 0;
          const texts = plain.get(number) ?? [];
          const [first] = texts;
          const same = (keepsTexts ? texts : texts.slice(0, 1)).find((text) => text.digest === digest);
          const earlier = same ?? first;
          if (first === undefined || (keepsTexts && same === undefined))
            plain.set(number, [...texts, { line, digest }]);
          const expected =
            earlier === undefined ? null : { line: earlier.line, isSameText: same !== undefined };
          const found = compact.add(`+${number}`, line, drawn, { keepsTexts });
          return found?.line !== expected?.line || found?.isSameText !== expected?.isSameText;
        });
        expect(wrong).toEqual([]);
      },
    ),
    // Shrinking thousands of rows would take too long.
    { numRuns: NIGHTLY ? 20 : 6, endOnFailure: true },
  );
});

it('A table keeps a hundred thousand consecutive numbers of 15 digits apart, in 17 to 31 bytes each', () => {
  for (const [hasDigests, most] of [
    [false, 23],
    [true, 31],
  ] as const) {
    const seen = new SeenRecipients({ hasDigests });
    const numbers = Array.from({ length: 100_000 }, (_, i) => `+${999_999_999_900_000 + i}`);
    expect(numbers.filter((number, line) => seen.add(number, line, line) !== null)).toEqual([]);
    expect(numbers.filter((number, line) => seen.add(number, 0, line)?.line !== line)).toEqual([]);
    expect(seen.add('+999999999800000', 1, 1)).toBeNull();
    // The last chunk is not full.
    expect(seen.bytes / numbers.length).toBeLessThan(most + 3);
  }
});

it('A number with a hundred thousand texts takes no longer to find than as many numbers', () => {
  const seen = new SeenRecipients({ hasDigests: true });
  const add = (line: number) => seen.add('+447700900123', line, line, { keepsTexts: true });
  for (let line = 0; line < 100_000; line++) add(line);
  expect(add(77_777)).toEqual({ line: 77_777, isSameText: true });
  expect(add(100_001)).toEqual({ line: 0, isSameText: false });
});

it('A table refuses a number that is not normalised', () => {
  const seen = new SeenRecipients({ hasDigests: false });
  expect(() => seen.add('07700 900123', 1, 0)).toThrow(RangeError);
  expect(() => seen.add('', 1, 0)).toThrow(RangeError);
});
