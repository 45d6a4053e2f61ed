import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { privateRedis } from '../base/redis/private-redis.js';
import { path } from '../faults/attacks/path.js';
import { runAttack } from '../faults/run-scenario.js';

const redis = await privateRedis();

test('A lane sends again at most 15 s after the only process that sends was killed, three times', {
  timeout: 180_000,
}, async () => {
  const means = { redis, times: 3, seed: 1, random: seededRandom(1), note: () => {} };
  const { violations, figures } = await runAttack(path, means, join(tmpdir(), 'volley-faults'));
  console.info(JSON.stringify(figures.recoveryMs));
  expect(violations).toEqual([]);
  expect(figures.recoveryMs.median).toBeGreaterThan(0);
  expect(figures.recoveryMs.max).toBeLessThanOrEqual(15_000);
});
