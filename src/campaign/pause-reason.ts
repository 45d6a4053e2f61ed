/** Version 0.1.0 stored it as the cause. */
const RETURNED_429 = 'the service returned 429';

/**
 * Describes why a lane paused by itself. `reason` is the code that the lane's scripts store, such as `throttled`; `cause` is the last
 * failure, such as "cannot resolve host api.example (ENOTFOUND)", or what the service wrote; it may be empty.
 */
export function describePause(reason: string, cause: string): string {
  switch (reason) {
    case 'throttled':
      return cause === '' || cause === RETURNED_429 ? RETURNED_429 : `${RETURNED_429}: ${cause}`;
    case 'unreachable':
      return cause === ''
        ? 'the service is unreachable or does not respond'
        : `the service is unreachable or does not respond: ${cause}`;
    default:
      return reason;
  }
}
