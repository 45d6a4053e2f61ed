/** What a server says while it starts, is full or changes its role; what it was asked it did not do then. */
const PASSING =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|BUSY|MISCONF|UNKILLABLE)\b/;

/** What ioredis and `untilAnswered` say where no server answered at all. */
const SILENT = /^(Connection is closed|Redis did not answer|Stream isn't writeable)/;

/** Whether a server's reply says that it may well do later what it was asked. */
export function isPassing({ name, message }: Error): boolean {
  return name === 'ReplyError' && PASSING.test(message);
}

/** Whether an error says that Redis is away, or not able for now, and nothing of what it was asked. */
export function isUnanswered(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'RedisUnavailableError') return true;
  if (error.name === 'MaxRetriesPerRequestError' || error.name === 'ClusterAllFailedError') return true;
  // A transaction is refused for what was said to its commands.
  if ('previousErrors' in error && Array.isArray(error.previousErrors) && error.previousErrors.length > 0) {
    return error.previousErrors.every(isUnanswered);
  }
  return isPassing(error) || (error.name !== 'ReplyError' && SILENT.test(error.message));
}
