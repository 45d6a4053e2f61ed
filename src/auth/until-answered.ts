import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

/** Tries altogether: with the pauses between them long enough for a failover, short enough to tell a caller. */
const TRIES = 6;
const PAUSE_MS = (tries: number): number => Math.min(25 * 2 ** tries, 800);

/** What a server says while it starts or changes its role; it did not run the script then. */
const PASSING = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS) /;

/**
 * Runs a script that may safely run twice until it answers. A connection that breaks takes the answer with it, and
 * nobody can tell whether the script ran; one that hangs answers nothing for `answerWithinMs`. Errors of the script
 * itself, or an answer that cannot be read, are thrown at once, those of the connection after the last try.
 */
export async function untilAnswered<Answer>(
  run: () => Promise<Answer>,
  answerWithinMs: number,
): Promise<Answer> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await within(run(), answerWithinMs);
    } catch (error) {
      if (tries + 1 >= TRIES || !isOfTheConnection(error)) throw error;
      await delay(PAUSE_MS(tries));
    }
  }
}

async function within<Answer>(answer: Promise<Answer>, ms: number): Promise<Answer> {
  const timeout = new AbortController();
  const late = delay(ms, undefined, { signal: timeout.signal }).then(
    () => {
      throw new Error(`Redis did not answer within ${ms} ms`);
    },
    () => answer,
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    timeout.abort();
  }
}

function isOfTheConnection(error: unknown): boolean {
  if (error instanceof Error && error.name === 'ReplyError') return PASSING.test(error.message);
  return !(error instanceof z.ZodError);
}
