import { isPassing, isUnanswered } from './unanswered.js';

/**
 * Redis is away, or cannot do for now what it is asked: it starts, is full, or changes its role. Whether what was asked
 * was done before the connection broke is not known; every call may be repeated, `enqueue` with an idempotency key.
 * `cause`: what the connection said.
 */
export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError';
}

/**
 * The same object, whose methods reject with a {@link RedisUnavailableError} where the connection's own words would tell
 * a caller nothing: promises, and what is gone through step by step.
 */
export function saysUnavailable<Desk extends object>(desk: Desk): Desk {
  return new Proxy(desk, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => worded(Reflect.apply(member, target, given));
    },
  });
}

function worded(answer: unknown): unknown {
  if (answer instanceof Promise) return answer.catch(raise);
  return isIterable(answer) ? wordedRows(answer) : answer;
}

/** Step by step as it was: a generator around it would let nobody end it while a step is waited for. */
function wordedRows(rows: AsyncIterable<unknown>): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const steps = rows[Symbol.asyncIterator]();
      return {
        next: () => steps.next().catch(raise),
        return: async () => (await steps.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

function isIterable(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;
}

function raise(error: unknown): never {
  if (!isUnanswered(error) || error instanceof RedisUnavailableError) throw error;
  const message =
    error instanceof Error && isPassing(error)
      ? `Redis cannot do that now: ${error.message}`
      : 'Redis does not answer: check that it runs, and REDIS_URL';
  throw new RedisUnavailableError(message, { cause: error });
}
