import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readLua } from '../../src/base/redis/script.js';
import { testRedis } from '../base/redis/test-redis.js';

const { redis } = testRedis('lua-scripts');
const SRC = new URL('../../src/', import.meta.url);

/** Scripts, unlike what they include, have KEYS or ARGV in their headers. */
const scripts = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.lua'))
  .filter((path) => /^ {2}(KEYS|ARGV)\b/m.test(readFileSync(new URL(path, SRC), 'utf8')));

// With everything that it includes, a script may have at most 200 local variables.
test.each(scripts)('Redis compiles %s', async (path) => {
  const source = readLua(new URL(path, SRC));
  expect(await redis.script('LOAD', source)).toMatch(/^[0-9a-f]{40}$/);
});

// Debian's Redis accepts it. Redis as its authors build it, such as in the official image, does not compile the script.
test.each(scripts)('No long comment of %s contains an opening bracket of another', (path) => {
  const comments = readLua(new URL(path, SRC)).matchAll(/^--\[\[(.*?)\]\]/gms);
  expect([...comments].map(([, text = '']) => text).filter((text) => text.includes('[['))).toEqual([]);
});

test('There are scripts to compile', () => {
  expect(scripts.length).toBeGreaterThan(40);
});
