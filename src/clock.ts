import { randomUUID } from 'node:crypto';

/** Wall-clock time of this process, in milliseconds since the epoch. Passed in, so that tests and simulations own it. */
export type Clock = () => number;

/** A uniformly distributed number in [0, 1). Passed in wherever chance plays a part. */
export type Random = () => number;

/** Rings after so many ms, once; what it returns calls that off. Passed in with the clocks, because it goes by them. */
export type Alarm = (ms: number, ring: () => void) => () => void;

/** What a process has of the machine that it runs on. A simulation gives each of its processes one of its own. */
export interface Machine {
  readonly clock: Clock;
  readonly monotonic: Clock;
  readonly alarm: Alarm;
  readonly random: Random;
  /** A name that nothing else has. */
  nonce(): string;
}

/** The clock of the machine. */
export const systemClock: Clock = () => Date.now();

/** Milliseconds that never run backwards and do not jump with the wall clock; only differences mean anything. */
export const monotonicClock: Clock = () => performance.now();

/** The timers of the machine; at most 2³¹ − 1 ms. */
export const systemAlarm: Alarm = (ms, ring) => {
  const timer = setTimeout(ring, ms);
  return () => clearTimeout(timer);
};

/** The machine itself. */
export const systemMachine: Machine = {
  clock: systemClock,
  monotonic: monotonicClock,
  alarm: systemAlarm,
  random: Math.random,
  nonce: randomUUID,
};

/** Resolves after so many ms; rejects with the signal's reason when that fires first. */
export function pause(alarm: Alarm, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const silence = alarm(ms, () => {
      signal?.removeEventListener('abort', breakOff);
      resolve();
    });
    const breakOff = (): void => {
      silence();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', breakOff, { once: true });
  });
}

/**
 * The answer, or a rejection with an Error that says `late` when there is none after so many ms. What was asked goes on:
 * nobody waits for it any more.
 */
export function within<Answer>(
  ms: number,
  answer: Promise<Answer>,
  { alarm = systemAlarm, late = `no answer within ${ms} ms` }: { alarm?: Alarm; late?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const silence = alarm(ms, () => reject(new Error(late)));
    answer.then(resolve, reject).finally(silence);
  });
}

/** The answer, or a rejection with the signal's reason when that fires first. What was asked goes on. */
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
