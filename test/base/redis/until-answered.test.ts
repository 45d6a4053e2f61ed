import { expect, test } from 'vitest';
import { untilAnswered } from '../../../src/base/redis/until-answered.js';

function replyError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}

/** Fails with each of the errors in turn, then answers. */
function failing(...errors: Error[]) {
  let calls = 0;
  const run = async (): Promise<string> => {
    calls += 1;
    const error = errors.shift();
    if (error !== undefined) throw error;
    return 'answer';
  };
  return { run, calls: () => calls };
}

test('a command is retried after a broken connection or a transient error', async () => {
  const { run } = failing(new Error('Connection is closed.'), replyError('LOADING Redis is loading'));
  expect(await untilAnswered(run)).toBe('answer');
});

test('a command that never gets an answer is retried', async () => {
  let calls = 0;
  const run = (): Promise<string> => {
    calls += 1;
    return calls === 1 ? new Promise(() => {}) : Promise.resolve('answer');
  };
  expect(await untilAnswered(run, { answerWithinMs: 20 })).toBe('answer');
});

test('an error of the script is thrown without a retry', async () => {
  const { run, calls } = failing(replyError('ERR user_script:1: a bug'));
  await expect(untilAnswered(run)).rejects.toThrow('a bug');
  expect(calls()).toBe(1);
});

test('the error of a connection that stays broken is thrown after the last try', async () => {
  const { run, calls } = failing(...Array.from({ length: 20 }, () => new Error('Connection is closed.')));
  await expect(untilAnswered(run, { tries: 6 })).rejects.toThrow('Connection is closed.');
  expect(calls()).toBe(6);
});
