/**
 * Returns a function that runs `run` at most once at a time. Callers that arrive during a run share the next one, which starts
 * afterwards, so no caller gets a result that was read before its call.
 */
export function singleFlight<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  return () => {
    next ??= last.then(() => {
      next = undefined;
      const result = run();
      last = result.catch(() => {});
      return result;
    });
    return next;
  };
}
