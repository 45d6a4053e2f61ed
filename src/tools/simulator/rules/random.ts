import type { Random } from '../../../base/clock.js';

/**
 * A seeded generator (mulberry32): the same seed gives the same sequence, so that a run can be reproduced. It is fast and
 * uniform enough for faults and latencies, but not secure.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
