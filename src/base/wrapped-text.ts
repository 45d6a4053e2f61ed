import { stripVTControlCharacters } from 'node:util';

/** A character of several code points that begins with an emoji takes two columns as a whole. */
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
/** Code points that take two columns. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;
/** Code points that are drawn onto the one before, and those that are not drawn. */
const NARROW = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7fb]/u;
/** Texts whose characters all take one column. Most do, and to load the segmenter takes longer than to print the help of a command. */
const SINGLE = /^[\x20-\x7e]*$/;
let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as people see them: an emoji of several code points is one. */
export function* graphemesOf(text: string): Iterable<string> {
  if (SINGLE.test(text)) {
    yield* text;
    return;
  }
  segmenter ??= new Intl.Segmenter('en');
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/** Columns that a text takes on a terminal, without its colours. */
export function widthOf(text: string): number {
  const visible = stripVTControlCharacters(text);
  if (SINGLE.test(visible)) return visible.length;
  let width = 0;
  for (const grapheme of graphemesOf(visible)) {
    if (EMOJI.test(grapheme)) width += 2;
    else for (const point of grapheme) width += NARROW.test(point) ? 0 : WIDE.test(point) ? 2 : 1;
  }
  return width;
}

/**
 * A command is one word, also after a colour code: broken over two lines, it could not be pasted. It stands in backquotes, or begins
 * with `volley` and goes on to the end of its sentence. A quoted argument does not end it.
 */
const WORDS =
  /(\s*)((?:\p{Cc}\[[\d;]*m)*(?:`[^`]*`\S*|(?:(?:npx |pnpm exec |yarn |npm run )?volley(?: --)?|node \S+\.js) [a-z](?:(?<=\s)(?:"[^"\n]*"|'[^'\n]*')|(?<!\s)["']|[^\n"'])*?(?=$|\.$| \(|[,;] |\. | or | and )[.,;]?|\S+))/gu;

/**
 * Breaks a text into lines of at most `width` columns, between words. Lines after the first begin with `indent` spaces. A command that
 * is longer than a line is broken with backslashes, as a shell reads it. An address stays whole, so that it can be opened. Without a width, the
 * text stays on one line.
 */
export function wrapped(text: string, width: number | undefined, indent = 0): string[] {
  if (width === undefined || widthOf(text) <= width) return [text];
  const margin = ' '.repeat(Math.min(indent, Math.floor(width / 2)));
  const room = Math.max(1, width - margin.length);
  const lines: string[] = [];
  let line = '';
  let isEmpty = true;
  const end = (): void => {
    lines.push(line);
    [line, isEmpty] = [margin, true];
  };
  const add = (gap: string, word: string): void => {
    if (widthOf(line + gap + word) <= width) {
      line += gap + word;
      isEmpty = false;
    } else if (!isEmpty) {
      end();
      add('', word);
    } else if (isCommand(word)) {
      const parts = brokenCommand(word, room - 2);
      for (const part of parts.slice(0, -1)) {
        line += `${gap}${part} \\`;
        end();
      }
      line += parts.at(-1) ?? '';
      isEmpty = false;
    } else if (/^https?:/.test(stripVTControlCharacters(word))) {
      line += gap + word;
      isEmpty = false;
    } else {
      const bare = stripVTControlCharacters(word);
      const fits = leading(bare, width - widthOf(line + gap));
      line += gap + fits;
      end();
      if (fits.length < bare.length) add('', bare.slice(fits.length));
    }
  };
  for (const [, gap = '', word = ''] of text.matchAll(WORDS)) add(gap, word);
  return isEmpty ? lines : [...lines, line];
}

const isCommand = (word: string): boolean =>
  /^`?(?:(?:npx |pnpm exec |yarn |npm run )?volley(?: --)?|node \S+\.js) \S/.test(
    stripVTControlCharacters(word),
  );

/** An option stays with its value. */
const ARGUMENTS = /(?:--[\w-]+ (?!-))?(?:"[^"]*"|'[^']*'|[^\s"'])+/g;

/** The parts of a command, each at most `room` columns wide if its arguments are. An argument is never broken. */
export function brokenCommand(command: string, room: number): string[] {
  const parts: string[] = [];
  for (const [word] of command.matchAll(ARGUMENTS)) {
    const last = parts.at(-1);
    if (last !== undefined && widthOf(`${last} ${word}`) <= room) parts[parts.length - 1] = `${last} ${word}`;
    else parts.push(word);
  }
  return parts;
}

/** The first graphemes of a word, at least one, that take at most `room` columns. */
function leading(word: string, room: number): string {
  let kept = '';
  for (const grapheme of graphemesOf(word)) {
    if (kept !== '' && widthOf(kept + grapheme) > room) break;
    kept += grapheme;
  }
  return kept;
}
