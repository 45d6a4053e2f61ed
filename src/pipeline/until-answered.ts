import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = (tries: number): number => Math.min(25 * 2 ** tries, 1_000);
const ANSWER_WITHIN_MS = 5_000;

/** Names of errors that no waiting mends: data that is not as it was written, or a fault of the code. */
const OWN = new Set(['DamagedError', 'ZodError', 'TypeError', 'RangeError', 'SyntaxError']);

/** What a server says while it starts, is full or changes its role; it did not run the script then. */
const PASSING =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|BUSY|MISCONF|UNKILLABLE)\b/;

/**
 * Runs something on Redis that may safely run twice, until it is answered: a request on the wire must be settled
 * however long Redis is away. An error of the script itself, or of this program, is thrown at once. A signal that fires ends the waiting.
 */
export async function untilAnswered<Answer>(
  run: () => Promise<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await within(run(), ANSWER_WITHIN_MS);
    } catch (error) {
      signal?.throwIfAborted();
      const isReply = error instanceof Error && error.name === 'ReplyError';
      if (isReply && !PASSING.test(error.message)) throw error;
      if (error instanceof Error && OWN.has(error.name)) throw error;
      await delay(PAUSE_MS(tries), undefined, signal ? { signal } : {});
    }
  }
}

/** A server that is stopped keeps the connection and says nothing; the question is put again then. */
async function within<Answer>(answer: Promise<Answer>, ms: number): Promise<Answer> {
  const late = new AbortController();
  try {
    return await Promise.race([
      answer,
      delay(ms, undefined, { signal: late.signal }).then(() => {
        throw new Error(`Redis did not answer within ${ms} ms`);
      }),
    ]);
  } finally {
    late.abort();
    answer.catch(() => {});
  }
}
