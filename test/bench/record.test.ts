import { describe, expect, test } from 'vitest';
import { type Books, figuresOf, mostWithin } from '../../bench/peers/record.js';

const RULES = { quota: 2, windowMs: 1_000, model: 'sliding', deliveryMs: 150 } as const;
const LIST = ['+461', '+462'];

type Line = [at: number, outcome: 'accepted' | 'infos' | 'quotaExceeded', about?: string];

/** Books in a short form: of a send `about` is the number, of a poll the id, which is the number and time of the send. */
function books(lines: readonly Line[]): Books {
  return {
    arrivals: lines.map(([at, outcome, about]) => ({
      at,
      outcome,
      kind: outcome === 'infos' ? 'poll' : 'send',
      ...(outcome === 'infos' && about !== undefined ? { requestId: about } : {}),
    })),
    ledger: lines
      .filter(([, outcome]) => outcome === 'accepted')
      .map(([at, , number = '']) => ({ at, requestId: `${number}@${at}`, recipients: [number] })),
  };
}

describe('the most requests in any window', () => {
  test('are found where the window begins between two seconds', () => {
    expect(mostWithin([0, 600, 700, 1_400, 1_500, 3_000], 1_000)).toBe(4);
  });

  test('leave out the one that came exactly a window ago', () => {
    expect(mostWithin([0, 999], 1_000)).toBe(2);
    expect(mostWithin([0, 1_000], 1_000)).toBe(1);
  });

  test('are none of none', () => {
    expect(mostWithin([], 1_000)).toBe(0);
  });
});

describe('figures of a run', () => {
  test('end with the first poll that could tell the last final status', () => {
    const run = books([
      [100, 'accepted', '+461'],
      [200, 'accepted', '+462'],
      [300, 'infos', '+461@100'],
      [320, 'infos', '+462@200'],
      [400, 'infos', '+462@200'],
      [900, 'infos', '+462@200'],
    ]);
    const figures = figuresOf(LIST, run, RULES);
    expect(figures).toMatchObject({
      tookMs: 300,
      sends: 2,
      polls: 4,
      notSent: 0,
      notFinal: 0,
      duplicates: 0,
    });
  });

  test('count what was answered 429 as on the wire, and not as let in', () => {
    const run = books([
      [0, 'accepted', '+461'],
      [10, 'quotaExceeded'],
      [20, 'quotaExceeded'],
      [30, 'accepted', '+462'],
    ]);
    expect(figuresOf(LIST, run, RULES)).toMatchObject({ sends: 2, polls: 0, throttled: 2, worstWindow: 4 });
  });

  test('count each text beyond the first to a number as sent twice', () => {
    const run = books([
      [0, 'accepted', '+461'],
      [1, 'accepted', '+461'],
      [2, 'accepted', '+461'],
      [3, 'accepted', '+462'],
    ]);
    expect(figuresOf(LIST, run, RULES)).toMatchObject({ duplicates: 2, notSent: 0 });
  });

  test('tell a recipient never sent to from one whose final status was never asked for', () => {
    const run = books([
      [0, 'accepted', '+461'],
      [149, 'infos', '+461@0'],
    ]);
    expect(figuresOf(LIST, run, RULES)).toMatchObject({ notSent: 1, notFinal: 1, tookMs: 149 });
  });

  test('take a poll that was answered with an error for no report', () => {
    const run = books([[0, 'accepted', '+461']]);
    const failed = { at: 500, kind: 'poll', outcome: 'error', requestId: '+461@0' } as const;
    const figures = figuresOf(['+461'], { ...run, arrivals: [...run.arrivals, failed] }, RULES);
    expect(figures.notFinal).toBe(1);
  });

  test('take a poll that was answered 429 for no report', () => {
    const run = books([[0, 'accepted', '+461']]);
    const refused = { at: 500, kind: 'poll', outcome: 'quotaExceeded', requestId: '+461@0' } as const;
    const figures = figuresOf(['+461'], { ...run, arrivals: [...run.arrivals, refused] }, RULES);
    expect(figures.notFinal).toBe(1);
  });

  test('are satisfied with a report of either of two texts to a number', () => {
    const run = books([
      [0, 'accepted', '+461'],
      [10, 'accepted', '+461'],
      [160, 'infos', '+461@10'],
      [900, 'infos', '+461@0'],
    ]);
    expect(figuresOf(['+461'], run, RULES)).toMatchObject({ notFinal: 0, duplicates: 1, tookMs: 160 });
    const reversed = { ...run, ledger: run.ledger.toReversed() };
    expect(figuresOf(['+461'], reversed, RULES)).toMatchObject({ tookMs: 160 });
  });

  test('measure the use of the quota over whole windows from the first request, without the last', () => {
    const run = books([
      [500, 'accepted', '+461'],
      [600, 'accepted', '+462'],
      [1_499, 'quotaExceeded'],
      [1_600, 'infos', '+461@500'],
      [2_600, 'infos', '+462@600'],
    ]);
    expect(figuresOf(LIST, run, RULES).utilisation).toBe(3 / 4);
  });

  test('measure it by the windows of the clock where the service does', () => {
    const run = books([
      [900, 'accepted', '+461'],
      [1_100, 'accepted', '+462'],
      [1_200, 'infos', '+461@900'],
      [2_100, 'infos', '+462@1100'],
    ]);
    expect(figuresOf(LIST, run, { ...RULES, model: 'clock' }).utilisation).toBe(3 / 4);
  });

  test('say nothing of the use of the quota when there was but one window', () => {
    const run = books([[0, 'accepted', '+461']]);
    expect(figuresOf(LIST, run, RULES).utilisation).toBeNaN();
  });

  test('are refused for a number that is not on the list, and where nothing came', () => {
    expect(() => figuresOf(LIST, books([[0, 'accepted', '+469']]), RULES)).toThrow('+469 is not on the list');
    expect(() => figuresOf(LIST, books([]), RULES)).toThrow('no request came');
  });
});
