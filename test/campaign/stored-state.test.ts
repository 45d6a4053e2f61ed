import { expect, test } from 'vitest';
import {
  parseStoredState,
  STORED_COUNT,
  STORED_MEMBER,
  STORED_STATE,
} from '../../src/campaign/stored-state.js';

test.each([
  ['members', STORED_MEMBER],
  ['states of a campaign', STORED_STATE],
  ['states of recipients', STORED_COUNT],
])('No two %s have the same stored name', (_, names) => {
  const stored = Object.values(names);
  expect(new Set(stored).size).toBe(stored.length);
});

test('A state is read under its stored names, and under the long names of an earlier version', () => {
  const long = {
    state: 'completed',
    total: 2,
    ordinals: 2,
    counts: { rejected: 1, deliveredToTerminal: 1 },
    weight: 4,
  };
  const short = { s: 'c', t: 2, o: 2, c: { R: 1, T: 1 }, weight: 4 };
  expect(parseStoredState(JSON.stringify(long))).toEqual(long);
  expect(parseStoredState(JSON.stringify(short))).toEqual(long);
});

test('What is not stored is a running campaign of one planned recipient', () => {
  expect(parseStoredState('{"l":5}')).toEqual({
    ...{ state: 'running', total: 1, ordinals: 1, counts: { planned: 1 }, launchAt: 5 },
  });
});
