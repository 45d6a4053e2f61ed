import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/tools/simulator/random.js';
import { privateRedis } from '../../base/redis/private-redis.js';
import { ATTACKS } from '../attacks.js';
import { runAttack } from '../run-scenario.js';

/** Declares a test of each of these attacks, in its brief form. Call it at the top level of a test file, with `await`. */
export async function attackTests(...names: readonly string[]): Promise<void> {
  const redis = await privateRedis();
  for (const attack of ATTACKS.filter(({ name }) => names.includes(name))) {
    test(attack.promise, { timeout: 240_000 }, async () => {
      const { seed } = attack;
      const means = { redis, times: attack.times.brief, seed, random: seededRandom(seed), note: () => {} };
      const { violations, shown, figures } = await runAttack(attack, means, join(tmpdir(), 'volley-faults'));
      console.info(JSON.stringify({ ...shown, ...figures }));
      expect(violations.map(({ check, what }) => `${check}: ${what}`)).toEqual([]);
    });
  }
}
