import { entry, recipients } from '../entry.js';
import { count, id, number, oneOf, optional, prose, span, time } from '../field.js';

const inFlight = count('request');

/** Campaigns, the schedules that create them, and outboxes. */
export const CAMPAIGN_EVENTS = {
  'campaign.imported': entry(
    'info',
    {
      lane: id,
      campaign: id,
      recipientCount: recipients,
      duplicates: count('duplicate'),
      invalid: number,
      suppressed: number,
      actor: id,
    },
    (e) =>
      `campaign ${e.campaign} was imported by ${e.actor}: ${e.recipientCount}, ${e.duplicates}, ${e.invalid} invalid, ${e.suppressed} suppressed`,
  ),
  'import.waiting': entry(
    'info',
    { lane: id, campaign: id },
    (e) =>
      `an import waits for that of campaign ${e.campaign}, which has the same list or idempotency key; if its process was killed, it is discarded after about 15 s`,
  ),
  'import.discarded': entry(
    'warn',
    { lane: id, campaign: id, reason: prose },
    (e) => `the import of campaign ${e.campaign} was discarded, and nothing of it is stored: ${e.reason}`,
  ),
  'campaign.launched': entry(
    'info',
    { lane: id, campaign: id, sendAt: time },
    (e) => `campaign ${e.campaign} was launched on lane ${e.lane}; sending starts at ${e.sendAt}`,
  ),
  'campaign.paused': entry(
    'warn',
    {
      lane: id,
      campaign: id,
      by: oneOf('operator', 'refusals'),
      actor: optional(id, 'the service'),
      inFlight,
    },
    (e) =>
      ({
        operator: `campaign ${e.campaign} was paused by ${e.actor} with ${e.inFlight} in flight`,
        refusals: `campaign ${e.campaign} was paused with ${e.inFlight} in flight, because the service refuses its requests`,
      })[e.by] ?? '',
  ),
  'outbox.paused': entry(
    'warn',
    { lane: id, outbox: id },
    (e) => `outbox ${e.outbox} was paused, because the service refuses its requests`,
  ),
  'campaign.resumed': entry(
    'info',
    { lane: id, campaign: id, actor: id },
    (e) => `campaign ${e.campaign} was resumed by ${e.actor}`,
  ),
  'campaign.cancelled': entry(
    'warn',
    { lane: id, campaign: id, inFlight, actor: id },
    (e) => `campaign ${e.campaign} was cancelled by ${e.actor} with ${e.inFlight} in flight`,
  ),
  'campaign.completed': entry(
    'info',
    { lane: id, campaign: id, recipientCount: recipients, took: span },
    (e) => `campaign ${e.campaign} is completed: ${e.recipientCount} in ${e.took}`,
  ),
  'retention.removed': entry(
    'info',
    { lane: id, campaign: id, recipientCount: recipients },
    (e) =>
      `campaign ${e.campaign} with ${e.recipientCount} was removed, because its retention period has ended`,
  ),
  'campaign.tooOld': entry(
    'warn',
    { lane: id, campaign: id, recipientCount: recipients },
    (e) =>
      `campaign ${e.campaign} reached the maximum age (MAX_CAMPAIGN_AGE): ${e.recipientCount} lapsed, were abandoned, or are unconfirmed`,
  ),

  'schedule.added': entry(
    'info',
    { lane: id, schedule: id, next: time, actor: id },
    (e) => `schedule ${e.schedule} was added by ${e.actor}; it is due first at ${e.next}`,
  ),
  'schedule.ran': entry(
    'info',
    { lane: id, schedule: id, sendAt: time, campaign: id },
    (e) => `schedule ${e.schedule}: the occurrence of ${e.sendAt} created campaign ${e.campaign}`,
  ),
  'schedule.skipped': entry(
    'warn',
    { lane: id, schedule: id, sendAt: time, campaign: id, reason: prose },
    (e) =>
      `schedule ${e.schedule}: the occurrence of ${e.sendAt} is skipped because of campaign ${e.campaign}: ${e.reason}`,
  ),
  'schedule.missed': entry(
    'warn',
    { lane: id, schedule: id, sendAt: time, occurrences: count('occurrence') },
    (e) =>
      `schedule ${e.schedule} has missed ${e.occurrences} since ${e.sendAt}, because no worker ran in time`,
  ),
  'schedule.failed': entry(
    'error',
    { lane: id, schedule: id, sendAt: time, reason: prose },
    (e) =>
      `schedule ${e.schedule}: the occurrence of ${e.sendAt} failed, and nothing was sent: ${e.reason}; fix the cause, then run: volley schedule run ${e.schedule}`,
  ),
  'schedule.paused': entry(
    'warn',
    { lane: id, schedule: id, reason: prose, actor: optional(id, 'no operator') },
    (e) => `schedule ${e.schedule} is paused: ${e.reason}`,
  ),
  'schedule.changed': entry(
    'info',
    { lane: id, schedule: id, next: time, actor: id },
    (e) => `schedule ${e.schedule} was changed by ${e.actor}; it is due next at ${e.next}`,
  ),
  'schedule.resumed': entry(
    'info',
    { lane: id, schedule: id, next: time, actor: id },
    (e) => `schedule ${e.schedule} was resumed by ${e.actor}; it is due next at ${e.next}`,
  ),
  'schedule.removed': entry(
    'info',
    { lane: id, schedule: id, actor: id },
    (e) => `schedule ${e.schedule} was removed by ${e.actor}; its campaigns remain`,
  ),
} as const;
