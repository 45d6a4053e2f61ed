import { afterAll, expect, test } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { commandsRun } from '../../base/redis/commands-run.js';
import { privateRedis } from '../../base/redis/servers/private-redis.js';

const redis = connect((await privateRedis()).url);
afterAll(() => redis.disconnect());

test('Checking numbers takes one script with one read per list, and asks whether forgotten numbers stay suppressed', async () => {
  const list = suppression(redis, keyNames('t'));
  const numbers = Array.from({ length: 32 }, (_, at) => `+4477${10_000_000 + at}`);
  await list.add(numbers.slice(0, 1), SUPPRESSING);
  await list.areSuppressed('main', numbers);
  const before = await commandsRun(redis);
  expect((await list.areSuppressed('main', numbers)).filter(Boolean)).toHaveLength(1);
  expect((await commandsRun(redis)) - before).toBe(4);
});
