import { describe, expect, test } from 'vitest';
import { barsChart } from '../../bench/chart/bars.js';
import { windowsChart } from '../../bench/chart/windows.js';
import { between } from '../../bench/peers/document.js';
import { middleRound } from '../../bench/peers/pictures.js';
import type { Result } from '../../bench/peers/round.js';
import { killTable, median, undisturbedTable } from '../../bench/peers/table.js';
import { RESULT } from './result.js';

const ROWS = [
  { name: 'bare-loop', title: 'Loop', knowsQuota: false },
  { name: 'volley', title: 'Volley', knowsQuota: true },
];
const round = (loop: Partial<Result>, volley: Partial<Result>) =>
  new Map([
    ['bare-loop', { ...RESULT, ...loop }],
    ['volley', { ...RESULT, ...volley }],
  ]);
const cells = (table: string, line: number): string[] =>
  (table.split('\n')[line] ?? '')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

test('The median is the middle value, or the mean of the two middle values', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 9, 2])).toBe(3);
  expect(median([])).toBeNaN();
  expect(median([1, Number.NaN, 2])).toBeNaN();
});

describe('a table', () => {
  test('shows the median of the rounds, with minimum and maximum if they differ', () => {
    const rounds = [{ throttled: 3 }, { throttled: 1_200 }, { throttled: 7 }].map((loop) => round(loop, {}));
    const table = undisturbedTable(ROWS, rounds, 10_000);
    const at = cells(table, 0).indexOf('429s');
    expect(cells(table, 2)[at]).toBe('7 (3–1,200)');
    expect(cells(table, 3)[at]).toBe('0');
  });

  test('divides times within a round before it takes the median', () => {
    const rounds = [
      round({ tookMs: 1_000 }, { tookMs: 2_000 }),
      round({ tookMs: 9_000 }, { tookMs: 9_000 }),
      round({ tookMs: 4_000 }, { tookMs: 12_000 }),
    ];
    const table = undisturbedTable(ROWS, rounds, 10_000);
    expect(cells(table, 3)[cells(table, 0).indexOf('÷ bare loop')]).toBe('2.00');
    expect(cells(table, 2)[cells(table, 0).indexOf('÷ Volley')]).toBe('0.50');
  });

  test('marks an aborted round and shows a dash for missing values', () => {
    const rounds = [round({ isDone: false, utilisation: Number.NaN }, {})];
    const table = undisturbedTable(ROWS, rounds, 10_000);
    expect(cells(table, 2)).toContain('1.0, aborted');
    expect(cells(table, 2)[cells(table, 0).indexOf('quota used, %')]).toBe('–');
    expect(cells(table, 3)).not.toContain('1.0, aborted');
  });

  test('shows how many recipients are not final', () => {
    const table = undisturbedTable(ROWS, [round({ notFinal: 3, notSent: 1 }, {})], 10_000);
    expect(cells(table, 2)).toContain('1.0, 4 not final');
    expect(cells(table, 3)).toContain('1.0');
  });

  test('of the kill round has complete rows and starts with the messages sent twice', () => {
    const table = killTable(ROWS, [round({ duplicates: 9 }, {})]);
    expect(new Set(table.split('\n').map((line) => line.split('|').length)).size).toBe(1);
    expect(cells(table, 2)[1]).toBe('9');
  });
});

describe('the generated part of a document', () => {
  const document = 'before\n<!-- peers -->\nold\n<!-- /peers -->\nafter\n';

  test('is replaced without changing anything else', () => {
    const once = between(document, 'peers', 'new\n\nlines');
    expect(once).toBe('before\n<!-- peers -->\nnew\n\nlines\n<!-- /peers -->\nafter\n');
    expect(between(once, 'peers', 'new\n\nlines')).toBe(once);
  });

  test('cannot be replaced if a marker is missing', () => {
    expect(() => between('before\n<!-- peers -->\n', 'peers', 'new')).toThrow('<!-- peers -->');
  });
});

test('The chart shows the round with the median time', () => {
  const rounds = [{ tookMs: 9 }, { tookMs: 1 }, { tookMs: 5 }].map((volley) => round({}, volley));
  expect(middleRound(rounds, 'volley').get('volley')?.tookMs).toBe(5);
  expect(() => middleRound([], 'volley')).toThrow('no round');
});

describe('a chart', () => {
  const widths = (svg: string, kind: string): number[] =>
    [...svg.matchAll(/<rect [^>]*?width="([\d.]+)"[^>]*?class="(\w+)"/g)]
      .filter(([, , of]) => of === kind)
      .map(([, width]) => Number(width));

  test('of bars draws proportional bars from zero and prints each figure', () => {
    const svg = barsChart({
      heading: 'a < b',
      rows: [
        { title: 'Loop', isOwn: false },
        { title: 'Volley', isOwn: true },
      ],
      groups: [{ title: '429s', note: '', values: [2_000, 500], digits: 0 }],
    });
    const [loop = 0, volley = 0] = [...widths(svg, 'peer'), ...widths(svg, 'good')];
    expect(loop / volley).toBeCloseTo(4, 1);
    expect(svg).toContain('>2,000</text>');
    expect(svg).not.toContain('a < b');
  });

  test('of windows reaches as high as the largest window, including refused requests', () => {
    const arrivals = [0, 10, 20, 30, 5_000].map((at) => ({ at, refused: at === 30 }));
    const svg = windowsChart({
      heading: '',
      quota: 1,
      // Shorter than a step of the chart, so the peak lies within one step.
      windowMs: 100,
      panels: [{ title: '', note: '', arrivals }],
    });
    const highest = (kind: string): number => {
      const [, path = ''] = new RegExp(`<path class="${kind}" d="([^"]*)"`).exec(svg) ?? [];
      return Math.min(...[...path.matchAll(/V([\d.]+)/g)].map(([, y]) => Number(y)));
    };
    // The axis ends at 4; three of the four requests were admitted.
    expect(highest('bad')).toBe(0);
    expect(highest('good')).toBeCloseTo(80 / 4, 1);
  });
});
