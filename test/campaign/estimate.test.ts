import fc from 'fast-check';
import { expect, it } from 'vitest';
import { estimate, estimateRemaining } from '../../src/campaign/estimate.js';

const HOUR = 3_600_000;
const quota = { limit: 1000, windowMs: HOUR, used: 0, pollShare: 0.2 };

it('takes no time for what the quota has room for now', () => {
  expect(estimate(400, quota)).toEqual({
    requests: { send: 400, poll: 600, total: 1000 },
    sentAfterMs: 0,
    finishedAfterMs: 0,
  });
});

it('sends with what the polls leave of every window, and polls on with the whole of it', () => {
  // 800 of 1000 are for sends: 800 now, the other 9,200 in twelve more windows; 25,000 requests in all fill 25.
  expect(estimate(10_000, quota)).toEqual({
    requests: { send: 10_000, poll: 15_000, total: 25_000 },
    sentAfterMs: 12 * HOUR,
    finishedAfterMs: 24 * HOUR,
  });
});

it('holds no more back for polls than there are polls', () => {
  expect(estimate(1000, quota, 0).sentAfterMs).toBe(0);
  expect(estimate(1001, quota, 0).sentAfterMs).toBe(HOUR);
  expect(estimate(1000, quota, 0.1).sentAfterMs).toBe(HOUR);
});

it('counts what the window has used already', () => {
  expect(estimate(400, { ...quota, used: 1 }).finishedAfterMs).toBe(HOUR);
  expect(estimate(1, { ...quota, used: 1000 }).sentAfterMs).toBe(HOUR);
});

it('knows the requests but no time where the quota is not known', () => {
  expect(estimate(400, { ...quota, limit: null })).toEqual({
    requests: { send: 400, poll: 600, total: 1000 },
    sentAfterMs: null,
    finishedAfterMs: null,
  });
});

it('says that nothing takes no time', () => {
  expect(estimateRemaining(0, 0, { ...quota, used: 1000 })).toMatchObject({
    sentAfterMs: 0,
    finishedAfterMs: 0,
  });
});

it('promises no more than the quota allows, and never that polls end before the sends', () => {
  const cases = fc.record({
    sends: fc.nat(100_000),
    polls: fc.nat(100_000),
    limit: fc.integer({ min: 1, max: 5_000 }),
    used: fc.double({ min: 0, max: 1, noNaN: true }),
    pollShare: fc.double({ min: 0, max: 0.9, noNaN: true }),
  });
  fc.assert(
    fc.property(cases, ({ sends, polls, limit, used, pollShare }) => {
      const spent = Math.floor(limit * used);
      const { sentAfterMs, finishedAfterMs } = estimateRemaining(sends, polls, {
        limit,
        windowMs: 1,
        used: spent,
        pollShare,
      });
      if (sentAfterMs === null || finishedAfterMs === null) throw new Error('the quota is known');
      expect(finishedAfterMs).toBeGreaterThanOrEqual(sentAfterMs);
      expect(limit - spent + finishedAfterMs * limit).toBeGreaterThanOrEqual(sends + polls);
      expect(limit - spent + sentAfterMs * limit).toBeGreaterThanOrEqual(sends);
    }),
  );
});
