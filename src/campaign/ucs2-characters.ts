import { septetsOf } from './gsm7.js';

/** What people call the characters that most often make a text UCS-2 unnoticed: word processors put them in. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['\u2018', 'left single quotation mark'],
  ['\u2019', 'right single quotation mark'],
  ['\u201a', 'low single quotation mark'],
  ['\u201c', 'left double quotation mark'],
  ['\u201d', 'right double quotation mark'],
  ['\u201e', 'low double quotation mark'],
  ['\u00ab', 'left guillemet'],
  ['\u00bb', 'right guillemet'],
  ['\u2039', 'left single guillemet'],
  ['\u203a', 'right single guillemet'],
  ['\u2032', 'prime'],
  ['\u00b4', 'acute accent'],
  ['`', 'grave accent'],
  ['\u2010', 'hyphen'],
  ['\u2011', 'non-breaking hyphen'],
  ['\u2012', 'figure dash'],
  ['\u2013', 'en dash'],
  ['\u2014', 'em dash'],
  ['\u2212', 'minus sign'],
  ['\u2026', 'ellipsis'],
  ['\u2022', 'bullet'],
  ['\u00b7', 'middle dot'],
  ['\t', 'tab'],
  ['\u00a0', 'no-break space'],
  ['\u202f', 'narrow no-break space'],
  ['\u2009', 'thin space'],
  ['\u200b', 'zero-width space'],
  ['\u200d', 'zero-width joiner'],
  ['\u200e', 'left-to-right mark'],
  ['\u200f', 'right-to-left mark'],
  ['\u2028', 'line separator'],
  ['\u00ad', 'soft hyphen'],
  ['\ufeff', 'byte order mark'],
  ['\ufffd', 'replacement character'],
  ['\u2122', 'trade mark sign'],
  ['\u00ae', 'registered sign'],
  ['\u00a9', 'copyright sign'],
  ['\u00b0', 'degree sign'],
]);

/** Shown by name only: printed as they are they cannot be seen, or break the line. */
const INVISIBLE = /^[\p{C}\p{Z}]+$/u;

const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u;

/** As a reader sees them: an accent with its letter, a family with all its members. */
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The characters that make a text UCS-2, each once, in order, named: `’ (U+2019 right single quotation mark)`,
 * `😀 (U+1F600 emoji)`, `ç (U+00E7)`. Empty for a text that fits GSM-7. For a text or a few, not for every row.
 */
export function charactersForcingUcs2(text: string): string[] {
  if (septetsOf(text) !== null) return [];
  const found = new Set<string>();
  for (const { segment } of graphemes.segment(text)) {
    if (septetsOf(segment) === null) found.add(segment);
  }
  return [...found].map(named);
}

function named(character: string): string {
  const codes = [...character].map(codeOf).join(' ');
  const name = NAMES.get(character) ?? (EMOJI.test(character) ? 'emoji' : '');
  const described = name === '' ? codes : `${codes} ${name}`;
  return INVISIBLE.test(character) ? described : `${character} (${described})`;
}

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
