import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NumberSet } from '../../src/import/number-set.js';

it('A number set tells new numbers from known ones as a Set does, also while it grows', () => {
  const digits = fc.oneof(
    fc.integer({ min: 1, max: 3_000 }),
    fc.integer({ min: 1, max: 999_999_999_999_999 }),
  );
  fc.assert(
    fc.property(fc.array(digits, { minLength: 1, maxLength: 6_000, size: 'max' }), (numbers) => {
      const compact = new NumberSet();
      const plain = new Set<number>();
      const wrong = numbers.filter((each) => {
        const known = plain.has(each);
        plain.add(each);
        return compact.add(`+${each}`) === known;
      });
      expect(wrong).toEqual([]);
    }),
    // Shrinking thousands of numbers would take too long.
    { numRuns: 20, endOnFailure: true },
  );
});

it('A number set keeps a hundred thousand consecutive numbers of 15 digits apart', () => {
  const set = new NumberSet();
  const numbers = Array.from({ length: 100_000 }, (_, i) => `+${999_999_999_900_000 + i}`);
  expect(numbers.filter((number) => !set.add(number))).toEqual([]);
  expect(numbers.filter((number) => set.add(number))).toEqual([]);
  expect(set.add('+999999999800000')).toBe(true);
});

it('A number set refuses a number that is not normalised', () => {
  const set = new NumberSet();
  expect(() => set.add('07700 900123')).toThrow(RangeError);
  expect(() => set.add('')).toThrow(RangeError);
});
