import { test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';
import { leavesRowsOut } from './left-out-rows.js';

const place = testRedis('left-out-many');

test('The first 100,000 duplicates and the first 100,000 invalid rows are stored, are paged through, and are removed with the campaign', () =>
  leavesRowsOut(place, 100_020));
