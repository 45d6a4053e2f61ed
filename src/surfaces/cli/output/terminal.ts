import { styleText } from 'node:util';

/** A colour, or a weight. */
export type Ink = Parameters<typeof styleText>[0];

/** Colours a text, or leaves it as it is. */
export type Paint = (ink: Ink, text: string) => string;

/** Leaves every text as it is. */
export const unpainted: Paint = (_ink, text) => text;

/** Colours for a stream: only on a terminal that has them, and not under `NO_COLOR` (https://no-color.org). */
export function paintFor(
  stream: NodeJS.WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  if (stream.isTTY !== true || env['NO_COLOR'] || env['TERM'] === 'dumb') return unpainted;
  return (ink, text) => (text === '' ? '' : styleText(ink, text, { validateStream: false }));
}

/** The columns of a stream that is a terminal; undefined for a file or a pipe, whose lines may have any length. */
export function columnsOf(stream: NodeJS.WriteStream): number | undefined {
  return stream.isTTY === true ? stream.columns || 80 : undefined;
}

/** Moves the text of an interrupted command over the `^C` that the terminal has echoed. */
export function overEcho(stream: NodeJS.WriteStream): string {
  return stream.isTTY === true ? `\r${CLEAR_REST_OF_LINE}` : '';
}

/** The part of a terminal's stream that drawing needs. */
interface Canvas {
  readonly rows?: number;
  write(text: string): unknown;
}

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
/** The terminal cuts a line that is too long; a wrapped line would push the picture down at each drawing. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';
const CLEAR_REST_OF_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** The part of a terminal's input that drawing needs. */
type Keyboard = Pick<NodeJS.ReadStream, 'isTTY' | 'on' | 'off' | 'pause' | 'resume'>;

/**
 * A picture that is drawn over itself. Lines beyond the terminal's height are left out, because the cursor cannot move above the first
 * row. The terminal echoes what is typed on `keyboard`: without reading it, each Enter would leave a line of an old picture.
 */
export function createLivePicture(canvas: Canvas, keyboard?: Keyboard) {
  let height = 0;
  let isEnded = false;
  const onTyped = (text: Buffer | string): void => {
    if (height > 0) height += String(text).split('\n').length - 1;
  };
  // A question before has paused it.
  if (keyboard?.isTTY === true) keyboard.on('data', onTyped).resume();
  return {
    draw(lines: readonly string[]): void {
      const shown = lines.slice(0, Math.max(1, (canvas.rows ?? 24) - 1));
      const up = height === 0 ? '' : `\u001b[${height}A\r`;
      const text = shown.map((line) => `${line}${CLEAR_REST_OF_LINE}\n`).join('');
      // In one write, so that the terminal never shows half a picture.
      canvas.write(`${HIDE_CURSOR}${NO_WRAP}${up}${text}${CLEAR_BELOW}${WRAP}`);
      height = shown.length;
    },
    /** Leaves the last picture on the screen and shows the cursor again. */
    end(): void {
      if (height > 0) canvas.write(SHOW_CURSOR);
      height = 0;
      // Reading would keep the process alive.
      if (keyboard?.isTTY === true && !isEnded) keyboard.off('data', onTyped).pause();
      isEnded = true;
    },
  };
}
