import { expect, test } from 'vitest';
import {
  delivered,
  failed,
  isDead,
  NEW_HEALTH,
  retryAfter,
} from '../../../src/reporting/webhooks/retry-plan.js';

const HOUR = 3_600_000;

test('Retries wait up to a fifth longer than planned, so that they do not arrive together', () => {
  expect(retryAfter(1, () => 0)).toBe(5_000);
  expect(retryAfter(1, () => 1)).toBe(6_000);
  expect(retryAfter(99, () => 1)).toBe(12 * HOUR);
});

test('A single failure does not begin the five days: the next one, more than a day later, does', () => {
  const once = failed(NEW_HEALTH, 'no response', 1);
  const again = failed(once, 'no response', 1 + 100 * HOUR);
  expect(again.failingSince).toBe(1 + 100 * HOUR);
  expect(isDead(again, 1 + 130 * HOUR)).toBe(false);
});

test('A success ends a series of failures, and keeps the size of requests', () => {
  const series = failed({ ...NEW_HEALTH, maxResults: 50 }, 'no response', 1);
  expect(delivered(series, 2)).toEqual({ ...NEW_HEALTH, lastDeliveredAt: 2, maxResults: 50 });
});
