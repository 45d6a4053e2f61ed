import { expect, it } from 'vitest';
import { listMemory } from '../../src/http/list-memory.js';
import { Problem } from '../../src/http/problem.js';

const FIXED = 2_000_000;

/** Whether a promise has settled once everything that can run now has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

it('Lists that do not fit wait until others end, in any order', async () => {
  const memory = listMemory(3 * FIXED, 60_000);
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => memory.open());
  await first?.resize(0);
  await second?.resize(0);
  await third?.resize(0);
  const waiting = fourth?.resize(0) ?? Promise.reject();
  expect(await isSettled(waiting)).toBe(false);
  second?.close();
  await waiting;
  second?.close();
  const growing = third?.resize(1) ?? Promise.reject();
  expect(await isSettled(growing)).toBe(false);
  fourth?.close();
  await growing;
});

it('The oldest list never waits, so that lists that need more than there is end one after the other', async () => {
  const memory = listMemory(1, 60_000);
  const shares = Array.from({ length: 5 }, () => memory.open());
  const ended: number[] = [];
  await Promise.all(
    shares.map(async (share, at) => {
      for (let bytes = 0; bytes < 10; bytes++) await share.resize(bytes * 100);
      ended.push(at);
      share.close();
    }),
  );
  expect(ended).toEqual([0, 1, 2, 3, 4]);
});

it('A list that waits too long gets a 503, and one whose client disconnects stops waiting', async () => {
  const memory = listMemory(FIXED, 20);
  const [first, second, third] = Array.from({ length: 3 }, () => memory.open());
  await first?.resize(0);
  const error = await second?.resize(0).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '5' } });
  const gone = new AbortController();
  const waiting = listMemory(FIXED, 60_000);
  await waiting.open().resize(0);
  const stopped = waiting.open().resize(0, gone.signal);
  gone.abort(new Error('gone'));
  await expect(stopped).rejects.toThrow('gone');
  third?.close();
});

it('Memory that is returned can be used by others', async () => {
  const memory = listMemory(2 * FIXED, 60_000);
  const oldest = memory.open();
  await oldest.resize(0);
  for (let times = 0; times < 100; times++) {
    const share = memory.open();
    await share.resize(0);
    share.close();
    // A list that ends while it waits takes nothing.
    await share.resize(0);
  }
  expect(await isSettled(memory.open().resize(0))).toBe(true);
});
