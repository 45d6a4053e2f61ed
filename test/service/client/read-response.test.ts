import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../src/service/client/read-response.js';
import { codePoint } from '../../base/code-point.js';

const NOW = Date.parse('1994-11-06T08:49:00Z');

describe('retryAfterMs', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['Sun Nov  6 08:49:37 1994', 37_000],
  ])('reads %j', (header, expected) => {
    expect(retryAfterMs(header, NOW)).toBe(expected);
  });

  it('returns no wait for a date in the past', () => {
    expect(retryAfterMs('Sun, 06 Nov 1994 08:48:00 GMT', NOW)).toBe(0);
  });

  it.each([undefined, '', '-5', '1.5', '1e3', 'soon', 'Sun, later', '1994-11-06'])('ignores %j', (header) => {
    expect(retryAfterMs(header, NOW)).toBeNull();
  });

  it('returns null or a non-negative wait for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), fc.integer({ min: 0, max: 4e12 }), (header, now) => {
        const wait = retryAfterMs(header, now);
        expect(wait === null || wait >= 0).toBe(true);
      }),
    );
  });

  it('reads every HTTP date exactly', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e9 }), (seconds) => {
        const at = seconds * 1000;
        expect(retryAfterMs(new Date(at).toUTCString(), 0)).toBe(at);
      }),
    );
  });
});
