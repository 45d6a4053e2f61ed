/**
 * For what may be asked for by many at once and whose answer is the same for all: at most one runs at a time, and whoever
 * asks meanwhile shares the next, which begins after he has asked. So no answer is older than its question.
 */
export function singleFlight<Answer>(run: () => Promise<Answer>): () => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<Answer> | undefined;
  return () => {
    next ??= last.then(() => {
      next = undefined;
      const answer = run();
      last = answer.catch(() => {});
      return answer;
    });
    return next;
  };
}
