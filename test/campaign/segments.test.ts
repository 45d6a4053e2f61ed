import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import { segmentsOf } from '../../src/campaign/segments.js';
import { ucs2Segments } from '../../src/campaign/ucs2.js';

describe('GSM-7', () => {
  it.each([
    ['an empty text', '', 1, 0],
    ['160 characters', 'x'.repeat(160), 1, 160],
    ['161 characters', 'x'.repeat(161), 2, 161],
    ['306 characters', 'x'.repeat(306), 2, 306],
    ['307 characters', 'x'.repeat(307), 3, 307],
    ['80 euro signs, of two septets each', '€'.repeat(80), 1, 160],
    ['81 euro signs', '€'.repeat(81), 2, 162],
    ['a euro sign that does not fit at the end of a part', `${'x'.repeat(152)}€${'x'.repeat(152)}`, 3, 306],
    ['a line break', 'a\r\nb', 1, 4],
  ])('counts %s', (_name, text, segments, units) => {
    expect(segmentsOf(text)).toEqual({ encoding: 'GSM-7', segments, characters: text.length, units });
  });
});

describe('UCS-2', () => {
  it.each([
    ['a typographic apostrophe', 'It’s', 1, 4, 4],
    ['70 characters', 'ч'.repeat(70), 1, 70, 70],
    ['71 characters', 'ч'.repeat(71), 2, 71, 71],
    ['35 emoji of two units each', '😀'.repeat(35), 1, 35, 70],
    ['an emoji that does not fit at the end of a part', `${'x'.repeat(66)}😀${'x'.repeat(66)}`, 3, 133, 134],
    [
      'a coloured heart that does not fit at the end of a part',
      `${'ч'.repeat(66)}❤️${'ч'.repeat(66)}`,
      3,
      134,
      134,
    ],
    ['a mother and daughter, who stay together', `${'ч'.repeat(64)}👩‍👧${'ч'.repeat(64)}`, 3, 131, 133],
    ['a c with a cedilla, which GSM-7 has only as a capital', 'ça', 1, 2, 2],
  ])('counts %s', (_name, text, segments, characters, units) => {
    expect(segmentsOf(text)).toEqual({ encoding: 'UCS-2', segments, characters, units });
  });
});

/** Characters of every sort that cuts could go wrong at, weighed towards those of real texts. */
const piece = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^[a-zA-Z ,.!?æøåÆØÅéè0-9-]{1,12}$/) },
  { weight: 2, arbitrary: fc.constantFrom('€', '[', ']', '{', '}', '^', '~', '|', '\\', '\f') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '’',
      '“',
      '–',
      '…',
      '\u00a0',
      'ç',
      'ł',
      'ч',
      'Ω',
      '中',
      '한',
      'ä̈',
      'ש',
      'ع',
      'ก',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('😀', '❤️', '👍🏽', '👩‍👩‍👧‍👦', '🇩🇰', '🏴', '✂️', '1️⃣', '\u200d', '\ufe0f', '🏽'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '\n',
      '\r\n',
      '\r',
      '\t',
      '\u0000',
      '\ud83d',
      '\ude00',
      '\u0301',
      '\u0600',
      '\u1100',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
);
const text = fc.array(piece, { maxLength: 60, size: 'max' }).map((pieces) => pieces.join(''));

describe('against the library', () => {
  it('agrees on every text', () => {
    fc.assert(
      fc.property(text, (each) => {
        const expected = new SegmentedMessage(each);
        const counted = segmentsOf(each);
        expect([counted.encoding, counted.segments]).toEqual([
          expected.encodingName,
          Math.max(1, expected.segments.length),
        ]);
        expect(counted.characters).toBe(expected.numberOfUnicodeScalars);
        if (counted.encoding === 'GSM-7') expect(counted.units).toBe(expected.numberOfCharacters);
      }),
      { numRuns: 500 },
    );
  }, 60_000);

  it('agrees on the encoding of every character there is in the first plane', () => {
    const wrong: string[] = [];
    for (let code = 0; code < 0x10000; code++) {
      const character = String.fromCharCode(code);
      const { encodingName, numberOfCharacters } = new SegmentedMessage(character);
      const { encoding, units } = segmentsOf(character);
      if (encoding !== encodingName || units !== numberOfCharacters) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it('is not asked about emoji that a cut would tear', () => {
    expect(ucs2Segments(`${'ч'.repeat(66)}❤️${'ч'.repeat(66)}`)).toBe(3);
    expect(ucs2Segments(`${'ч'.repeat(66)}🎉${'ч'.repeat(66)}`)).toBe(3);
    expect(ucs2Segments(`${'ч'.repeat(65)}🎉${'ч'.repeat(67)}`)).toBe(2);
  });

  it('is asked for few texts of the sort that people send', () => {
    const line = fc.stringMatching(/^[a-zA-Z ,.!?æøå’–]{60,100}$/);
    const sample = fc.sample(fc.tuple(line, fc.constantFrom('❤️', '😀', '🎉', ''), line), {
      numRuns: 1_000,
      seed: 1,
    });
    const unsure = sample.filter((parts) => ucs2Segments(parts.join('')) === null);
    expect(unsure.length).toBeLessThan(10);
  });
});
