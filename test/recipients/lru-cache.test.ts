import { expect, test } from 'vitest';
import { atHand } from '../../src/recipients/lru-cache.js';

/** What was read, in order. */
function reader() {
  const read: string[] = [];
  const lately = atHand<string>(2);
  const get = (name: string): Promise<string> =>
    lately(name, async () => {
      read.push(name);
      return name.toUpperCase();
    });
  return { read, get };
}

test('what was used longest ago makes room', async () => {
  const { read, get } = reader();
  for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) expect(await get(name)).toBe(name.toUpperCase());
  expect(read).toEqual(['a', 'b', 'c', 'b']);
});

test('who asks while it is read shares the reading', async () => {
  const { read, get } = reader();
  expect(await Promise.all([get('a'), get('a')])).toEqual(['A', 'A']);
  expect(read).toEqual(['a']);
});

test('a reading that failed is not kept', async () => {
  const lately = atHand<string>(2);
  const broken = lately('a', () => Promise.reject(new Error('Redis is away')));
  await expect(broken).rejects.toThrow('Redis is away');
  expect(await lately('a', async () => 'here')).toBe('here');
});
