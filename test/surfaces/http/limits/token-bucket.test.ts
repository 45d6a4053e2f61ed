import { expect, test } from 'vitest';
import { TokenBucket } from '../../../../src/surfaces/http/limits/token-bucket.js';

test('A bucket allows as many tokens at once as a minute, and then returns them one by one', () => {
  let now = 0;
  const bucket = new TokenBucket(60, () => now);
  const takeAll = (): number => {
    let taken = 0;
    while (bucket.take()) taken += 1;
    return taken;
  };
  expect(takeAll()).toBe(60);
  expect([bucket.secondsUntil(1), bucket.secondsUntil(60)]).toEqual([1, 60]);
  now = 999;
  expect(takeAll()).toBe(0);
  now = 5_000;
  expect(takeAll()).toBe(5);
  now = 1_000_000;
  expect(takeAll()).toBe(60);
});

test('A debt has to be paid back before the next token', () => {
  let now = 0;
  const bucket = new TokenBucket(60, () => now);
  bucket.spend(180);
  expect([bucket.left(), bucket.take(), bucket.secondsUntil(1)]).toEqual([-120, false, 121]);
  now = 121_000;
  expect(bucket.take()).toBe(true);
});
