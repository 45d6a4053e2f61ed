import { expect, it } from 'vitest';
import { listMemory } from '../../../../src/surfaces/http/limits/list-memory.js';
import { Problem } from '../../../../src/surfaces/http/server/problem.js';

/** What a list takes besides what grows with it. */
const FIXED = 2_000_000;
/** What all lists leave to the garbage collector. */
const GARBAGE = 32_000_000;
/** The other lists of a key may take one eighth. */
const ROOM_FOR_TWO = 2 * FIXED * 8;

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

it('Lists of a key that do not fit wait until others of the key end, in any order', async () => {
  const memory = listMemory(GARBAGE + ROOM_FOR_TWO, 60_000);
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => memory.open('a'));
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

it('A key that holds all it may leaves another key its own share, for its oldest list and for others', async () => {
  const max = ROOM_FOR_TWO;
  const memory = listMemory(GARBAGE + max, 60_000);
  const greedy = Array.from({ length: 50 }, () => memory.open('a'));
  const reserved = greedy.map((share, at) => share.resize(at === 0 ? (max * 3) / 8 - FIXED : 0));
  await Promise.all(reserved.slice(0, 3));
  expect(await isSettled(reserved[3] ?? Promise.reject())).toBe(false);
  await memory.open('b').resize((max * 3) / 8 - FIXED);
  await memory.open('b').resize(0);
  await memory.open('b').resize(0);
  expect(await isSettled(memory.open('b').resize(0))).toBe(false);
  for (const share of greedy) share.close();
  await Promise.all(reserved);
});

it('All lists together never take more than the memory, whatever keys send them', async () => {
  const max = ROOM_FOR_TWO;
  const memory = listMemory(GARBAGE + max, 60_000);
  let taken = 0;
  for (let key = 0; key < 20; key += 1) {
    for (const bytes of [(max * 3) / 8, max / 16, max / 16]) {
      const reserving = memory.open(String(key)).resize(bytes - FIXED);
      if (await isSettled(reserving)) taken += bytes;
    }
  }
  expect(taken).toBeGreaterThan(max / 2);
  expect(taken).toBeLessThanOrEqual(max);
});

it('The oldest list of all never waits, so that lists end one after the other', async () => {
  const memory = listMemory(GARBAGE + 8 * FIXED, 60_000);
  const shares = Array.from({ length: 5 }, (_, at) => memory.open(`key ${at % 2}`));
  const ended: number[] = [];
  await Promise.all(
    shares.map(async (share, at) => {
      for (let bytes = 0; bytes < 10; bytes++) await share.resize(bytes * 100_000);
      ended.push(at);
      share.close();
    }),
  );
  expect(ended).toHaveLength(5);
  expect(ended[0]).toBe(0);
});

it('A list that alone takes more than one list may is refused, even as the only one', async () => {
  const error = await listMemory(GARBAGE + ROOM_FOR_TWO, 60_000)
    .open('a')
    .resize((ROOM_FOR_TWO * 3) / 8)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'tooLarge', message: expect.stringContaining('more than 12 MB') });
});

it('A list that waits too long gets a 503, and one whose client disconnects stops waiting', async () => {
  const memory = listMemory(GARBAGE + 8 * FIXED, 20);
  const [first, second, third] = Array.from({ length: 3 }, () => memory.open('a'));
  await first?.resize(0);
  await second?.resize(0);
  const error = await third?.resize(0).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '5' } });
  const gone = new AbortController();
  const waiting = listMemory(GARBAGE + 8 * FIXED, 60_000);
  await waiting.open('a').resize(0);
  await waiting.open('a').resize(0);
  const stopped = waiting.open('a').resize(0, gone.signal);
  gone.abort(new Error('gone'));
  await expect(stopped).rejects.toThrow('gone');
  third?.close();
});

it('Memory that is returned can be used by others', async () => {
  const memory = listMemory(GARBAGE + 8 * FIXED, 60_000);
  await memory.open('a').resize(0);
  for (let times = 0; times < 100; times++) {
    const share = memory.open('a');
    await share.resize(0);
    share.close();
    // A list that ends while it waits takes nothing.
    await share.resize(0);
  }
  expect(await isSettled(memory.open('a').resize(0))).toBe(true);
});
