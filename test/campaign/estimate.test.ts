import fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimate, requestsNeeded } from '../../src/campaign/estimate.js';

const HOUR = 3_600_000;
test('A request holds as many recipients of a shared message as the lane allows', () => {
  expect(requestsNeeded(1000, true, 100)).toBe(10);
  expect(requestsNeeded(1001, true, 100)).toBe(11);
  expect(requestsNeeded(7, true, 1)).toBe(7);
});

test('Each recipient of a personalised message takes a request', () => {
  expect(requestsNeeded(1001, false, 100)).toBe(1001);
});

test('A campaign without recipients needs no requests', () => {
  expect(requestsNeeded(0, true, 100)).toBe(0);
});

const quota = { limit: 1000, windowMs: HOUR, used: 0, pollShare: 0.2 };

test('Requests that the quota allows now take no time', () => {
  expect(estimate(400, 600, quota)).toEqual({
    requests: { send: 400, poll: 600, total: 1000 },
    sentAfterMs: 0,
    finishedAfterMs: 0,
  });
});

test('Sends get what the polls leave of each window, and the last polls get whole windows', () => {
  // 800 of 1000 are for sends: 800 now, the other 9,200 in twelve more windows. All 25,000 requests fill 25 windows.
  expect(estimate(10_000, 15_000, quota)).toEqual({
    requests: { send: 10_000, poll: 15_000, total: 25_000 },
    sentAfterMs: 12 * HOUR,
    finishedAfterMs: 24 * HOUR,
  });
});

test('No more of the quota is reserved for polls than they need', () => {
  expect(estimate(1000, 0, quota).sentAfterMs).toBe(0);
  expect(estimate(1001, 0, quota).sentAfterMs).toBe(HOUR);
  expect(estimate(1000, 100, quota).sentAfterMs).toBe(HOUR);
});

test('Requests already counted in the window delay the others', () => {
  expect(estimate(400, 600, { ...quota, used: 1 }).finishedAfterMs).toBe(HOUR);
  expect(estimate(1, 2, { ...quota, used: 1000 }).sentAfterMs).toBe(HOUR);
});

test('Without a known quota, the requests are estimated, but not the time', () => {
  expect(estimate(400, 600, { ...quota, limit: null })).toEqual({
    requests: { send: 400, poll: 600, total: 1000 },
    sentAfterMs: null,
    finishedAfterMs: null,
  });
});

test('No requests take no time, even if the quota is used up', () => {
  expect(estimate(0, 0, { ...quota, used: 1000 })).toMatchObject({
    sentAfterMs: 0,
    finishedAfterMs: 0,
  });
});

test('An estimate never exceeds the quota, and polls never end before sends', () => {
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
      const { sentAfterMs, finishedAfterMs } = estimate(sends, polls, {
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
