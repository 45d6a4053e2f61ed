import { expect, test } from 'vitest';
import { createReadCache } from '../../src/recipients/read-cache.js';

/** A cache of two values that records what it reads. */
function recordingCache() {
  const read: string[] = [];
  const cached = createReadCache<string>(2);
  const get = (key: string): Promise<string> =>
    cached(key, async () => {
      read.push(key);
      return key.toUpperCase();
    });
  return { read, get };
}

test('The value that was used least recently is evicted', async () => {
  const { read, get } = recordingCache();
  for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) expect(await get(key)).toBe(key.toUpperCase());
  expect(read).toEqual(['a', 'b', 'c', 'b']);
});

test('Calls for a value that is being read share one read', async () => {
  const { read, get } = recordingCache();
  expect(await Promise.all([get('a'), get('a')])).toEqual(['A', 'A']);
  expect(read).toEqual(['a']);
});

test('A failed read is not kept', async () => {
  const cached = createReadCache<string>(2);
  const failed = cached('a', () => Promise.reject(new Error('Redis is away')));
  await expect(failed).rejects.toThrow('Redis is away');
  expect(await cached('a', async () => 'here')).toBe('here');
});
