/** Describes why a lane paused by itself: the code that the lane's scripts store, such as `throttled`. */
export function describePause(reason: string): string {
  switch (reason) {
    case 'throttled':
      return 'the service returned 429';
    case 'unreachable':
      return 'the service is unreachable or does not respond';
    default:
      return reason;
  }
}
