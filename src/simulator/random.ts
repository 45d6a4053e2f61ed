import type { Random } from '../clock.js';

/**
 * A seeded generator (mulberry32): the same seed gives the same run, so a fault found once can be found again.
 * Quick and even enough for faults and latencies; nothing secret is drawn from it.
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
