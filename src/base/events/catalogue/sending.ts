import { entry, recipients, requests } from '../entry.js';
import { failure, id, number, oneOf, optional, prose, span, time } from '../field.js';

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

/** The recipients of a request, and where they belong. */
const batch = { lane: id, campaign: id, recipientCount: recipients } as const;

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
    (e) => `campaign ${e.campaign}: the service refused a request with ${e.recipientCount}: ${e.reason}`,
  ),
  'request.notSent': entry(
    'warn',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: a ${named(e.kind)} could not be sent: ${e.reason}`,
  ),
  'request.unknown': entry(
    'warn',
    { ...batch, request: id, reason: prose },
    (e) =>
      `campaign ${e.campaign}: request ${e.request} with ${e.recipientCount} has an unknown outcome: ${e.reason}`,
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
      `campaign ${e.campaign}: the service accepted request ${e.request} with ${e.recipientCount} but returned no request id, so Volley cannot ask for its delivery status`,
  ),
  'request.otherCorrelator': entry(
    'warn',
    { lane: id, sent: id, received: prose },
    (e) =>
      `lane ${e.lane}: the service accepted a request with clientCorrelator ${e.sent}, but answered with ${e.received}; it may not use our correlators, so check the lane's clientCorrelator setting`,
  ),
  'request.matched': entry(
    'info',
    { lane: id, campaign: id, request: id, requestId: id },
    (e) =>
      `campaign ${e.campaign}: a notification for request id ${e.requestId} matches request ${e.request}, which has an unknown outcome; Volley asks for its delivery status to confirm it`,
  ),
  'request.confirmed': entry(
    'info',
    { ...batch, request: id },
    (e) =>
      `campaign ${e.campaign}: the service confirmed that it accepted request ${e.request} with ${e.recipientCount}; its outcome was unknown`,
  ),
  'request.resolved': entry(
    'warn',
    {
      lane: id,
      campaign: id,
      as: oneOf('resend', 'abandon', 'accepted'),
      requests,
      recipientCount: recipients,
      actor: id,
    },
    (e) =>
      `campaign ${e.campaign}: ${e.actor} resolved ${e.requests} with an unknown outcome and ${e.recipientCount}: ${{ resend: 'they are sent again', abandon: 'they are given up', accepted: 'they count as sent, without a delivery report' }[e.as] ?? e.as}`,
  ),
  'request.unlistedStatus': entry(
    'warn',
    { lane: id, requestId: id, statuses: prose },
    (e) =>
      `lane ${e.lane}: request ${e.requestId} has a delivery status that the interface does not define (${e.statuses}); Volley treats it as not final`,
  ),

  'batch.split': entry(
    'info',
    { ...batch, batch: id, into: number },
    (e) =>
      `campaign ${e.campaign}: Volley divides batch ${e.batch} with ${e.recipientCount} into ${e.into} to find the recipient that the service refuses`,
  ),
  'recipient.rejected': entry(
    'info',
    { lane: id, campaign: id, position: number, reason: prose },
    (e) => `campaign ${e.campaign}: the service rejected recipient ${e.position}: ${e.reason}`,
  ),
  'recipient.contradicted': entry(
    'warn',
    // `position`: of the recipient in the list, starting at 1.
    { lane: id, campaign: id, position: number, kept: id, ignored: id },
    (e) =>
      `campaign ${e.campaign}: recipient ${e.position} of the list stays ${e.kept}; Volley ignores a later report that says ${e.ignored}`,
  ),
  'claim.overdue': entry(
    'warn',
    { ...batch, request: id, age: span },
    (e) =>
      `campaign ${e.campaign}: a worker began request ${e.request} with ${e.recipientCount} ${e.age} ago and never reported its outcome, which is now unknown`,
  ),
} as const;
