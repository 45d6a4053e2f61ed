/** Version 0.1.0 stored it as the reason. */
const RETURNED_429 = 'the service returned 429';
const UNREACHABLE = 'the service is unreachable or does not respond';

/**
 * Describes why a lane backs off. `cause` is the code that the lane's scripts store, such as `throttled`; `reason` is the last failure,
 * such as "cannot resolve host api.example (ENOTFOUND)", or what the service wrote; it may be empty.
 */
export function describeBackoff(cause: string, reason: string): string {
  switch (cause) {
    case 'throttled':
      return reason === '' || reason === RETURNED_429 ? RETURNED_429 : `${RETURNED_429}: ${reason}`;
    case 'unreachable':
      return reason === '' ? UNREACHABLE : `${UNREACHABLE}: ${reason}`;
    default:
      return cause;
  }
}

/** What the last failure adds to the description of its cause; null if nothing. */
export function detailsOfBackoff(cause: 'throttled' | 'unreachable', description: string): string | null {
  const begin = cause === 'throttled' ? RETURNED_429 : UNREACHABLE;
  const details = description.startsWith(`${begin}: `) ? description.slice(begin.length + 2) : '';
  return details === '' ? null : details;
}
