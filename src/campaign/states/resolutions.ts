/*
 * What an operator can do about a request whose outcome is unknown, in the words that the command line and the console show.
 */

/** What each way to settle such a request does. `recipients`: `3 recipients`. */
export const RESOLUTIONS = {
  resend: (recipients: string) =>
    `The message to ${recipients} is sent again. People who got it the first time get it twice.`,
  accepted: (recipients: string) =>
    `The message to ${recipients} counts as sent, and nothing more is sent to them. If a delivery report still comes, it counts; without one, the message stays “never confirmed”.`,
  abandon: (recipients: string) =>
    `The message to ${recipients} counts as not sent, for good: it is not sent again, and a report that comes later changes nothing.`,
} as const;

/** What became of requests that were settled; follows their number. */
export const RESOLVED = {
  resend: 'will be sent again',
  abandon: 'counted as not sent',
  accepted: 'counted as sent, without a delivery report',
} as const;

/**
 * From when a request can be sent again. Its worker does not send it any more then, so that the two do not overlap; whether the service has
 * accepted the first one stays unknown.
 */
export const RESEND_POSSIBLE = {
  label: 'can be sent again',
  now: 'now',
  later: 'until then, its worker may still send the request',
} as const;
