import { z } from 'zod';
import type { Random } from '../../../base/clock.js';

const ms = z.number().min(0).max(0xffff_fffe);

const shape = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('fixed'), ms }),
  z.strictObject({ kind: z.literal('uniform'), minMs: ms, maxMs: ms }),
  z.strictObject({
    kind: z.literal('lognormal'),
    medianMs: ms,
    sigma: z.number().min(0).max(10),
    maxMs: ms.optional(),
  }),
]);

/** A duration in the options: a number (fixed, ms) or one of three kinds of distribution. */
export const distributionSchema = z.preprocess(
  (value) => (typeof value === 'number' ? { kind: 'fixed', ms: value } : value),
  shape,
);

/** A distribution of durations in ms. `sigma` is the standard deviation of the logarithm. */
export type Distribution = z.output<typeof shape>;

/** Draws a duration in whole ms, at least 0. A fixed one draws nothing from `random`. */
export function sample(distribution: Distribution, random: Random): number {
  switch (distribution.kind) {
    case 'fixed':
      return distribution.ms;
    case 'uniform':
      return Math.round(distribution.minMs + random() * (distribution.maxMs - distribution.minMs));
    case 'lognormal': {
      const drawn = distribution.medianMs * Math.exp(distribution.sigma * standardNormal(random));
      return Math.round(Math.min(drawn, distribution.maxMs ?? 0xffff_fffe));
    }
    default:
      return distribution satisfies never;
  }
}

/** Box-Muller transform; 1 - u avoids the logarithm of zero. */
function standardNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
