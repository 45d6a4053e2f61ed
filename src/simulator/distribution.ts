import { z } from 'zod';
import type { Random } from '../clock.js';

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

/** How long something takes: in an options object either a number (fixed, ms) or one of the three kinds. */
export const distributionSchema = z.preprocess(
  (given) => (typeof given === 'number' ? { kind: 'fixed', ms: given } : given),
  shape,
);

/** A distribution of times; all times in ms. `sigma` is the standard deviation of the logarithm. */
export type Distribution = z.output<typeof shape>;

/** One time drawn from the distribution, in whole ms, 0 or more. A fixed time draws nothing from `random`. */
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

/** Box-Muller; 1 - u keeps the logarithm away from zero. */
function standardNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
