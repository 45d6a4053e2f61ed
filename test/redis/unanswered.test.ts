import { describe, expect, test } from 'vitest';
import { isPassing, isUnanswered } from '../../src/redis/unanswered.js';

function error(name: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name }, more);
}

const LOADING = error('ReplyError', 'LOADING Redis is loading the dataset in memory');
const WRONG_TYPE = error('ReplyError', 'WRONGTYPE Operation against a key holding the wrong kind of value');

describe('a server that', () => {
  test.each(['LOADING', 'READONLY', 'OOM', 'BUSY', 'MISCONF', 'UNKILLABLE'])(
    'says %s may do it later',
    (word) => {
      const told = error('ReplyError', `${word} and why`);
      expect([isPassing(told), isUnanswered(told)]).toEqual([true, true]);
    },
  );

  test('finds a fault has answered', () => {
    expect([isPassing(WRONG_TYPE), isUnanswered(WRONG_TYPE)]).toEqual([false, false]);
  });

  test('refuses a transaction is away if it was for each of its commands', () => {
    const refused = (...previousErrors: Error[]): Error =>
      error('ReplyError', 'EXECABORT Transaction discarded because of previous errors.', { previousErrors });
    expect(isUnanswered(refused(LOADING, LOADING))).toBe(true);
    expect(isUnanswered(refused(LOADING, WRONG_TYPE))).toBe(false);
  });
});

test('silence is told apart from a fault of our own', () => {
  expect(isUnanswered(error('Error', 'Connection is closed.'))).toBe(true);
  expect(isUnanswered(error('Error', 'Redis did not answer within 3000 ms'))).toBe(true);
  expect(isUnanswered(error('TypeError', 'Cannot read properties of undefined'))).toBe(false);
  expect(isUnanswered('Connection is closed.')).toBe(false);
});
