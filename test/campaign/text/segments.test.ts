import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { describe, expect, it } from 'vitest';
import { charactersForcingUcs2, segmentsOf } from '../../../src/campaign/text/segments.js';
import { codePoint } from '../../base/code-point.js';

describe('A GSM-7 text', () => {
  it.each([
    ['an empty text', '', 1, 0],
    ['160 characters', 'x'.repeat(160), 1, 160],
    ['161 characters', 'x'.repeat(161), 2, 161],
    ['306 characters', 'x'.repeat(306), 2, 306],
    ['307 characters', 'x'.repeat(307), 3, 307],
    ['80 euro signs, of two septets each', '€'.repeat(80), 1, 160],
    ['81 euro signs', '€'.repeat(81), 2, 162],
    [
      'a euro sign that does not fit at the end of a segment',
      `${'x'.repeat(152)}€${'x'.repeat(152)}`,
      3,
      306,
    ],
    ['a line break', 'a\r\nb', 1, 4],
  ])('is counted in septets: %s', (_name, text, segments, units) => {
    expect(segmentsOf(text)).toEqual({ encoding: 'GSM-7', segments, units });
  });
});

describe('A UCS-2 text', () => {
  it.each([
    ['a typographic apostrophe', 'It’s', 1, 4],
    ['70 characters', 'ч'.repeat(70), 1, 70],
    ['71 characters', 'ч'.repeat(71), 2, 71],
    ['35 emoji of two units each', '😀'.repeat(35), 1, 70],
    ['an emoji that does not fit at the end of a segment', `${'x'.repeat(66)}😀${'x'.repeat(66)}`, 3, 134],
    [
      'a coloured heart that does not fit at the end of a segment',
      `${'ч'.repeat(66)}❤️${'ч'.repeat(66)}`,
      3,
      134,
    ],
    [
      'an emoji of a mother and daughter, which stays in one segment',
      `${'ч'.repeat(64)}👩‍👧${'ч'.repeat(64)}`,
      3,
      133,
    ],
    ['an emoji that ends with a segment', `${'ч'.repeat(65)}🎉${'ч'.repeat(67)}`, 2, 134],
    ['a line break that is split between two segments', `${'ч'.repeat(66)}\r\n${'ч'.repeat(66)}`, 2, 134],
    ['a character of more than one segment', `e${'\u0301'.repeat(133)}`, 2, 134],
    ['a c with a cedilla, which GSM-7 has only as a capital', 'ça', 1, 2],
  ])('is counted in 16-bit units: %s', (_name, text, segments, units) => {
    expect(segmentsOf(text)).toEqual({ encoding: 'UCS-2', segments, units });
  });
});

/** Characters of every sort that splitting could get wrong, weighted towards those of real texts. */
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
  { weight: 1, arbitrary: fc.string({ unit: codePoint, maxLength: 3 }) },
);
const text = fc.array(piece, { maxLength: 60, size: 'max' }).map((pieces) => pieces.join(''));

/** The characters of a text as phones show them; a carriage return and a line feed are two. */
function charactersOf(text: string): string[] {
  const graphemes = [...new Intl.Segmenter('en').segment(text)].map(({ segment }) => segment);
  return graphemes.flatMap((grapheme) => (grapheme === '\r\n' ? ['\r', '\n'] : [grapheme]));
}

/** Segments of a UCS-2 text, filled character by character. */
function filledSegments(text: string): number {
  if (text.length <= 70) return 1;
  let [segments, used] = [1, 0];
  for (const { length } of charactersOf(text)) {
    if (used + length > 67) [segments, used] = [segments + 1, 0];
    used += length;
  }
  return segments;
}

describe('The count of segments', () => {
  it('is that of filling each segment with whole characters, for every text', () => {
    fc.assert(
      fc.property(text, (each) => {
        fc.pre(charactersOf(each).every(({ length }) => length <= 67));
        const { encoding, segments } = segmentsOf(each);
        if (encoding === 'UCS-2') expect(segments).toBe(filledSegments(each));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is that of sms-segments-calculator, for every text of characters that the library knows', () => {
    fc.assert(
      fc.property(text, (each) => {
        const expected = new SegmentedMessage(each);
        const counted = segmentsOf(each);
        expect(counted.encoding).toBe(expected.encodingName);
        if (counted.encoding === 'GSM-7') expect(counted.units).toBe(expected.numberOfCharacters);
        const isKnown =
          counted.encoding === 'GSM-7' ||
          JSON.stringify(charactersOf(each)) === JSON.stringify(expected.graphemes);
        if (isKnown) expect(counted.segments).toBe(Math.max(1, expected.segments.length));
      }),
      { numRuns: 500 },
    );
  });

  it('has the encoding and units of sms-segments-calculator for every character of the first plane', () => {
    const wrong: string[] = [];
    for (let code = 0; code < 0x10000; code++) {
      const character = String.fromCharCode(code);
      const { encodingName, numberOfCharacters } = new SegmentedMessage(character);
      const { encoding, units } = segmentsOf(character);
      if (encoding !== encodingName || units !== numberOfCharacters) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it.each([
    ['🧑‍🦰', 'a person with red hair'],
    ['🤌🏽', 'pinched fingers with a skin tone'],
    ['❤️‍🔥', 'a heart on fire'],
  ])('keeps emoji together that sms-segments-calculator splits: %s', (emoji) => {
    // Only the last two units of the emoji lie in the second segment.
    const each = `${'ч'.repeat(69 - emoji.length)}${emoji}${'ч'.repeat(65)}`;
    expect(new SegmentedMessage(each).segments.length).toBe(2);
    expect(segmentsOf(each).segments).toBe(3);
  });
});

describe('The characters that force UCS-2', () => {
  it('are listed by code, each once, in the order of the text', () => {
    expect(charactersForcingUcs2('“It’s” 20% off – today… don’t miss it 😀❤️ ça')).toEqual([
      'U+201C “',
      'U+2019 ’',
      'U+201D ”',
      'U+2013 –',
      'U+2026 …',
      'U+1F600 😀',
      'U+2764 U+FE0F ❤️',
      'U+00E7 ç',
    ]);
  });

  it('are not printed if they cannot be seen', () => {
    expect(charactersForcingUcs2('10\u00a0%\u200b\t')).toEqual(['U+00A0', 'U+200B', 'U+0009']);
  });

  it('keep together what readers see as one character', () => {
    expect(charactersForcingUcs2('👩‍👧 e\u0301')).toEqual([
      'U+1F469 U+200D U+1F467 👩‍👧',
      'U+0065 U+0301 e\u0301',
    ]);
  });

  it('are none in a text of GSM-7 and its extension table', () => {
    expect(charactersForcingUcs2("Hi O'Brien & Søn: [20% off] ~ 5 €\r\n{Æ}")).toEqual([]);
  });
});
