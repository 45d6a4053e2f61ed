import { expect, test } from 'vitest';
import { untilAnswered } from '../../src/redis/until-answered.js';

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

test('what a broken connection or a server in transition rejects is asked again', async () => {
  const { run } = failing(new Error('Connection is closed.'), replyError('LOADING Redis is loading'));
  expect(await untilAnswered(run)).toBe('answer');
});

test('what never settles is asked again', async () => {
  let calls = 0;
  const run = (): Promise<string> => {
    calls += 1;
    return calls === 1 ? new Promise(() => {}) : Promise.resolve('answer');
  };
  expect(await untilAnswered(run, { answerWithinMs: 20 })).toBe('answer');
});

test('an error of the script itself is thrown at once', async () => {
  const { run, calls } = failing(replyError('ERR user_script:1: a bug'));
  await expect(untilAnswered(run)).rejects.toThrow('a bug');
  expect(calls()).toBe(1);
});

test('a connection that stays broken is given up, with its own error', async () => {
  const { run, calls } = failing(...Array.from({ length: 20 }, () => new Error('Connection is closed.')));
  await expect(untilAnswered(run, { tries: 6 })).rejects.toThrow('Connection is closed.');
  expect(calls()).toBe(6);
});
