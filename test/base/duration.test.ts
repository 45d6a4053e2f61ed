import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../src/base/duration.js';

describe('parseDuration and formatDuration', () => {
  it.each([
    ['500ms', 500],
    ['90s', 90_000],
    ['15m', 900_000],
    ['72h', 259_200_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
    ['1000000d', 86_400_000_000_000],
  ])('parse %s as %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '72', '1.5h', '-3h', '72 h', '72H', '1w', 'h', '1h30m', '1e3s', '9999999999999s', '1000001d'])(
    'reject %j',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it.each([
    [0, '0ms'],
    [340, '340ms'],
    [1_500, '1.5s'],
    [12_000, '12s'],
    [60_000, '1m'],
    [3_900_000, '1h 5m'],
    [3_601_000, '1h'],
    [259_200_000, '3d'],
    [90_000_000, '1d 1h'],
  ])('format %i ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('never format a duration as longer than it is, and lose less than a tenth of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 11 }), (ms) => {
        const parts = formatDuration(ms)
          .split(' ')
          .map((part) => parseDuration(part) ?? Number(part.replace('s', '')) * 1_000);
        const sum = parts.reduce((a, b) => a + b, 0);
        expect(sum).toBeLessThanOrEqual(ms);
        expect(ms - sum).toBeLessThanOrEqual(ms / 10);
      }),
    );
  });
});
