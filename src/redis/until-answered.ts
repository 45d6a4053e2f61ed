import { type Alarm, pause, systemAlarm, within } from '../clock.js';
import { isPassing } from './unanswered.js';

const PAUSE_MS = (tries: number): number => Math.min(25 * 2 ** tries, 800);
const ANSWER_WITHIN_MS = 5_000;

/** How long something is asked again. */
export interface Patience {
  /** A server that is stopped keeps the connection and says nothing: after so many ms the question is put again. Default 5 s. */
  readonly answerWithinMs?: number;
  /** Tries altogether; without it there is no end to them. */
  readonly tries?: number;
  /** Ends the waiting when it fires. */
  readonly signal?: AbortSignal;
  readonly alarm?: Alarm;
}

/** Names of errors that no waiting mends: data that is not as it was written, or a fault of the code. */
const OWN = new Set(['DamagedError', 'ZodError', 'TypeError', 'RangeError', 'SyntaxError']);

/**
 * Runs something on Redis that may safely run twice, until it is answered: a connection that breaks takes the answer
 * with it, and nobody can tell whether the script ran. An error of the script itself, or of this program, is thrown at
 * once; those of the connection after the last try.
 */
export async function untilAnswered<Answer>(
  run: () => Promise<Answer>,
  {
    answerWithinMs = ANSWER_WITHIN_MS,
    tries = Number.POSITIVE_INFINITY,
    signal,
    alarm = systemAlarm,
  }: Patience = {},
): Promise<Answer> {
  for (let done = 1; ; done += 1) {
    try {
      return await within(answerWithinMs, run(), {
        alarm,
        late: `Redis did not answer within ${answerWithinMs} ms`,
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (done >= tries || !mayPass(error)) throw error;
      await pause(alarm, PAUSE_MS(done - 1), signal);
    }
  }
}

function mayPass(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  return error.name === 'ReplyError' ? isPassing(error) : !OWN.has(error.name);
}
