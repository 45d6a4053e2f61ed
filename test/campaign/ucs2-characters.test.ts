import { expect, it } from 'vitest';
import { charactersForcingUcs2 } from '../../src/campaign/ucs2-characters.js';

it('names each character that GSM-7 lacks, once and in order', () => {
  expect(charactersForcingUcs2('“It’s” 20 % off – today… don’t miss it 😀❤️ ça')).toEqual([
    '“ (U+201C left double quotation mark)',
    '’ (U+2019 right single quotation mark)',
    '” (U+201D right double quotation mark)',
    '– (U+2013 en dash)',
    '… (U+2026 ellipsis)',
    '😀 (U+1F600 emoji)',
    '❤️ (U+2764 U+FE0F emoji)',
    'ç (U+00E7)',
  ]);
});

it('does not print what cannot be seen', () => {
  expect(charactersForcingUcs2('10\u00a0%\u200b\t')).toEqual([
    'U+00A0 no-break space',
    'U+200B zero-width space',
    'U+0009 tab',
  ]);
});

it('keeps together what readers see as one character', () => {
  expect(charactersForcingUcs2('👩‍👧 e\u0301')).toEqual([
    '👩‍👧 (U+1F469 U+200D U+1F467 emoji)',
    'e\u0301 (U+0065 U+0301)',
  ]);
});

it('finds nothing in a text of GSM-7 and its extension table', () => {
  expect(charactersForcingUcs2("Hi O'Brien & Søn: [20 % off] ~ 5 €\r\n{Æ}")).toEqual([]);
});
