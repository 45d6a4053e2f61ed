import { describeBackoff } from '../../../campaign/states/backoff-reason.js';
import { entry, requests } from '../entry.js';
import { count, failure, id, number, oneOf, optional, prose, time } from '../field.js';

const subscriptionTo = oneOf('callback', 'inbound');
const subscribed = (to: string): string => (to === 'inbound' ? 'inbound messages' : 'notifications');

/** Lanes, their quota, and their notifications. */
export const LANE_EVENTS = {
  'lane.backingOff': entry(
    'warn',
    { lane: id, cause: oneOf('throttled', 'unreachable'), reason: prose, until: time, epoch: number },
    (e) => `lane ${e.lane} backs off until ${e.until}: ${describeBackoff(e.cause, e.reason)}`,
  ),
  'lane.held': entry(
    'warn',
    { lane: id, reason: prose, epoch: number, actor: id },
    (e) => `lane ${e.lane} is ${e.reason}; to resume it, run: volley lane resume ${e.lane}`,
  ),
  'lane.reopened': entry(
    'info',
    { lane: id, epoch: number, actor: optional(id, '') },
    (e) => `lane ${e.lane} is open again${e.actor === '' ? '' : `, resumed by ${e.actor}`}`,
  ),
  'lane.stopped': entry(
    'error',
    { lane: id, reason: prose },
    (e) =>
      `lane ${e.lane} is stopped: ${e.reason.replace(/\.$/, '')}. When the cause is fixed, run: volley lane resume ${e.lane}`,
  ),
  'lane.renamed': entry(
    'info',
    { lane: id, from: id, id, actor: id },
    (e) => `lane ${e.from} was renamed to ${e.lane} by ${e.actor}; its quota and campaigns stay with it`,
  ),
  'lane.stored': entry(
    'info',
    { lane: id, change: oneOf('added', 'changed', 'leaving'), actor: id },
    (e) =>
      ({
        added: `lane ${e.lane} was added by ${e.actor}`,
        changed: `lane ${e.lane} was changed by ${e.actor}`,
        leaving: `lane ${e.lane} is being removed by ${e.actor}; its credentials are deleted when its last reports have arrived`,
      })[e.change] ?? '',
  ),
  'lane.removed': entry(
    'info',
    { lane: id },
    (e) => `lane ${e.lane} is removed; its credentials and its subscription are deleted`,
  ),
  'quota.learned': entry(
    'info',
    { lane: id, quota: number, from: optional(number, 'unknown') },
    (e) => `lane ${e.lane} has learned a quota of ${e.quota} requests per window (before: ${e.from})`,
  ),
  'quota.deducted': entry(
    'warn',
    { lane: id, requests },
    (e) =>
      `lane ${e.lane}: the service returned 429 although the quota is not used up; another program may be using the API key, so the quota is reduced by ${e.requests} for now`,
  ),

  'notifications.settled': entry(
    'debug',
    { lane: id, reports: count('report'), requests, waiting: number },
    (e) =>
      `lane ${e.lane}: Volley applied ${e.reports} from notifications to ${e.requests}; ${e.waiting} wait for a request with a matching id`,
  ),
  'notifications.refused': entry(
    'warn',
    { lane: id, reason: oneOf('token', 'unreadable', 'overload'), notifications: count('notification') },
    (e) =>
      ({
        token: `lane ${e.lane}: Volley rejected ${e.notifications} without a valid security token; if the service does not send the token, set CALLBACK_PROOF=path`,
        unreadable: `lane ${e.lane}: Volley ignored ${e.notifications} in an unreadable format`,
        overload: `lane ${e.lane}: Volley discarded ${e.notifications} because too many are waiting; Volley will ask for the delivery status instead`,
      })[e.reason] ?? '',
  ),
  'notifications.failed': entry(
    'error',
    { lane: id, reports: count('report'), error: failure },
    (e) =>
      `lane ${e.lane}: Volley could not apply ${e.reports} from notifications: ${e.error}; Volley will ask for the delivery status instead`,
  ),
  'subscription.created': entry(
    'info',
    { lane: id, of: subscriptionTo, reason: oneOf('none', 'outdated', 'forced') },
    (e) =>
      ({
        none: `lane ${e.lane}: Volley subscribed to ${subscribed(e.of)}`,
        outdated: `lane ${e.lane}: Volley renewed the subscription to ${subscribed(e.of)} because our address or token has changed`,
        forced: `lane ${e.lane}: Volley replaced a foreign subscription to ${subscribed(e.of)} with our own`,
      })[e.reason] ?? '',
  ),
  'subscription.foreign': entry(
    'error',
    { lane: id, of: subscriptionTo, url: prose },
    (e) =>
      `lane ${e.lane} receives no ${subscribed(e.of)}: another subscription sends them to ${e.url}; ${e.of === 'inbound' ? 'delete that subscription at the service' : `to replace it, run: volley subscription create --lane ${e.lane} --force`}`,
  ),
  'subscription.failed': entry(
    'warn',
    { lane: id, of: subscriptionTo, reason: prose },
    (e) => `lane ${e.lane}: Volley could not subscribe to ${subscribed(e.of)}: ${e.reason}`,
  ),
} as const;
