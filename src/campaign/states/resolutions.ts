/*
 * What an operator can do about a request whose outcome is unknown, in the words that the command line and the console show.
 */

/** What each way to settle such a request does. `recipients`: `3 recipients`. */
export const RESOLUTIONS = {
  resend: (recipients: string) =>
    `The message to ${recipients} is sent again. If the service has accepted it the first time, it arrives twice.`,
  accepted: (recipients: string) => `The message to ${recipients} counts as sent, without a delivery report.`,
  abandon: (recipients: string) =>
    `The message to ${recipients} is given up: Volley neither sends it again nor waits for a report.`,
} as const;

/** What became of requests that were settled; follows their number. */
export const RESOLVED = {
  resend: 'will be sent again',
  abandon: 'given up',
  accepted: 'counted as sent, without a delivery report',
} as const;

/**
 * From when a request can be sent again. Its worker does not send it any more then, so that the two do not overlap; whether the service has
 * accepted the first one stays unknown.
 */
export const RESEND_POSSIBLE = {
  label: 'resend possible',
  now: 'now',
  later: 'until then, its worker may still send the request',
} as const;
