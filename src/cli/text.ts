import { stripVTControlCharacters } from 'node:util';
import type { TimeRange } from '../campaign/views.js';
import { formatDuration } from '../duration.js';

const CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;
const graphemes = new Intl.Segmenter('en');

/** Untrusted text on one line, without characters that move the cursor, colour, or hide anything. */
export function oneLine(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '⏎').replace(CONTROL, '·');
}

/** Columns that a text takes on a terminal, without its colours. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(stripVTControlCharacters(text)))
    width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** Cuts an uncoloured text to `width` columns; the last column is an ellipsis if something was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const { segment } of graphemes.segment(text)) {
    if (widthOf(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Pads a text with spaces to `width` columns. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** `12,345`. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** `1 recipient`, `12,345 recipients`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Rows under a heading, each column as wide as its widest text; two spaces between columns. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));
  return all.map((row) =>
    row
      .map((text, column) => padded(text, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** A time in this machine's time zone: `14:03:20` today, else `2 May 14:03`, with the year if it is another one. */
export function moment(ms: number, now: number): string {
  const [at, today] = [new Date(ms), new Date(now)];
  if (at.toDateString() === today.toDateString()) return at.toTimeString().slice(0, 8);
  const month = at.toLocaleString('en', { month: 'short' });
  const year = at.getFullYear() === today.getFullYear() ? '' : ` ${at.getFullYear()}`;
  return `${at.getDate()} ${month}${year} ${at.toTimeString().slice(0, 5)}`;
}

/** `14:03:20 (in 12s)` for an ISO time, or `now` if it has passed. */
export function until(iso: string, now: number): string {
  const ms = Date.parse(iso);
  return ms <= now ? 'now' : `${moment(ms, now)} (in ${formatDuration(ms - now)})`;
}

/** `between 10:24:16 and 10:24:20 (in 9 to 13 s)`; `by 10:24:20` if it may be now; `not before 10:24:16: reason` without an end. */
export function between({ earliest, latest, reason }: TimeRange, now: number): string {
  const from = Date.parse(earliest);
  if (latest === null) {
    const start = from <= now ? '' : ` before ${until(earliest, now)}`;
    return start === '' ? `at an unknown time: ${reason}` : `not${start}: ${reason}`;
  }
  const to = Date.parse(latest);
  if (to <= now) return 'at any moment';
  const seconds = [Math.floor((from - now) / 1_000), Math.ceil((to - now) / 1_000)] as const;
  const [soonest, last] = [moment(from, now), moment(to, now)];
  if (seconds[0] <= 0) return `by ${last} (within ${duration(seconds[1])})`;
  if (soonest === last) return `at ${last} (in ${duration(seconds[1])})`;
  const both = seconds[1] < 60 ? `${seconds[0]} to ${seconds[1]} s` : seconds.map(duration).join(' to ');
  return `between ${soonest} and ${last} (in ${both})`;
}

/** Whole seconds: `13 s`, `1m 30s`. */
function duration(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
}
