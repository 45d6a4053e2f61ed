import { segmentsOf } from '../../../../campaign/segments.js';
import { compileTemplate } from '../../../../campaign/template.js';

/*
 * What characters outside the GSM alphabet cost: one of them makes a whole message UCS-2, whose segments hold less than half as much.
 */

/** What people mean by characters that editors put in place of simpler ones. */
const SIMPLER = new Map(
  (
    [
      ["'", '\u2018\u2019\u201a\u2032\u00b4\u0060'],
      ['"', '\u201c\u201d\u201e\u2033\u00ab\u00bb'],
      ['-', '\u2010\u2011\u2012\u2013\u2014\u2212\u2022\u00b7'],
      [' ', '\u00a0\u2009\u202f'],
      ['', '\u200b\u00ad\ufeff'],
      ['...', '\u2026'],
      ['x', '\u00d7'],
    ] as const
  ).flatMap(([simple, others]) => [...others].map((other) => [other, simple] as const)),
);

/** Rows that are counted: enough for a figure that people can rely on, few enough to count while they type. */
const MOST_ROWS = 2_000;

/** The parts between placeholders are at even places. */
const PLACEHOLDER = /(\{\{[^{}]*\}\})/;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export interface SegmentHint {
  /** The characters of the text that force UCS-2, each once. */
  readonly characters: readonly string[];
  /** The text with simpler characters; null if some have no simpler form. */
  readonly simpler: string | null;
  /** How many segments the characters cost, over these rows. */
  readonly extra: number;
  readonly rows: number;
}

/** What the characters of a text outside the GSM alphabet cost, over rows with these columns; null if they cost nothing. */
export function segmentHint(
  text: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): SegmentHint | null {
  const parts = text.split(PLACEHOLDER);
  const spelled = parts.map((part, at) =>
    at % 2 === 1 ? [] : [...graphemes.segment(part)].map(({ segment }) => segment),
  );
  const characters = [...new Set(spelled.flat())].filter(
    (character) => segmentsOf(character).encoding === 'UCS-2',
  );
  if (characters.length === 0) return null;
  const without = (by: (character: string) => string): string =>
    parts
      .map((part, at) =>
        at % 2 === 1
          ? part
          : (spelled[at] ?? []).map((one) => (characters.includes(one) ? by(one) : one)).join(''),
      )
      .join('');
  const isSimple = characters.every((character) => SIMPLER.has(character));
  const other = without((character) => SIMPLER.get(character) ?? '');
  const [now, then] = [text, other].map((each) => compileTemplate(each, columns));
  if (!now?.ok || !then?.ok) return null;
  const counted = rows.slice(0, MOST_ROWS).filter((row) => now.template.missing(row) === null);
  const extra = counted.reduce(
    (sum, row) =>
      sum + segmentsOf(now.template.render(row)).segments - segmentsOf(then.template.render(row)).segments,
    0,
  );
  if (extra <= 0) return null;
  return { characters, simpler: isSimple ? other : null, extra, rows: counted.length };
}
