import { type Alarm, pause, systemAlarm, within } from '../clock.js';
import { isTransient } from './unavailable.js';

const PAUSE_MS = (tries: number): number => Math.min(25 * 2 ** tries, 800);
const ANSWER_WITHIN_MS = 5_000;

/** How long to retry. */
export interface RetryOptions {
  /** A stopped server keeps the connection open and does not answer: after so many ms, retry. Default 5 s. */
  readonly answerWithinMs?: number;
  /** Tries in total; default: unlimited. */
  readonly tries?: number;
  /** Ends the waiting when it fires. */
  readonly signal?: AbortSignal;
  readonly alarm?: Alarm;
}

/** Names of errors that retrying cannot fix: an invalid configuration, damaged data, or a bug. */
const PERMANENT = new Set([
  'ConfigError',
  'DamagedError',
  'ZodError',
  'TypeError',
  'RangeError',
  'SyntaxError',
]);

/**
 * Retries something on Redis that may safely run twice until Redis answers: when a connection breaks, it is unknown whether the
 * script ran. Throws errors of the script or of this program at once, and connection errors after the last try.
 */
export async function untilAnswered<Answer>(
  run: () => Promise<Answer>,
  {
    answerWithinMs = ANSWER_WITHIN_MS,
    tries = Number.POSITIVE_INFINITY,
    signal,
    alarm = systemAlarm,
  }: RetryOptions = {},
): Promise<Answer> {
  for (let done = 1; ; done += 1) {
    try {
      return await within(answerWithinMs, run(), {
        alarm,
        late: `Redis did not answer within ${answerWithinMs} ms`,
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (done >= tries || !isRetryable(error)) throw error;
      await pause(alarm, PAUSE_MS(done - 1), signal);
    }
  }
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  return error.name === 'ReplyError' ? isTransient(error) : !PERMANENT.has(error.name);
}
