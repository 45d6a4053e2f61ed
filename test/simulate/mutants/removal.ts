import { sweepLane } from '../../../src/engine/recovery/sweep.js';
import type { Mutant } from './mutant.js';

/** Bugs in what is removed. */
export const REMOVAL_MUTANTS: readonly Mutant[] = [
  {
    name: 'campaigns past their retention are not removed',
    invariant: 10,
    why: 'their data stays in Redis',
    parts: {
      sweep: (lane, options, alive) => sweepLane(lane, { ...options, removeCampaign: async () => {} }, alive),
    },
  },
];
