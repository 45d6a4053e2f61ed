import { expect, test } from 'vitest';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';

const polls = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ number: from + at, campaign: 'c', first: at }));

test('Polls made right before Redis became unavailable are counted, however long it is away', () => {
  let now = 0;
  const recent = recentClaims(() => now);
  recent.polled(polls(1, 5));
  now = 60_000;
  recent.polled(polls(6, 7));
  now = 120_000;
  recent.polled([]);
  expect(recent.polls).toBe(7);
});
