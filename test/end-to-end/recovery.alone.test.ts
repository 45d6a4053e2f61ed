import { expect, test } from 'vitest';
import { NIGHTLY } from '../base/parts.js';
import { privateRedis } from '../base/redis/servers/private-redis.js';
import { keepsPromise } from '../faults/attacks/attack-tests.js';
import { path } from '../faults/attacks/path.js';

const redis = await privateRedis();

test('A lane sends again at most 15 s after the only process that sends was killed', {
  timeout: 180_000,
}, async () => {
  const { recoveryMs } = await keepsPromise(path, redis, NIGHTLY ? 3 : 1);
  expect(recoveryMs.median).toBeGreaterThan(0);
  expect(recoveryMs.max).toBeLessThanOrEqual(15_000);
});
