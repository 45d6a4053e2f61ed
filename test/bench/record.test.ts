import { describe, expect, test } from 'vitest';
import { figuresOf, mostWithin, type ServiceLogs } from '../../bench/peers/record.js';

const RULES = { quota: 2, windowMs: 1_000, model: 'sliding', deliveryMs: 150 } as const;
const LIST = ['+461', '+462'];

type Line = [at: number, outcome: 'accepted' | 'infos' | 'quotaExceeded', about?: string];

/** Logs in a short form. `about` is the number of a send, or the id of a poll: the number and time of its send. */
function logs(lines: readonly Line[]): ServiceLogs {
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

describe('the largest number of requests in any window', () => {
  test('is found if the window starts at any time', () => {
    expect(mostWithin([0, 600, 700, 1_400, 1_500, 3_000], 1_000)).toBe(4);
  });

  test('excludes a request that arrived exactly one window before', () => {
    expect(mostWithin([0, 999], 1_000)).toBe(2);
    expect(mostWithin([0, 1_000], 1_000)).toBe(1);
  });

  test('is 0 without requests', () => {
    expect(mostWithin([], 1_000)).toBe(0);
  });
});

describe('the result of a contestant', () => {
  test('ends with the first poll that can return the last final status', () => {
    const run = logs([
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

  test('counts requests answered 429 as arrived but not as admitted', () => {
    const run = logs([
      [0, 'accepted', '+461'],
      [10, 'quotaExceeded'],
      [20, 'quotaExceeded'],
      [30, 'accepted', '+462'],
    ]);
    expect(figuresOf(LIST, run, RULES)).toMatchObject({ sends: 2, polls: 0, throttled: 2, worstWindow: 4 });
  });

  test('counts each message beyond the first to a number as sent twice', () => {
    const run = logs([
      [0, 'accepted', '+461'],
      [1, 'accepted', '+461'],
      [2, 'accepted', '+461'],
      [3, 'accepted', '+462'],
    ]);
    expect(figuresOf(LIST, run, RULES)).toMatchObject({ duplicates: 2, notSent: 0 });
  });

  test('distinguishes recipients that were never sent to from those without a final status', () => {
    const run = logs([
      [0, 'accepted', '+461'],
      [149, 'infos', '+461@0'],
    ]);
    expect(figuresOf(LIST, run, RULES)).toMatchObject({ notSent: 1, notFinal: 1, tookMs: 149 });
  });

  test('ignores polls that were answered with an error', () => {
    const run = logs([[0, 'accepted', '+461']]);
    const failed = { at: 500, kind: 'poll', outcome: 'error', requestId: '+461@0' } as const;
    const figures = figuresOf(['+461'], { ...run, arrivals: [...run.arrivals, failed] }, RULES);
    expect(figures.notFinal).toBe(1);
  });

  test('ignores polls that were answered 429', () => {
    const run = logs([[0, 'accepted', '+461']]);
    const refused = { at: 500, kind: 'poll', outcome: 'quotaExceeded', requestId: '+461@0' } as const;
    const figures = figuresOf(['+461'], { ...run, arrivals: [...run.arrivals, refused] }, RULES);
    expect(figures.notFinal).toBe(1);
  });

  test('accepts a final status of either of two messages to a number', () => {
    const run = logs([
      [0, 'accepted', '+461'],
      [10, 'accepted', '+461'],
      [160, 'infos', '+461@10'],
      [900, 'infos', '+461@0'],
    ]);
    expect(figuresOf(['+461'], run, RULES)).toMatchObject({ notFinal: 0, duplicates: 1, tookMs: 160 });
    const reversed = { ...run, ledger: run.ledger.toReversed() };
    expect(figuresOf(['+461'], reversed, RULES)).toMatchObject({ tookMs: 160 });
  });

  test('measures the use of the quota over whole windows from the first request, without the last one', () => {
    const run = logs([
      [500, 'accepted', '+461'],
      [600, 'accepted', '+462'],
      [1_499, 'quotaExceeded'],
      [1_600, 'infos', '+461@500'],
      [2_600, 'infos', '+462@600'],
    ]);
    expect(figuresOf(LIST, run, RULES).utilisation).toBe(3 / 4);
  });

  test('measures it by clock windows if the service counts by the clock', () => {
    const run = logs([
      [900, 'accepted', '+461'],
      [1_100, 'accepted', '+462'],
      [1_200, 'infos', '+461@900'],
      [2_100, 'infos', '+462@1100'],
    ]);
    expect(figuresOf(LIST, run, { ...RULES, model: 'clock' }).utilisation).toBe(3 / 4);
  });

  test('has no use of the quota if there was only one window', () => {
    const run = logs([[0, 'accepted', '+461']]);
    expect(figuresOf(LIST, run, RULES).utilisation).toBeNaN();
  });

  test('cannot be computed for a number that is not on the list, or without requests', () => {
    expect(() => figuresOf(LIST, logs([[0, 'accepted', '+469']]), RULES)).toThrow('+469 is not on the list');
    expect(() => figuresOf(LIST, logs([]), RULES)).toThrow('no request arrived');
  });
});
