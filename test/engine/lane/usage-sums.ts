import type { Redis } from '../../../src/base/redis/connection.js';
import { USAGE_OUTCOMES } from '../../../src/engine/lane/usage.js';
import { ACCEPTED_STATES } from '../../../src/engine/recipients/costs.js';

/** The usage of a lane on all days together: messages, segments, micros, and the outcomes. */
export async function usageSums(redis: Redis, prefix: string, lane: string): Promise<number[]> {
  const sums = [0, 0, 0, ...USAGE_OUTCOMES.map(() => 0)];
  for (const key of await redis.keys(`{${prefix}:${lane}}:usage:*`)) {
    const stored = (await redis.hget(key, ' ')) ?? '';
    for (const [at, number] of stored.split(' ').entries()) sums[at] = (sums[at] ?? 0) + Number(number);
  }
  return sums;
}

/** What they must be, given the campaigns, and what each of their messages is charged for. */
export function usageOf(
  states: readonly { readonly counts: Readonly<Record<string, number>> }[],
  charge: readonly [segments: number, micros: number],
): number[] {
  const count = (state: string): number => states.reduce((sum, { counts }) => sum + (counts[state] ?? 0), 0);
  const accepted = ACCEPTED_STATES.reduce((sum, state) => sum + count(state), 0);
  return [accepted, ...charge.map((each) => each * accepted), ...USAGE_OUTCOMES.map(count)];
}
