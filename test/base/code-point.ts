import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Any character of Unicode, as a unit of `fc.string`. The unit `binary` of fast-check first maps all 1.1 million to numbers, which takes
 * seconds in each worker.
 */
export const codePoint: fc.Arbitrary<string> = fc.nat(0x10_ffff - SURROGATES.count).map(
  (place) => String.fromCodePoint(place < SURROGATES.first ? place : place + SURROGATES.count),
  (text) => {
    const code = String(text).codePointAt(0) ?? -1;
    if (String.fromCodePoint(code) !== text) throw new Error('It is not one character.');
    return code < SURROGATES.first ? code : code - SURROGATES.count;
  },
);
