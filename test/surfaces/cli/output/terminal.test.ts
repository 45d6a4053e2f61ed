import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLivePicture } from '../../../../src/surfaces/cli/output/terminal.js';

const ESCAPE = '\u001b';
const MODES = new RegExp(`${ESCAPE}\\[\\?\\d+[lh]`, 'g');
/** What moves up, what clears the rest, a line of a picture, and a line break that the terminal echoes. */
const DRAWN = new RegExp(
  `${ESCAPE}\\[(\\d+)A\\r|(${ESCAPE}\\[J)|([^\\n${ESCAPE}]*)${ESCAPE}\\[K\\n|\\n`,
  'g',
);
const SHOW_CURSOR = `${ESCAPE}[?25h`;

/** A terminal with what these pictures need: lines, a cursor that moves up, and clearing. */
function terminal(rows = 10) {
  let text = '';
  return {
    isTTY: true,
    columns: 80,
    rows,
    write: (written: string) => {
      text += written;
    },
    written: () => text,
    screen(): string[] {
      const lines: string[] = [];
      let row = 0;
      for (const [, up, clear, line] of text.replaceAll(MODES, '').matchAll(DRAWN)) {
        if (up !== undefined) row -= Number(up);
        else if (clear !== undefined) lines.length = row;
        else {
          lines[row] = line ?? lines[row] ?? '';
          row += 1;
        }
      }
      return lines;
    },
  };
}

test('Each picture replaces the one before, even if it has fewer lines', () => {
  const canvas = terminal();
  const live = createLivePicture(canvas);
  live.draw(['one', 'two', 'three']);
  live.draw(['ONE', 'TWO']);
  live.draw(['first', 'second', 'third', 'fourth']);
  live.draw(['last']);
  expect(canvas.screen()).toEqual(['last']);
});

test('Line breaks that are typed leave nothing of an old picture', async () => {
  const canvas = terminal();
  const keyboard = Object.assign(new PassThrough(), { isTTY: true });
  keyboard.pause();
  const live = createLivePicture(canvas, keyboard as unknown as NodeJS.ReadStream);
  live.draw(['one', 'two']);
  canvas.write('\n\n');
  keyboard.write('a\nb\n');
  await setImmediate();
  live.draw(['ONE', 'TWO', 'THREE']);
  live.draw(['last', 'lines']);
  expect(canvas.screen()).toEqual(['last', 'lines']);
  live.end();
  expect([keyboard.listenerCount('data'), keyboard.isPaused()]).toEqual([0, true]);
});

test('A picture higher than the terminal is cut at the end', () => {
  const canvas = terminal(3);
  createLivePicture(canvas).draw(['1', '2', '3', '4']);
  expect(canvas.screen()).toEqual(['1', '2']);
});

test('A picture hides the cursor and shows it again once at the end', () => {
  const canvas = terminal();
  const live = createLivePicture(canvas);
  live.draw(['one']);
  expect(canvas.written().startsWith(`${ESCAPE}[?25l`)).toBe(true);
  live.end();
  live.end();
  expect(canvas.written().split(SHOW_CURSOR)).toHaveLength(2);
});

test('Without a picture, the end writes nothing', () => {
  const canvas = terminal();
  createLivePicture(canvas).end();
  expect(canvas.written()).toBe('');
});
