import { septetsOf } from './gsm7.js';

/** How a text is sent. */
interface Segments {
  /** GSM-7 if every character is in that alphabet; a single other character makes the whole text UCS-2. */
  readonly encoding: 'GSM-7' | 'UCS-2';
  /** Segments that the text is split into, each of them billed; an empty text is one. */
  readonly segments: number;
  /** Septets of GSM-7, where extension characters take two; 16-bit units of UCS-2. */
  readonly units: number;
}

/** Units in a text of one segment, and in each of several, whose header takes 7 septets or 3 units: 140 octets (3GPP TS 23.040). */
export const ROOM = { 'GSM-7': [160, 153], 'UCS-2': [70, 67] } as const;
const [SEPTETS_ALONE, SEPTETS_PER_SEGMENT] = ROOM['GSM-7'];
const [UNITS_ALONE, UNITS_PER_SEGMENT] = ROOM['UCS-2'];

/*
 * sms-segments-calculator is not used here, although the tests hold these counts against it: it takes 2 ms per message,
 * half an hour for a million, and splits emoji that are newer than its table of characters.
 */

/** User-perceived characters: an accent with its letter, a family emoji with all its members. */
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Encodes a text as phones do and counts its segments. */
export function segmentsOf(text: string): Segments {
  const septets = septetsOf(text);
  if (septets !== null) {
    const segments = gsm7Segments(text, septets);
    return { encoding: 'GSM-7', segments, units: septets };
  }
  return { encoding: 'UCS-2', segments: ucs2Segments(text), units: text.length };
}

/**
 * The characters that force UCS-2, each once, in the order of the text: `U+2019 ’`, `U+1F600 😀`. A character that cannot be
 * seen, such as a no-break space, appears by its code only. Empty for a text that fits GSM-7.
 */
export function charactersForcingUcs2(text: string): string[] {
  if (septetsOf(text) !== null) return [];
  const characters = new Set<string>();
  for (const { segment } of graphemes.segment(text)) {
    if (septetsOf(segment) === null) characters.add(segment);
  }
  return [...characters].map((character) => {
    const codes = [...character].map(codeOf).join(' ');
    return INVISIBLE.test(character) ? codes : `${codes} ${character}`;
  });
}

/** Control characters and separators: printed, they cannot be seen or break the line. */
const INVISIBLE = /^[\p{C}\p{Z}]+$/u;

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

function gsm7Segments(text: string, septets: number): number {
  if (septets <= SEPTETS_ALONE) return 1;
  if (septets === text.length) return Math.ceil(septets / SEPTETS_PER_SEGMENT);
  // The two septets of an extension character stay together, so a segment may end one septet early.
  let segments = 1;
  let used = 0;
  for (const character of text) {
    const size = septetsOf(character) ?? 0;
    if (used + size > SEPTETS_PER_SEGMENT) {
      segments += 1;
      used = 0;
    }
    used += size;
  }
  return segments;
}

/** A character is never split between two segments, however many units it has, unless it fills more than one. */
function ucs2Segments(text: string): number {
  if (text.length <= UNITS_ALONE) return 1;
  let characters: Intl.Segments | undefined;
  let segments = 1;
  for (let start = 0; text.length - start > UNITS_PER_SEGMENT; segments++) {
    let end = start + UNITS_PER_SEGMENT;
    if (!isBoundary(text, end)) {
      characters ??= graphemes.segment(text);
      end = characters.containing(end)?.index ?? end;
    }
    start = end > start ? end : start + UNITS_PER_SEGMENT;
  }
  return segments;
}

/** True if a character certainly begins here, without asking Intl.Segmenter, which takes several microseconds. */
function isBoundary(text: string, at: number): boolean {
  // A phone receives a carriage return and a line feed as two characters, although people see one line break.
  if (text[at] === '\n') return true;
  return isLetter(text.charCodeAt(at - 1)) && isLetter(text.charCodeAt(at));
}

/** Characters that never join with each other: most letters, digits, and punctuation. First and last of each range. */
const LETTERS = [
  [0x20, 0x2ff], // Latin
  [0x370, 0x481], // Greek, Cyrillic
  [0x5d0, 0x5ea], // Hebrew
  [0x620, 0x64a], // Arabic
  [0x2010, 0x2027], // punctuation
  [0x3041, 0x3096], // Japanese
  [0x30a0, 0x30ff],
  [0x4e00, 0x9fff], // Chinese
  [0xac00, 0xd7a3], // Korean
] as const;

function isLetter(unit: number): boolean {
  return LETTERS.some(([first, last]) => unit >= first && unit <= last);
}
