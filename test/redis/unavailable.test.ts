import { describe, expect, test } from 'vitest';
import { isTransient, isUnavailable } from '../../src/redis/unavailable.js';

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
      expect([isTransient(told), isUnavailable(told)]).toEqual([true, true]);
    },
  );

  test('finds a fault has answered', () => {
    expect([isTransient(WRONG_TYPE), isUnavailable(WRONG_TYPE)]).toEqual([false, false]);
  });

  test('refuses a transaction is away if it was for each of its commands', () => {
    const refused = (...previousErrors: Error[]): Error =>
      error('ReplyError', 'EXECABORT Transaction discarded because of previous errors.', { previousErrors });
    expect(isUnavailable(refused(LOADING, LOADING))).toBe(true);
    expect(isUnavailable(refused(LOADING, WRONG_TYPE))).toBe(false);
  });
});

test('silence is told apart from a fault of our own', () => {
  expect(isUnavailable(error('Error', 'Connection is closed.'))).toBe(true);
  expect(isUnavailable(error('Error', 'Redis did not answer within 3000 ms'))).toBe(true);
  expect(isUnavailable(error('TypeError', 'Cannot read properties of undefined'))).toBe(false);
  expect(isUnavailable('Connection is closed.')).toBe(false);
});
