import { randomUUID } from 'node:crypto';
import { openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

/** Wall-clock time of this process, in milliseconds since the epoch. Passed in, so that tests control it. */
export type Clock = () => number;

/** Returns a uniformly distributed number in [0, 1). Passed in, so that tests control it. */
export type Random = () => number;

/** Calls `ring` once after `ms` and returns a function that cancels it. Passed in together with the clocks. */
export type Alarm = (ms: number, ring: () => void) => () => void;

/** The clocks, timers, and randomness of the machine. The simulation gives each process its own. */
export interface Machine {
  /** The wall clock. */
  readonly clock: Clock;
  readonly monotonic: Clock;
  /** Time since the machine was started, ms. Unlike the monotonic clock, it usually counts the time in which it was suspended. */
  readonly uptime: Clock;
  /**
   * Makes the next use of `uptime` read it: one that was read a moment ago may be from before a suspension in which the other clocks stood
   * still. Default: each use reads it.
   */
  readonly renewUptime?: () => void;
  readonly alarm: Alarm;
  readonly random: Random;
  /** Returns a unique name. */
  nonce(): string;
}

/** The system's wall clock. */
export const systemClock: Clock = () => Date.now();

/** A clock in ms that never runs backwards. Only differences are meaningful. */
export const monotonicClock: Clock = () => performance.now();

/**
 * The time since the machine was started, in s. Node opens, reads, and closes a file for each reading. On Linux, this keeps it open, which takes
 * a quarter of the time.
 */
export function uptimeReader(path = '/proc/uptime'): () => number {
  const text = Buffer.alloc(64);
  let file: number | undefined;
  let isReadable = true;
  return () => {
    if (!isReadable) return uptime();
    try {
      file ??= openSync(path, 'r');
      const seconds = Number.parseFloat(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)));
      if (Number.isFinite(seconds)) return seconds;
    } catch {
      // Other systems have no such file.
    }
    isReadable = false;
    return uptime();
  };
}

/** Reading the uptime is a call to the system, so it is read at most once a millisecond, unless it is renewed. */
const UPTIME_FOR_MS = 1;

/** The time since the machine was started, in ms: `CLOCK_BOOTTIME` on Linux. `read`: the same in s. */
export function uptimeClock(
  read: () => number = uptimeReader(),
  monotonic: Clock = monotonicClock,
): Required<Pick<Machine, 'uptime' | 'renewUptime'>> {
  let [value, readAt] = [0, Number.NEGATIVE_INFINITY];
  return {
    uptime() {
      const now = monotonic();
      if (now - readAt >= UPTIME_FOR_MS) [value, readAt] = [read() * 1_000, now];
      return value;
    },
    renewUptime() {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** The system's timers; at most 2³¹ − 1 ms. */
export const systemAlarm: Alarm = (ms, ring) => {
  const timer = setTimeout(ring, ms);
  return () => clearTimeout(timer);
};

/** The same, but a timer that has not fired does not keep the process alive. */
export const backgroundAlarm: Alarm = (ms, ring) => {
  const timer = setTimeout(ring, ms).unref();
  return () => clearTimeout(timer);
};

/** The real machine. */
export const systemMachine: Machine = {
  clock: systemClock,
  monotonic: monotonicClock,
  ...uptimeClock(),
  alarm: systemAlarm,
  random: Math.random,
  nonce: randomUUID,
};

/** The clocks that show how much time has passed. */
export type Clocks = Pick<Machine, 'clock' | 'monotonic' | 'uptime'>;

/** The ms that have passed since it was started. */
export type Stopwatch = () => number;

/**
 * Starts a stopwatch that also counts the time in which the machine is suspended. It returns the longest of the times that the three
 * clocks show: the monotonic clock stands still during a suspension, the uptime does not on most machines, and the wall clock is
 * corrected afterwards. A wall clock that is set back shows the shortest time and is thus ignored; one that is set forward makes the
 * result too long.
 */
export function startStopwatch({ clock, monotonic, uptime: bootTime }: Clocks): Stopwatch {
  const [clockAt, monotonicAt, uptimeAt] = [clock(), monotonic(), bootTime()];
  return () => Math.max(monotonic() - monotonicAt, clock() - clockAt, bootTime() - uptimeAt);
}

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
