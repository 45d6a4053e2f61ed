import type { Redis } from './connection.js';

/** A call that was joined with others: its position among them, and the answer to all of them. */
interface JoinedCall<Answer> {
  readonly at: number;
  readonly answer: Promise<Answer>;
}

/** Calls that are joined at most, so that no command blocks Redis for long. */
const MAX_JOINED = 500;

/**
 * Joins the calls made in one turn of the event loop: `run` gets all of them at once. Hundreds of campaigns that are created at the
 * same time then share commands that each would otherwise send on its own.
 */
export function joinCalls<Call, Answer>(
  run: (calls: readonly Call[]) => Promise<Answer>,
): (call: Call) => JoinedCall<Answer> {
  let calls: Call[] = [];
  let answer: Promise<Answer> | undefined;
  return (call) => {
    if (answer === undefined || calls.length === MAX_JOINED) {
      const joined: Call[] = [];
      calls = joined;
      const started = new Promise<void>((resolve) => process.nextTick(resolve)).then(() => {
        if (calls === joined) answer = undefined;
        return run(joined);
      });
      answer = started;
    }
    calls.push(call);
    return { at: calls.length - 1, answer };
  };
}

/** Makes something once for each connection, such as {@link joinCalls}. */
export function perConnection<Made>(make: (redis: Redis) => Made): (redis: Redis) => Made {
  const made = new WeakMap<Redis, Made>();
  return (redis) => {
    const known = made.get(redis) ?? make(redis);
    made.set(redis, known);
    return known;
  };
}
