import { entry, recipients, requests } from '../entry.js';
import { failure, foreignId, id, number, oneOf, optional, prose, span, time } from '../field.js';

/** What the service wrote, if anything, at the end of a message. */
const after = (message: string): string => (message === '' ? '' : `: ${message}`);

const kind = oneOf('send', 'poll');
const named = (of: string): string => (of === 'poll' ? 'request for a delivery status' : 'send request');
const outcome = oneOf(
  'accepted',
  'infos',
  'missing',
  'throttled',
  'unauthorised',
  'stopped',
  'refused',
  'notSent',
  'unknown',
  'unanswered',
);

/** Whose request it is: a campaign's, or that of a message of an outbox. */
const source = {
  lane: id,
  campaign: optional(id, ''),
  outbox: optional(id, ''),
  message: optional(foreignId, ''),
} as const;
/** The recipients of a request, and where they belong. */
const batch = { ...source, recipientCount: recipients } as const;

/** Of a recipient in the list of its campaign, starting at 1; null for a message of an outbox. */
const position = optional(number, '');

/** The beginning of a log message: what the event is about. */
function about({ campaign, outbox, message }: { [Name in keyof typeof source]: string }): string {
  if (outbox === '') return `campaign ${campaign}`;
  return message === '' ? `outbox ${outbox}` : `outbox ${outbox}, message ${message}`;
}

/** Turns, requests, and what happens to their batches and recipients. */
export const SENDING_EVENTS = {
  'turn.ended': entry(
    'debug',
    { lane: id, kind, requests, took: span, next: optional(time, 'when the lane is woken'), reason: prose },
    (e) =>
      `lane ${e.lane}: a ${e.kind} turn ended after ${e.requests} in ${e.took} (${e.reason}); next turn: ${e.next}`,
  ),
  'turn.failed': entry(
    'error',
    { lane: id, kind, error: failure },
    (e) => `lane ${e.lane}: a ${e.kind} turn failed, and is tried again: ${e.error}`,
  ),

  'request.ended': entry(
    'trace',
    { lane: id, kind, outcome, took: span },
    (e) => `lane ${e.lane}: a ${named(e.kind)} ended after ${e.took}: ${e.outcome}`,
  ),
  'request.throttled': entry(
    'info',
    { lane: id, kind, retryAfter: optional(span, 'none'), reason: prose },
    (e) =>
      `lane ${e.lane}: the service returned 429 for a ${named(e.kind)} (Retry-After: ${e.retryAfter})${after(e.reason)}`,
  ),
  'request.unauthorised': entry(
    'debug',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: the service returned 401 for a ${named(e.kind)}: ${e.reason}`,
  ),
  'request.stopped': entry(
    'info',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: a ${named(e.kind)} failed and retrying cannot fix it: ${e.reason}`,
  ),
  'request.refused': entry(
    'warn',
    { ...batch, reason: prose },
    (e) => `${about(e)}: the service refused a request with ${e.recipientCount}: ${e.reason}`,
  ),
  'request.notSent': entry(
    'warn',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: a ${named(e.kind)} could not be sent: ${e.reason}`,
  ),
  'request.unknown': entry(
    'warn',
    { ...batch, request: id, reason: prose },
    (e) => `${about(e)}: request ${e.request} with ${e.recipientCount} has an unknown outcome: ${e.reason}`,
  ),
  'request.unanswered': entry(
    'debug',
    { lane: id, requestId: id, reason: prose },
    (e) =>
      `lane ${e.lane}: the service did not give the delivery status of request ${e.requestId}, and Volley asks again later: ${e.reason}`,
  ),
  'request.missing': entry(
    'debug',
    { lane: id, requestId: id, reason: prose },
    (e) => `lane ${e.lane}: the service does not know request ${e.requestId}${after(e.reason)}`,
  ),
  'request.unfollowable': entry(
    'warn',
    { ...batch, request: id },
    (e) =>
      `${about(e)}: the service accepted request ${e.request} with ${e.recipientCount} but returned no request id, so Volley cannot ask for its delivery status`,
  ),
  'request.otherCorrelator': entry(
    'warn',
    { lane: id, sent: id, received: prose },
    (e) =>
      `lane ${e.lane}: the service accepted a request with clientCorrelator ${e.sent}, but answered with ${e.received}; it may not use our correlators, so check the lane's clientCorrelator setting`,
  ),
  'request.matched': entry(
    'info',
    { ...source, request: id, requestId: id },
    (e) =>
      `${about(e)}: a notification for request id ${e.requestId} matches request ${e.request}, which has an unknown outcome; Volley asks for its delivery status to confirm it`,
  ),
  'request.confirmed': entry(
    'info',
    { ...batch, request: id },
    (e) =>
      `${about(e)}: the service confirmed that it accepted request ${e.request} with ${e.recipientCount}; its outcome was unknown`,
  ),
  'request.resolved': entry(
    'warn',
    {
      ...source,
      as: oneOf('resend', 'abandon', 'accepted'),
      requests,
      recipientCount: recipients,
      actor: id,
    },
    (e) =>
      `${about(e)}: ${e.actor} resolved ${e.requests} with an unknown outcome and ${e.recipientCount}: ${{ resend: 'they are sent again', abandon: 'they are given up', accepted: 'they count as sent, without a delivery report' }[e.as] ?? e.as}`,
  ),
  'request.unlistedStatus': entry(
    'warn',
    { lane: id, requestId: id, statuses: prose },
    (e) =>
      `lane ${e.lane}: request ${e.requestId} has a delivery status that the interface does not define (${e.statuses}); Volley treats it as not final`,
  ),

  'batch.split': entry(
    'info',
    { lane: id, campaign: id, recipientCount: recipients, batch: id, into: number },
    (e) =>
      `campaign ${e.campaign}: Volley divides batch ${e.batch} with ${e.recipientCount} into ${e.into} to find the recipient that the service refuses`,
  ),
  'recipient.rejected': entry(
    'info',
    { ...source, position, reason: prose },
    (e) =>
      `${about(e)}: the service rejected ${e.position === '' ? 'it' : `recipient ${e.position}`}: ${e.reason}`,
  ),
  'recipient.contradicted': entry(
    'warn',
    { ...source, position, kept: id, ignored: id },
    (e) =>
      `${about(e)}: ${e.position === '' ? 'it' : `recipient ${e.position} of the list`} stays ${e.kept}; Volley ignores a later report that says ${e.ignored}`,
  ),
  'claim.overdue': entry(
    'warn',
    { ...batch, request: id, age: span },
    (e) =>
      `${about(e)}: a worker began request ${e.request} with ${e.recipientCount} ${e.age} ago and never reported its outcome, which is now unknown`,
  ),
} as const;
