import { expect, test } from 'vitest';
import { createMemory } from '../../src/sending/recent-claims.js';

const polls = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ number: from + at, campaign: 'c', first: at }));

test('polls that were made right before Redis went away are told of, however long it was away', () => {
  let now = 0;
  const memory = createMemory(() => now);
  memory.asked(polls(1, 5));
  now = 60_000;
  memory.asked(polls(6, 7));
  now = 120_000;
  memory.asked([]);
  expect(memory.polls).toBe(7);
});
