/**
 * Describes why a lane paused by itself. `reason` is the code that the lane's scripts store, such as `throttled`; `cause` is the last
 * failure, such as "cannot resolve host api.example (ENOTFOUND)".
 */
export function describePause(reason: string, cause: string): string {
  switch (reason) {
    case 'throttled':
      return 'the service returned 429';
    case 'unreachable':
      return cause === ''
        ? 'the service is unreachable or does not respond'
        : `the service is unreachable or does not respond: ${cause}`;
    default:
      return reason;
  }
}
