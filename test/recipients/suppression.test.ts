import { expect, test } from 'vitest';
import { suppression } from '../../src/recipients/suppression.js';
import { keyNames } from '../../src/redis/keys.js';
import { testRedis } from '../redis/test-redis.js';

const { prefix, redis } = testRedis('suppression');
const open = (name: string) => suppression(redis, keyNames(`${prefix}-${name}`));

const number = (at: number): string => `+4477${10_000_000 + at}`;

test('Numbers are suppressed from when they are added until they are removed, and each change is counted', async () => {
  const list = open('changes');
  expect(await list.add([number(1), number(2), '+999999999999999'])).toBe(3);
  expect(await list.add([number(2), number(3)])).toBe(1);
  expect(await list.count()).toBe(4);
  const checked = [number(0), number(1), '+999999999999999', '+999999999999998'];
  expect(await list.areSuppressed(checked)).toEqual([false, true, true, false]);
  expect(await list.remove([number(1), number(7)])).toBe(1);
  expect(await list.areSuppressed([number(1), number(2)])).toEqual([false, true]);
});

test('More numbers than fit in one command can be added, checked, and listed', async () => {
  const list = open('many');
  const numbers = Array.from({ length: 2_500 }, (_, at) => number(at));
  expect(await list.add(numbers)).toBe(2_500);
  expect(await list.areSuppressed([...numbers, number(2_500)])).toEqual([...numbers.map(() => true), false]);
  const listed: string[] = [];
  for await (const each of list.list()) listed.push(each);
  expect(listed.sort()).toEqual(numbers.sort());
});

test('An empty list suppresses no numbers, and an empty request changes nothing', async () => {
  const list = open('empty');
  expect(await list.areSuppressed([number(1)])).toEqual([false]);
  expect(await list.areSuppressed([])).toEqual([]);
  expect(await list.add([])).toBe(0);
  for await (const each of list.list()) expect.unreachable(each);
});

test('A suppressed number takes eight bytes', async () => {
  await open('bytes').add([number(1)]);
  const [member] = await redis.smembersBuffer(keyNames(`${prefix}-bytes`).suppressed);
  expect(member).toHaveLength(8);
});
