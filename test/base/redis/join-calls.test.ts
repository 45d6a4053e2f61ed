import { expect, test } from 'vitest';
import { joinCalls } from '../../../src/base/redis/join-calls.js';

test('Calls of one turn of the event loop are joined, and each knows its position', async () => {
  const runs: string[][] = [];
  const join = joinCalls(async (calls: readonly string[]) => {
    runs.push([...calls]);
    return calls.join('');
  });
  const first = ['a', 'b', 'c'].map(join);
  expect(first.map(({ at }) => at)).toEqual([0, 1, 2]);
  expect(await Promise.all(first.map(({ answer }) => answer))).toEqual(['abc', 'abc', 'abc']);
  const next = join('d');
  expect([next.at, await next.answer]).toEqual([0, 'd']);
  expect(runs).toEqual([['a', 'b', 'c'], ['d']]);
});

test('No more than 500 calls are joined', async () => {
  const sizes: number[] = [];
  const join = joinCalls(async (calls: readonly number[]) => void sizes.push(calls.length));
  const calls = Array.from({ length: 501 }, (_, at) => join(at));
  await Promise.all(calls.map(({ answer }) => answer));
  expect(sizes).toEqual([500, 1]);
  expect(calls.at(-1)?.at).toBe(0);
});

test('A failure reaches every call that was joined, and no later one', async () => {
  const join = joinCalls(async ([first]: readonly string[]) => {
    if (first === 'bad') throw new Error('refused');
    return 'fine';
  });
  const failed = [join('bad'), join('other')];
  for (const { answer } of failed) await expect(answer).rejects.toThrow('refused');
  expect(await join('good').answer).toBe('fine');
});
