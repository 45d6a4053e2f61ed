/** 3GPP TS 23.040: 140 octets are 70 units of 16 bits; the header of a part of a long text takes three of them. */
const WHOLE = 70;
const PART = 67;

/**
 * Messages that a UCS-2 text is cut into; a character is never torn apart, however many units it has.
 * Null where a part would have to end amid joined characters (families, flags, skin tones, rarer scripts), so that
 * only a table of all characters could tell: the caller asks the library.
 */
export function ucs2Segments(text: string): number | null {
  if (text.length <= WHOLE) return 1;
  let segments = 1;
  for (let start = 0; text.length - start > PART; segments++) {
    const end = lastBoundary(text, start + PART);
    if (end === null || end <= start) return null;
    start = end;
  }
  return segments;
}

/** The last place up to `end` where a character begins. */
function lastBoundary(text: string, end: number): number | null {
  let at = end;
  while (text.charCodeAt(at) === EMOJI_STYLE) at -= 1;
  const tearsPair = isLowSurrogate(text.charCodeAt(at)) && isHighSurrogate(text.charCodeAt(at - 1));
  if (tearsPair) at -= 1;
  const begins = within(BEGINNING, text.codePointAt(at) ?? 0);
  return begins && !within(JOINING, codeBefore(text, at)) ? at : null;
}

function codeBefore(text: string, at: number): number {
  const isPair = isLowSurrogate(text.charCodeAt(at - 1)) && isHighSurrogate(text.charCodeAt(at - 2));
  return text.codePointAt(isPair ? at - 2 : at - 1) ?? 0;
}

/** Makes the character before it a coloured emoji: ❤ with it is ❤️. */
const EMOJI_STYLE = 0xfe0f;

type Ranges = readonly (readonly [first: number, last: number])[];

/** Characters that begin anew, unless one of those below stands before them (Unicode Standard Annex 29). */
const BEGINNING: Ranges = [
  [0x0a, 0x0a], // line feed
  [0x0d, 0x0d], // carriage return
  [0x20, 0x7e], // ASCII
  [0xa0, 0xac], // Latin
  [0xae, 0x2ff],
  [0x370, 0x482], // Greek, Cyrillic
  [0x48a, 0x52f],
  [0x5d0, 0x5ea], // Hebrew
  [0x620, 0x64a], // Arabic
  [0x1e00, 0x1fff], // Vietnamese and other Latin, Greek
  [0x2010, 0x2027], // punctuation
  [0x202f, 0x205e],
  [0x20a0, 0x20bf], // currencies
  [0x2100, 0x2bff], // symbols
  [0x3001, 0x3029], // Chinese, Japanese
  [0x3041, 0x3096],
  [0x30a0, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3], // Korean
  [0x1f300, 0x1f3fa], // emoji, without flags and skin tones
  [0x1f400, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1f9ff],
];

/** After these the next character may belong to them: joiners, letters that precede, halves of Korean syllables. */
const JOINING: Ranges = [
  [0x600, 0x605],
  [0x6dd, 0x6dd],
  [0x70f, 0x70f],
  [0x8e2, 0x8e2],
  [0xd4e, 0xd4e],
  [0x1100, 0x11ff],
  [0x200d, 0x200d],
  [0xa960, 0xa97c],
  [0xd7b0, 0xd7ff],
  [0xd800, 0xdfff], // halves without their other half
  [0x10000, 0x1f2ff], // scripts beyond the first plane, flags
];

function within(ranges: Ranges, code: number): boolean {
  return ranges.some(([first, last]) => code >= first && code <= last);
}

/** The first unit of a character beyond the first plane, an emoji for example. */
export function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** The second unit of such a character. */
export function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
