/** Version 0.1.0 stored it as the reason. */
const RETURNED_429 = 'the service returned 429';

/**
 * Describes why a lane backs off. `cause` is the code that the lane's scripts store, such as `throttled`; `reason` is the last failure,
 * such as "cannot resolve host api.example (ENOTFOUND)", or what the service wrote; it may be empty.
 */
export function describeBackoff(cause: string, reason: string): string {
  switch (cause) {
    case 'throttled':
      return reason === '' || reason === RETURNED_429 ? RETURNED_429 : `${RETURNED_429}: ${reason}`;
    case 'unreachable':
      return reason === ''
        ? 'the service is unreachable or does not respond'
        : `the service is unreachable or does not respond: ${reason}`;
    default:
      return cause;
  }
}
