import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/tools/simulator/rules/random.js';
import { privateRedis } from '../../base/redis/servers/private-redis.js';
import type { Figures } from '../figures.js';
import { runAttack } from '../run-scenario.js';
import type { Attack, KillableRedis } from './attack.js';

/** Declares a test of each of these attacks, in its brief form. Call it at the top level of a test file, with `await`. */
export async function attackTests(...attacks: readonly Attack[]): Promise<void> {
  const redis = await privateRedis();
  for (const attack of attacks)
    test(attack.promise, { timeout: 480_000 }, async () => void (await keepsPromise(attack, redis)));
}

/** Runs an attack, and expects that no promise is broken. */
export async function keepsPromise(
  attack: Attack,
  redis: KillableRedis,
  times = attack.times.brief,
): Promise<Figures> {
  const { seed } = attack;
  const folder = await mkdtemp(join(tmpdir(), 'volley-attack-'));
  const means = { redis, times, seed, random: seededRandom(seed), note: () => {} };
  const { violations, shown, figures } = await runAttack(attack, means, folder);
  console.info(JSON.stringify({ ...shown, ...figures }));
  expect(violations.map(({ check, what }) => `${check}: ${what}`).join('\n')).toBe('');
  await rm(folder, { recursive: true });
  return figures;
}
