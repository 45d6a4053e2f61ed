/** Wall-clock time of this process, in milliseconds since the epoch. Passed in, so that tests and simulations own it. */
export type Clock = () => number;

/** A uniformly distributed number in [0, 1). Passed in wherever chance plays a part. */
export type Random = () => number;

/** The clock of the machine. */
export const systemClock: Clock = () => Date.now();

/** Milliseconds that never run backwards and do not jump with the wall clock; only differences mean anything. */
export const monotonicClock: Clock = () => performance.now();
