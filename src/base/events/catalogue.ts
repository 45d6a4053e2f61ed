import { describePause } from '../../campaign/pause-reason.js';
import type { LogLevel } from '../config/settings.js';
import { count, type Field, failure, id, number, oneOf, optional, prose, span, time } from './field.js';

/** One type of event: its log level, its fields, and its log message. */
interface Entry<Fields extends FieldTable> {
  level: Exclude<LogLevel, 'silent'>;
  fields: Fields;
  /** The log message. It receives every field as text that is safe to log. */
  message(fields: { [Name in keyof Fields]: string }): string;
}

/** Every log line has `level`, `time`, `pid`, `role`, `event`, and `msg`, so these cannot be field names. */
export type FieldTable = { readonly [name: string]: Field<never> };

function entry<const Fields extends FieldTable>(
  level: Entry<Fields>['level'],
  fields: Fields,
  message: Entry<Fields>['message'],
): Entry<Fields> {
  return { level, fields, message };
}

/** What the service wrote, if anything, at the end of a message. */
const after = (message: string): string => (message === '' ? '' : `: ${message}`);

/** The child organisation that a reseller's account acts for. */
const targetAccount = optional(id, '');
const acting = (target: string): string => (target === '' ? '' : ` for target account ${target}`);

const kind = oneOf('send', 'poll');
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
const requests = count('request');
const recipients = count('recipient');
const inFlight = count('request');
const batch = { lane: id, campaign: id, recipients } as const;

const RECORDS_OUTCOME: Readonly<Record<string, string>> = {
  notAccepted: 'was not accepted',
  refused: 'was refused',
  unknown: 'has an unknown outcome',
};

/**
 * Every event that Volley emits. To add one, add an entry: the kinds of its fields define its type and keep phone
 * numbers, keys, and tokens out of the log. In all events, `request` is our reference of a request (as in `resolve
 * --request`), and `requestId` is the service's id.
 *
 * Levels: `trace` for every request, `debug` for every turn, `info` for what an operator wants to read later, `warn` for
 * what may need attention, `error` for what does.
 */
export const CATALOGUE = {
  // Processes
  'config.hint': entry('warn', { hint: prose }, (e) => e.hint),
  'process.started': entry('info', { version: id }, (e) => `started Volley ${e.version}`),
  'process.ready': entry('info', { lanes: count('lane') }, (e) => `ready to serve ${e.lanes}`),
  'process.draining': entry(
    'info',
    { signal: id, deadlineMs: span },
    (e) => `received ${e.signal}: finishing in-flight requests for up to ${e.deadlineMs}`,
  ),
  'process.drained': entry('info', { tookMs: span }, (e) => `finished in-flight requests in ${e.tookMs}`),
  'metrics.served': entry('info', { url: id }, (e) => `serving metrics at ${e.url}/metrics`),
  'metrics.failed': entry(
    'error',
    { error: failure },
    (e) =>
      `cannot serve metrics at METRICS_HOST and METRICS_PORT: ${e.error}; the process continues without metrics`,
  ),
  'listener.failed': entry(
    'error',
    { eventType: id, error: failure },
    (e) => `a listener for ${e.eventType} threw an error: ${e.error}; other listeners are not affected`,
  ),

  // Turns
  'turn.ended': entry(
    'debug',
    { lane: id, kind, requests, tookMs: span, next: optional(time, 'when the lane is woken'), reason: prose },
    (e) =>
      `lane ${e.lane}: ${e.kind} turn ended after ${e.requests} in ${e.tookMs} (${e.reason}); next turn: ${e.next}`,
  ),
  'turn.failed': entry(
    'error',
    { lane: id, kind, error: failure },
    (e) => `lane ${e.lane}: ${e.kind} turn failed: ${e.error}; retrying`,
  ),

  // Requests
  'request.ended': entry(
    'trace',
    { lane: id, kind, outcome, tookMs: span },
    (e) => `lane ${e.lane}: ${e.kind} request ended after ${e.tookMs}: ${e.outcome}`,
  ),
  'request.throttled': entry(
    'info',
    { lane: id, kind, retryAfterMs: optional(span, 'none'), reason: prose },
    (e) =>
      `lane ${e.lane}: the service returned 429 for a ${e.kind} request (Retry-After: ${e.retryAfterMs})${after(e.reason)}`,
  ),
  'request.unauthorised': entry(
    'debug',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: the service returned 401 for a ${e.kind} request: ${e.reason}`,
  ),
  'request.stopped': entry(
    'info',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: a ${e.kind} request failed and retrying cannot fix it: ${e.reason}`,
  ),
  'request.refused': entry(
    'warn',
    { ...batch, reason: prose },
    (e) => `campaign ${e.campaign}: the service refused a request with ${e.recipients}: ${e.reason}`,
  ),
  'request.notSent': entry(
    'warn',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: a ${e.kind} request could not be sent: ${e.reason}`,
  ),
  'request.unknown': entry(
    'warn',
    { ...batch, request: id, reason: prose },
    (e) =>
      `campaign ${e.campaign}: request ${e.request} with ${e.recipients} has an unknown outcome: ${e.reason}`,
  ),
  'request.unanswered': entry(
    'debug',
    { lane: id, requestId: id, reason: prose },
    (e) => `lane ${e.lane}: the poll of request ${e.requestId} failed and is retried later: ${e.reason}`,
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
      `campaign ${e.campaign}: the service accepted request ${e.request} with ${e.recipients} but returned no request id, so its delivery status cannot be polled`,
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
      `campaign ${e.campaign}: a notification for request id ${e.requestId} matches request ${e.request}, which has an unknown outcome; polling the service to confirm`,
  ),
  'request.confirmed': entry(
    'info',
    { ...batch, request: id },
    (e) =>
      `campaign ${e.campaign}: the service confirmed that it accepted request ${e.request} with ${e.recipients}; its outcome was unknown`,
  ),
  'request.resolved': entry(
    'warn',
    { lane: id, campaign: id, as: oneOf('resend', 'abandon', 'accepted'), requests, recipients, actor: id },
    (e) =>
      `campaign ${e.campaign}: ${e.actor} settled ${e.requests} with an unknown outcome and ${e.recipients}: ${{ resend: 'they are sent again', abandon: 'they are given up', accepted: 'they count as accepted' }[e.as] ?? e.as}`,
  ),
  'request.unlistedStatus': entry(
    'warn',
    { lane: id, requestId: id, statuses: prose },
    (e) =>
      `lane ${e.lane}: request ${e.requestId} has a delivery status that the interface does not define (${e.statuses}); treating it as not final`,
  ),

  // Batches and recipients
  'batch.split': entry(
    'info',
    { ...batch, batch: id, into: number },
    (e) =>
      `campaign ${e.campaign}: splitting batch ${e.batch} with ${e.recipients} into ${e.into} to find the recipient that the service refuses`,
  ),
  'batch.maximumLearned': entry(
    'warn',
    { lane: id, maximum: number },
    (e) =>
      `lane ${e.lane}: the service accepts at most ${e.maximum} recipients per request; sending smaller requests from now on`,
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
      `campaign ${e.campaign}: recipient ${e.position} of the list stays ${e.kept}; ignoring a later report that says ${e.ignored}`,
  ),
  'claim.overdue': entry(
    'warn',
    { ...batch, request: id, ageMs: span },
    (e) =>
      `campaign ${e.campaign}: request ${e.request} with ${e.recipients} was claimed ${e.ageMs} ago and never settled; its outcome is now unknown`,
  ),

  // Notifications
  'notifications.settled': entry(
    'debug',
    { lane: id, reports: count('report'), requests, waiting: number },
    (e) =>
      `lane ${e.lane}: applied ${e.reports} from notifications to ${e.requests}; ${e.waiting} wait for a request with a matching id`,
  ),
  'notifications.refused': entry(
    'warn',
    { lane: id, reason: oneOf('token', 'unreadable', 'overload'), notifications: count('notification') },
    (e) =>
      ({
        token: `lane ${e.lane}: rejected ${e.notifications} without a valid security token; if the service does not send the token, set CALLBACK_PROOF=path`,
        unreadable: `lane ${e.lane}: ignored ${e.notifications} in an unreadable format`,
        overload: `lane ${e.lane}: discarded ${e.notifications} because too many are waiting; polls will find the delivery status instead`,
      })[e.reason] ?? '',
  ),
  'notifications.failed': entry(
    'error',
    { lane: id, reports: count('report'), error: failure },
    (e) =>
      `lane ${e.lane}: could not apply ${e.reports} from notifications: ${e.error}; polls will find the delivery status instead`,
  ),
  'subscription.created': entry(
    'info',
    { lane: id, reason: oneOf('none', 'outdated', 'forced') },
    (e) =>
      ({
        none: `lane ${e.lane}: subscribed to notifications`,
        outdated: `lane ${e.lane}: renewed the subscription to notifications because our address or token has changed`,
        forced: `lane ${e.lane}: replaced a foreign subscription to notifications with our own`,
      })[e.reason] ?? '',
  ),
  'subscription.foreign': entry(
    'error',
    { lane: id, url: prose },
    (e) =>
      `lane ${e.lane} receives no notifications: another subscription sends them to ${e.url}; to replace it, run: volley subscription create --lane ${e.lane} --force`,
  ),
  'subscription.failed': entry(
    'warn',
    { lane: id, reason: prose },
    (e) => `lane ${e.lane}: could not subscribe to notifications: ${e.reason}`,
  ),

  // Lanes
  'lane.paused': entry(
    'warn',
    {
      lane: id,
      reason: prose,
      cause: prose,
      until: optional(time, 'an operator resumes it'),
      epoch: number,
      actor: optional(id, 'no operator'),
    },
    (e) => `lane ${e.lane} is paused until ${e.until}: ${describePause(e.reason, e.cause)}`,
  ),
  'lane.held': entry(
    'warn',
    { lane: id, reason: prose, epoch: number, actor: id },
    (e) => `lane ${e.lane} is ${e.reason}; to resume it, run: volley lane resume ${e.lane}`,
  ),
  'lane.reopened': entry(
    'info',
    { lane: id, epoch: number, actor: optional(id, '') },
    (e) => `lane ${e.lane} is open again${e.actor === '' ? '' : `: resumed by ${e.actor}`}`,
  ),
  'lane.stopped': entry(
    'error',
    { lane: id, reason: prose },
    (e) => `lane ${e.lane} is stopped: ${e.reason}; fix the cause, then run: volley lane resume ${e.lane}`,
  ),
  'lane.renamed': entry(
    'info',
    { lane: id, from: id, id, actor: id },
    (e) => `${e.actor} renamed lane ${e.from} to ${e.lane}; its quota and campaigns stay with it`,
  ),
  'quota.learned': entry(
    'info',
    { lane: id, quota: number, from: optional(number, 'unknown') },
    (e) => `lane ${e.lane}: learned a quota of ${e.quota} requests per window (before: ${e.from})`,
  ),
  'quota.deducted': entry(
    'warn',
    { lane: id, requests },
    (e) =>
      `lane ${e.lane}: the service returned 429 although the quota is not used up; another program may be using the API key, so the quota is reduced by ${e.requests} for now`,
  ),

  // Schedules
  'schedule.added': entry(
    'info',
    { lane: id, schedule: id, next: time, actor: id },
    (e) => `${e.actor} added schedule ${e.schedule}; it is due first at ${e.next}`,
  ),
  'schedule.ran': entry(
    'info',
    { lane: id, schedule: id, at: time, campaign: id },
    (e) => `schedule ${e.schedule}: the occurrence of ${e.at} created campaign ${e.campaign}`,
  ),
  'schedule.skipped': entry(
    'warn',
    { lane: id, schedule: id, at: time, campaign: id, reason: prose },
    (e) =>
      `schedule ${e.schedule}: the occurrence of ${e.at} is skipped because of campaign ${e.campaign}: ${e.reason}`,
  ),
  'schedule.missed': entry(
    'warn',
    { lane: id, schedule: id, at: time, occurrences: count('occurrence') },
    (e) => `schedule ${e.schedule}: missed ${e.occurrences} since ${e.at}; no worker ran in time`,
  ),
  'schedule.failed': entry(
    'error',
    { lane: id, schedule: id, at: time, reason: prose },
    (e) =>
      `schedule ${e.schedule}: the occurrence of ${e.at} failed, and nothing was sent: ${e.reason}; fix the cause, then run: volley schedule run ${e.schedule}`,
  ),
  'schedule.paused': entry(
    'warn',
    { lane: id, schedule: id, reason: prose, actor: optional(id, 'no operator') },
    (e) => `schedule ${e.schedule} is paused: ${e.reason}`,
  ),
  'schedule.resumed': entry(
    'info',
    { lane: id, schedule: id, next: time, actor: id },
    (e) => `${e.actor} resumed schedule ${e.schedule}; it is due next at ${e.next}`,
  ),
  'schedule.removed': entry(
    'info',
    { lane: id, schedule: id, actor: id },
    (e) => `${e.actor} removed schedule ${e.schedule}; its campaigns remain`,
  ),

  // Campaigns
  'campaign.imported': entry(
    'info',
    {
      lane: id,
      campaign: id,
      recipients,
      duplicates: count('duplicate'),
      invalid: number,
      suppressed: number,
      actor: id,
    },
    (e) =>
      `campaign ${e.campaign} imported by ${e.actor}: ${e.recipients}, ${e.duplicates}, ${e.invalid} invalid, ${e.suppressed} suppressed`,
  ),
  'import.discarded': entry(
    'warn',
    { lane: id, campaign: id, reason: prose },
    (e) => `import of campaign ${e.campaign} discarded, nothing is stored: ${e.reason}`,
  ),
  'campaign.launched': entry(
    'info',
    { lane: id, campaign: id, at: time },
    (e) => `campaign ${e.campaign} launched on lane ${e.lane}; sending starts at ${e.at}`,
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
        operator: `campaign ${e.campaign} paused by ${e.actor}; ${e.inFlight} in flight`,
        refusals: `campaign ${e.campaign} paused because the service refuses its requests; ${e.inFlight} in flight`,
      })[e.by] ?? '',
  ),
  'campaign.resumed': entry(
    'info',
    { lane: id, campaign: id, actor: id },
    (e) => `campaign ${e.campaign} resumed by ${e.actor}`,
  ),
  'campaign.cancelled': entry(
    'warn',
    { lane: id, campaign: id, inFlight, actor: id },
    (e) => `campaign ${e.campaign} cancelled by ${e.actor}; ${e.inFlight} in flight`,
  ),
  'campaign.completed': entry(
    'info',
    { lane: id, campaign: id, recipients, tookMs: span },
    (e) => `campaign ${e.campaign} completed: ${e.recipients} in ${e.tookMs}`,
  ),
  'retention.removed': entry(
    'info',
    { lane: id, campaign: id, recipients },
    (e) => `campaign ${e.campaign} with ${e.recipients} removed: its retention period has ended`,
  ),
  'campaign.tooOld': entry(
    'warn',
    { lane: id, campaign: id, recipients },
    (e) =>
      `campaign ${e.campaign} reached the maximum age (MAX_CAMPAIGN_AGE): ${e.recipients} lapsed, were abandoned, or are unconfirmed`,
  ),

  // Redis
  'redis.fileRewritten': entry(
    'info',
    { campaigns: count('campaign') },
    (e) => `rewrote the append-only file of Redis: nothing is left in it of ${e.campaigns} removed`,
  ),
  'redis.rewriteRefused': entry(
    'warn',
    { reason: prose, campaigns: count('campaign') },
    (e) =>
      `Redis refuses to rewrite its append-only file (${e.reason}): it still contains ${e.campaigns} whose retention period has ended`,
  ),
  'redis.rewriteFailed': entry(
    'warn',
    { campaigns: count('campaign') },
    (e) =>
      `Redis failed to rewrite its append-only file: it still contains ${e.campaigns} whose retention period has ended`,
  ),
  'redis.lost': entry(
    'error',
    { error: failure },
    (e) => `lost the connection to Redis: ${e.error}; sending continues when Redis is back`,
  ),
  'redis.restored': entry('info', { downMs: span }, (e) => `connected to Redis again after ${e.downMs}`),
  'redis.restarted': entry(
    'warn',
    { lane: id, graceMs: span },
    (e) =>
      `Redis was restarted without losing data; lane ${e.lane} recovers for ${e.graceMs} while workers replay their recent claims`,
  ),
  'redis.dataLoss': entry(
    'error',
    { lane: id, sign: oneOf('runId', 'sequence'), graceMs: span },
    (e) =>
      `Redis may have lost data (${{ runId: 'another server answers, or it was restarted', sequence: 'a claim that a worker remembers is missing' }[e.sign] ?? e.sign}); lane ${e.lane} recovers for ${e.graceMs} while workers replay their recent claims`,
  ),
  'redis.unbounded': entry(
    'error',
    { lane: id },
    (e) =>
      `lane ${e.lane} sends nothing: Redis has a replica, and nothing bounds how much is lost when it takes over; set min-replicas-to-write in Redis, or REDIS_MAY_LOSE; \`volley doctor\` explains it`,
  ),
  'redis.clockChanged': entry(
    'warn',
    { lane: id, direction: oneOf('forward', 'back'), byMs: span },
    (e) =>
      `the clock of Redis was set ${e.direction} by ${e.byMs}; lane ${e.lane} delays its permits so that none returns early`,
  ),
  'workers.lost': entry(
    'error',
    { lane: id, processes: id },
    (e) =>
      `lane ${e.lane}: workers ${e.processes} stopped while Redis lost data; requests that they may have sent get an unknown outcome`,
  ),
  'workers.windowsDiffer': entry(
    'warn',
    { processes: prose, usedMs: span },
    (e) =>
      `worker processes run with different QUOTA_WINDOW_MS: ${e.processes}; all lanes use the longest, ${e.usedMs}`,
  ),
  'redis.reshardUnfinished': entry(
    'error',
    { lane: id, forMs: span },
    (e) =>
      `lane ${e.lane}: its slot of the Redis cluster has been on its way to another node for ${e.forMs}, so nothing can be sent; if no reshard is running, finish it: redis-cli --cluster fix`,
  ),
  'sweep.failed': entry('error', { error: failure }, (e) => `sweep failed: ${e.error}; retrying`),

  // Access
  'suppression.added': entry(
    'info',
    { lane: optional(id, 'all lanes'), operation: id, numbers: count('number'), reason: prose, actor: id },
    (e) =>
      `${e.actor} suppressed ${e.numbers} on ${e.lane === 'all lanes' ? e.lane : `lane ${e.lane}`} (operation ${e.operation}): ${e.reason || 'no reason given'}`,
  ),
  'suppression.removed': entry(
    'warn',
    { lane: optional(id, 'all lanes'), operation: id, numbers: count('number'), reason: prose, actor: id },
    (e) =>
      `${e.actor} removed ${e.numbers} from the suppression list of ${e.lane === 'all lanes' ? e.lane : `lane ${e.lane}`} (operation ${e.operation}): ${e.reason || 'no reason given'}`,
  ),
  'suppression.undone': entry(
    'warn',
    { lane: optional(id, 'all lanes'), operation: id, numbers: count('number'), actor: id },
    (e) =>
      `${e.actor} undid suppression operation ${e.operation} on ${e.lane === 'all lanes' ? e.lane : `lane ${e.lane}`}: ${e.numbers} changed`,
  ),
  'key.created': entry(
    'info',
    { key: id, name: id, scopes: id, lanes: id, actor: id },
    (e) => `${e.actor} created API key ${e.key} (${e.name}) with ${e.scopes} on ${e.lanes}`,
  ),
  'key.rotated': entry(
    'info',
    { key: id, name: id, overlapMs: span, actor: id },
    (e) => `${e.actor} rotated API key ${e.key} (${e.name}); the old secret works for ${e.overlapMs} more`,
  ),
  'key.revoked': entry(
    'warn',
    { key: id, name: id, cancelled: count('campaign'), actor: id },
    (e) => `${e.actor} revoked API key ${e.key} (${e.name}) and cancelled ${e.cancelled}`,
  ),
  'key.refused': entry(
    'warn',
    { from: id, requests },
    (e) => `refused ${e.requests} from ${e.from} in the last minute: the API key was invalid`,
  ),
  'operation.requested': entry(
    'info',
    {
      lane: id,
      action: oneOf('token.login', 'token.refresh', 'subscription.create', 'subscription.delete'),
      actor: id,
    },
    (e) => `lane ${e.lane}: ${e.actor} requested ${e.action}`,
  ),

  // HTTP
  'http.listening': entry('info', { url: id }, (e) => `the HTTP API listens at ${e.url}`),
  // `xRequestId`: of the request to the HTTP API. The client may have chosen it.
  'http.answered': entry(
    'debug',
    { method: id, route: id, status: id, tookMs: span, xRequestId: prose },
    (e) => `${e.method} ${e.route} (${e.xRequestId}): ${e.status} after ${e.tookMs}`,
  ),
  'http.failed': entry(
    'error',
    { method: id, route: id, xRequestId: prose, error: failure },
    (e) => `${e.method} ${e.route} (${e.xRequestId}) failed: ${e.error}`,
  ),
  'http.brokeOff': entry(
    'error',
    { method: id, route: id, xRequestId: prose, error: failure },
    (e) => `${e.method} ${e.route} (${e.xRequestId}) failed after the response had started: ${e.error}`,
  ),

  // Call records: `records` is the id of the request
  'records.requested': entry(
    'info',
    { lane: id, records: id },
    (e) => `lane ${e.lane}: the service accepted the request for call records ${e.records}`,
  ),
  'records.notAccepted': entry(
    'warn',
    { lane: id, records: id, outcome: oneOf('notAccepted', 'refused', 'unknown'), reason: prose },
    (e) =>
      `lane ${e.lane}: request for call records ${e.records} ${RECORDS_OUTCOME[e.outcome] ?? e.outcome}: ${e.reason}`,
  ),
  'records.ended': entry(
    'warn',
    { lane: id, records: id, outcome: oneOf('failed', 'expired', 'empty'), word: prose },
    (e) => `lane ${e.lane}: call records ${e.records} are not available: the service says ${e.word}`,
  ),
  'records.downloaded': entry(
    'info',
    { lane: id, records: id, bytes: count('byte') },
    (e) => `lane ${e.lane}: downloaded call records ${e.records}, ${e.bytes}`,
  ),

  // Tokens
  'token.refreshed': entry(
    'info',
    { account: id, targetAccount, lifetimeMs: optional(span, 'an unknown time') },
    (e) => `account ${e.account}${acting(e.targetAccount)}: refreshed the token, valid for ${e.lifetimeMs}`,
  ),
  'token.loggedIn': entry(
    'info',
    { account: id, targetAccount, lifetimeMs: optional(span, 'an unknown time') },
    (e) => `account ${e.account}${acting(e.targetAccount)}: logged in, token valid for ${e.lifetimeMs}`,
  ),
  'token.refused': entry(
    'warn',
    { account: id, targetAccount, reason: prose },
    (e) =>
      `account ${e.account}${acting(e.targetAccount)}: the service refused to issue a token: ${e.reason}`,
  ),
  'token.unanswered': entry(
    'warn',
    { account: id, targetAccount, reason: prose },
    (e) =>
      `account ${e.account}${acting(e.targetAccount)}: login or refresh received no response: ${e.reason}`,
  ),
} as const;

type Catalogue = typeof CATALOGUE;
type ValueOf<Kind> = Kind extends Field<infer Value> ? Value : never;

/** The type of an event, such as `lane.paused`. */
export type EventType = keyof Catalogue;

/** The event of one type with its fields; see the {@link CATALOGUE}. */
export type EventOf<Type extends EventType> = Type extends EventType
  ? { type: Type } & {
      -readonly [Name in keyof Catalogue[Type]['fields']]: ValueOf<Catalogue[Type]['fields'][Name]>;
    }
  : never;

/** Any event; `type` tells which. */
export type VolleyEvent = EventOf<EventType>;
