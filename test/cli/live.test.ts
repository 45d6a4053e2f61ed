import { expect, test } from 'vitest';
import { createLive } from '../../src/cli/live.js';

const ESCAPE = '\u001b';
const MODES = new RegExp(`${ESCAPE}\\[\\?\\d+[lh]`, 'g');
const DRAWN = new RegExp(`${ESCAPE}\\[(\\d+)A\\r|(${ESCAPE}\\[J)|([^\\n${ESCAPE}]*)${ESCAPE}\\[K\\n`, 'g');
const SHOW_CURSOR = `${ESCAPE}[?25h`;

/** A terminal as far as these pictures need one: lines, a cursor that goes up, and clearing. */
function terminal(rows = 10) {
  let text = '';
  return {
    isTTY: true,
    columns: 80,
    rows,
    write: (piece: string) => {
      text += piece;
    },
    written: () => text,
    screen(): string[] {
      const lines: string[] = [];
      let row = 0;
      for (const [, up, clear, line] of text.replaceAll(MODES, '').matchAll(DRAWN)) {
        if (up !== undefined) row -= Number(up);
        else if (clear !== undefined) lines.length = row;
        else {
          lines[row] = line ?? '';
          row += 1;
        }
      }
      return lines;
    },
  };
}

test('each picture is drawn over the one before, also when it has fewer lines', () => {
  const canvas = terminal();
  const live = createLive(canvas);
  live.draw(['one', 'two', 'three']);
  live.draw(['ONE', 'TWO']);
  live.draw(['first', 'second', 'third', 'fourth']);
  live.draw(['last']);
  expect(canvas.screen()).toEqual(['last']);
});

test('a picture higher than the terminal loses its end, as nobody can draw above the first row', () => {
  const canvas = terminal(3);
  createLive(canvas).draw(['1', '2', '3', '4']);
  expect(canvas.screen()).toEqual(['1', '2']);
});

test('the cursor is hidden while it draws, and given back once at the end', () => {
  const canvas = terminal();
  const live = createLive(canvas);
  live.draw(['one']);
  expect(canvas.written().startsWith(`${ESCAPE}[?25l`)).toBe(true);
  live.end();
  live.end();
  expect(canvas.written().split(SHOW_CURSOR)).toHaveLength(2);
});

test('without a picture there is nothing to give back', () => {
  const canvas = terminal();
  createLive(canvas).end();
  expect(canvas.written()).toBe('');
});
