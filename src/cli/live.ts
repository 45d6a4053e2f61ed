/** Where a picture is drawn: the part of a terminal's stream that drawing needs. */
export interface Canvas {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** A picture that is drawn over itself. */
export interface Live {
  draw(lines: readonly string[]): void;
  /** Leaves the last picture as it stands, and gives the cursor back. */
  end(): void;
}

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
/** A line that is too long is cut by the terminal; wrapped, it would push the picture down at each drawing. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';
const CLEAR_REST_OF_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** Draws on a terminal. What does not fit its height is left out at the end, as nobody can draw above the first row. */
export function createLive(canvas: Canvas): Live {
  let height = 0;
  return {
    draw(lines) {
      const shown = lines.slice(0, Math.max(1, (canvas.rows ?? 24) - 1));
      const up = height === 0 ? '' : `\u001b[${height}A\r`;
      const text = shown.map((line) => `${line}${CLEAR_REST_OF_LINE}\n`).join('');
      // In one piece, so that a terminal never shows half a picture.
      canvas.write(`${HIDE_CURSOR}${NO_WRAP}${up}${text}${CLEAR_BELOW}${WRAP}`);
      height = shown.length;
    },
    end() {
      if (height > 0) canvas.write(SHOW_CURSOR);
      height = 0;
    },
  };
}
