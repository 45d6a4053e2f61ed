import { describe, expect, test } from 'vitest';
import { isTransient, isUnavailable } from '../../../src/base/redis/unavailable.js';

function error(name: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name }, more);
}

const LOADING = error('ReplyError', 'LOADING Redis is loading the dataset in memory');
const WRONG_TYPE = error('ReplyError', 'WRONGTYPE Operation against a key holding the wrong kind of value');

describe('a reply of a server that', () => {
  test.each(['LOADING', 'READONLY', 'OOM', 'BUSY', 'MISCONF', 'UNKILLABLE'])(
    'answers %s is transient',
    (code) => {
      const reply = error('ReplyError', `${code} and why`);
      expect([isTransient(reply), isUnavailable(reply)]).toEqual([true, true]);
    },
  );

  test('has no key of a script, because a slot moves, is transient', () => {
    const reply = error('ReplyError', 'ERR Script attempted to access a non local key in a cluster node');
    expect([isTransient(reply), isUnavailable(reply)]).toEqual([true, true]);
  });

  test('rejects the command is an answer', () => {
    expect([isTransient(WRONG_TYPE), isUnavailable(WRONG_TYPE)]).toEqual([false, false]);
  });

  test('discards a transaction means unavailable only if every command failed for that reason', () => {
    const refused = (...previousErrors: Error[]): Error =>
      error('ReplyError', 'EXECABORT Transaction discarded because of previous errors.', { previousErrors });
    expect(isUnavailable(refused(LOADING, LOADING))).toBe(true);
    expect(isUnavailable(refused(LOADING, WRONG_TYPE))).toBe(false);
  });
});

test('a missing answer is distinguished from a bug', () => {
  expect(isUnavailable(error('Error', 'Connection is closed.'))).toBe(true);
  expect(isUnavailable(error('Error', 'Redis did not answer within 3000 ms'))).toBe(true);
  expect(isUnavailable(error('TypeError', 'Cannot read properties of undefined'))).toBe(false);
  expect(isUnavailable('Connection is closed.')).toBe(false);
});
