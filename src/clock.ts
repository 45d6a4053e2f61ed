import { randomUUID } from 'node:crypto';

/** Wall-clock time of this process, in milliseconds since the epoch. Passed in, so that tests control it. */
export type Clock = () => number;

/** Returns a uniformly distributed number in [0, 1). Passed in, so that tests control it. */
export type Random = () => number;

/** Calls `ring` once after `ms` and returns a function that cancels it. Passed in together with the clocks. */
export type Alarm = (ms: number, ring: () => void) => () => void;

/** The clocks, timers, and randomness of the machine. The simulation gives each process its own. */
export interface Machine {
  readonly clock: Clock;
  readonly monotonic: Clock;
  readonly alarm: Alarm;
  readonly random: Random;
  /** Returns a unique name. */
  nonce(): string;
}

/** The system's wall clock. */
export const systemClock: Clock = () => Date.now();

/** A clock in ms that never runs backwards. Only differences are meaningful. */
export const monotonicClock: Clock = () => performance.now();

/** The system's timers; at most 2³¹ − 1 ms. */
export const systemAlarm: Alarm = (ms, ring) => {
  const timer = setTimeout(ring, ms);
  return () => clearTimeout(timer);
};

/** The real machine. */
export const systemMachine: Machine = {
  clock: systemClock,
  monotonic: monotonicClock,
  alarm: systemAlarm,
  random: Math.random,
  nonce: randomUUID,
};

/** Resolves after `ms`; rejects with the signal's reason if that fires first. */
export function pause(alarm: Alarm, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const cancel = alarm(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Settles like `answer`, or rejects after `ms` with an Error whose message is `late`. The operation itself is not cancelled.
 */
export function within<Answer>(
  ms: number,
  answer: Promise<Answer>,
  { alarm = systemAlarm, late = `no answer within ${ms} ms` }: { alarm?: Alarm; late?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const cancel = alarm(ms, () => reject(new Error(late)));
    answer.then(resolve, reject).finally(cancel);
  });
}

/** Settles like `answer`, or rejects with the signal's reason if that fires first. The operation itself is not cancelled. */
export function unlessAborted<Answer>(
  answer: Promise<Answer>,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
