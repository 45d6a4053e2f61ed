import { charactersForcingUcs2, segmentsOf } from '../../../../campaign/text/segments.js';

/** What people mean by characters that editors put in place of simpler ones. */
const SIMPLER = new Map(
  [
    ["'", '\u2018\u2019\u201a\u2032\u00b4\u0060'],
    ['"', '\u201c\u201d\u201e\u2033\u00ab\u00bb'],
    ['-', '\u2010\u2011\u2012\u2013\u2014\u2212\u2022\u00b7'],
    [' ', '\u00a0\u2009\u202f'],
    ['', '\u200b\u00ad\ufeff'],
    ['...', '\u2026'],
    ['x', '\u00d7'],
  ].flatMap(([simple = '', others = '']) => [...others].map((other) => [other, simple] as const)),
);
const isPlain = (character: string): boolean => segmentsOf(character).encoding === 'GSM-7';

/**
 * The characters of a text that are outside the GSM alphabet, each once, and `other`: the text without them, or with simpler ones, which all of
 * them have if it `isSimple`. Null if there are none.
 */
export function segmentHint(text: string) {
  // Every other piece is a placeholder.
  const pieces = text.split(/(\{\{[^{}]*\}\})/);
  const own = [...pieces.filter((_, at) => at % 2 === 0).join('')];
  const characters = charactersForcingUcs2(own.join('')).map((named) => named.replace(/.* /, ''));
  if (characters.length === 0) return null;
  const simpler = (character: string) => (isPlain(character) ? character : (SIMPLER.get(character) ?? ''));
  const other = pieces.map((piece, at) => (at % 2 === 1 ? piece : [...piece].map(simpler).join(''))).join('');
  return { characters, other, isSimple: own.every((one) => isPlain(one) || SIMPLER.has(one)) };
}
