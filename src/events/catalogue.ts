import type { LogLevel } from '../config/settings.js';
import {
  count,
  type Field,
  failure,
  id,
  number,
  oneOf,
  optional,
  phone,
  prose,
  span,
  time,
} from './field.js';

/** What may happen: how loud it is, what is known of it, and how it is told. */
export interface Entry<Fields extends FieldTable> {
  level: Exclude<LogLevel, 'silent'>;
  fields: Fields;
  /** The message; it is given every field as a text that may be shown. */
  text(told: { [Name in keyof Fields]: string }): string;
}

/** `level`, `time`, `pid`, `role`, `event` and `msg` are in every log line and cannot be fields. */
export type FieldTable = { readonly [name: string]: Field<never> };

function entry<const Fields extends FieldTable>(
  level: Entry<Fields>['level'],
  fields: Fields,
  text: Entry<Fields>['text'],
): Entry<Fields> {
  return { level, fields, text };
}

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

/**
 * Everything that Volley tells of itself. To add an event, add an entry: its kinds of fields give it its type, and
 * see to it that no number, key or token gets into a log. Levels: `trace` for every request, `debug` for every turn,
 * `info` for what an operator would write into a diary, `warn` for what may need one, `error` for what does.
 */
export const CATALOGUE = {
  // Processes
  'config.hint': entry('warn', { hint: prose }, (e) => e.hint),
  'process.started': entry('info', { version: id }, (e) => `started, version ${e.version}`),
  'process.ready': entry('info', { lanes: count('lane') }, (e) => `ready, ${e.lanes}`),
  'process.draining': entry(
    'info',
    { signal: id, deadlineMs: span },
    (e) => `${e.signal}: draining what is in flight, at most ${e.deadlineMs}`,
  ),
  'process.drained': entry('info', { tookMs: span }, (e) => `drained in ${e.tookMs}`),
  'metrics.served': entry('info', { url: id }, (e) => `metrics at ${e.url}/metrics`),
  'metrics.failed': entry(
    'error',
    { error: failure },
    (e) => `metrics cannot be served at METRICS_HOST and METRICS_PORT: ${e.error}; everything else goes on`,
  ),
  'listener.failed': entry(
    'error',
    { of: id, error: failure },
    (e) => `a listener to ${e.of} threw: ${e.error}; nothing else was disturbed`,
  ),

  // Turns
  'lane.woken': entry(
    'debug',
    { lane: id, kind, why: prose },
    (e) => `lane ${e.lane} woken to ${e.kind}: ${e.why}`,
  ),
  'turn.ended': entry(
    'debug',
    { lane: id, kind, requests, tookMs: span, next: optional(time, 'when woken'), why: prose },
    (e) => `lane ${e.lane}: ${e.kind} turn of ${e.requests} in ${e.tookMs}; next ${e.next}: ${e.why}`,
  ),
  'turn.failed': entry(
    'error',
    { lane: id, kind, error: failure },
    (e) => `lane ${e.lane}: ${e.kind} turn broke off: ${e.error}; it will be taken up again`,
  ),

  // Requests
  'request.ended': entry(
    'trace',
    { lane: id, kind, outcome, tookMs: span },
    (e) => `lane ${e.lane}: ${e.kind} ${e.outcome} after ${e.tookMs}`,
  ),
  'request.throttled': entry(
    'info',
    { lane: id, kind, retryAfterMs: optional(span, 'none') },
    (e) => `lane ${e.lane}: ${e.kind} answered 429, Retry-After: ${e.retryAfterMs}`,
  ),
  'request.unauthorised': entry(
    'warn',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: ${e.kind} not authorised (401): ${e.reason}`,
  ),
  'request.stopped': entry(
    'error',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: ${e.kind} turned away: ${e.reason}`,
  ),
  'request.refused': entry(
    'warn',
    { ...batch, reason: prose },
    (e) => `campaign ${e.campaign}: request for ${e.recipients} refused: ${e.reason}`,
  ),
  'request.notSent': entry(
    'warn',
    { lane: id, kind, reason: prose },
    (e) => `lane ${e.lane}: ${e.kind} did not reach the service: ${e.reason}`,
  ),
  'request.unknown': entry(
    'warn',
    { ...batch, batch: id, reason: prose },
    (e) =>
      `campaign ${e.campaign}: nobody knows whether batch ${e.batch} of ${e.recipients} was accepted: ${e.reason}`,
  ),
  'request.unanswered': entry(
    'info',
    { lane: id, request: id, reason: prose },
    (e) => `lane ${e.lane}: poll of request ${e.request} unanswered, asked again later: ${e.reason}`,
  ),
  'request.missing': entry(
    'info',
    { lane: id, request: id },
    (e) => `lane ${e.lane}: request ${e.request} is not known to the service (404), asked again on schedule`,
  ),
  'request.unfollowable': entry(
    'warn',
    { ...batch, batch: id },
    (e) =>
      `campaign ${e.campaign}: batch ${e.batch} of ${e.recipients} accepted without a request id; it cannot be followed up`,
  ),
  'request.suspected': entry(
    'info',
    { lane: id, campaign: id, batch: id, request: id },
    (e) =>
      `campaign ${e.campaign}: unknown batch ${e.batch} may be request ${e.request}, which a notification named; the service is asked`,
  ),
  'request.found': entry(
    'info',
    { ...batch, batch: id },
    (e) =>
      `campaign ${e.campaign}: batch ${e.batch} of ${e.recipients}, unknown until now, was accepted: a notification named its request and the service confirmed it`,
  ),
  'request.unlistedStatus': entry(
    'warn',
    { lane: id, request: id, words: prose },
    (e) =>
      `lane ${e.lane}: request ${e.request} reports a status that is not on the interface page, taken as not final: ${e.words}`,
  ),

  // Batches and recipients
  'batch.split': entry(
    'info',
    { ...batch, batch: id, into: number },
    (e) =>
      `campaign ${e.campaign}: batch ${e.batch} of ${e.recipients} split into ${e.into} to find what is refused`,
  ),
  'batch.maximumLearned': entry(
    'warn',
    { lane: id, maximum: number },
    (e) =>
      `lane ${e.lane}: the service takes no more than ${e.maximum} recipients a request; kept to from now on`,
  ),
  'recipient.rejected': entry(
    'info',
    { lane: id, campaign: id, recipient: phone, reason: prose },
    (e) => `campaign ${e.campaign}: ${e.recipient} rejected: ${e.reason}`,
  ),
  'recipient.contradicted': entry(
    'warn',
    { lane: id, campaign: id, recipient: phone, kept: id, ignored: id },
    (e) =>
      `campaign ${e.campaign}: ${e.recipient} stays ${e.kept}, although a later report says ${e.ignored}`,
  ),
  'claim.overdue': entry(
    'warn',
    { ...batch, batch: id, ageMs: span },
    (e) =>
      `campaign ${e.campaign}: batch ${e.batch} of ${e.recipients} was claimed ${e.ageMs} ago and never settled; now unknown`,
  ),

  // Notifications
  'notifications.settled': entry(
    'debug',
    { lane: id, reports: count('report'), requests, waiting: number },
    (e) => `lane ${e.lane}: ${e.reports} notified, ${e.requests} changed, ${e.waiting} wait to be known`,
  ),
  'notifications.refused': entry(
    'warn',
    { lane: id, reason: oneOf('token', 'unreadable', 'room'), notifications: count('notification') },
    (e) =>
      ({
        token: `lane ${e.lane}: ${e.notifications} without the security token not taken; CALLBACK_PROOF=path is for a service that does not send it`,
        unreadable: `lane ${e.lane}: ${e.notifications} could not be read and told nothing`,
        room: `lane ${e.lane}: ${e.notifications} came while too many waited, and were let go of; polls make up for them`,
      })[e.reason] ?? '',
  ),
  'notifications.failed': entry(
    'error',
    { lane: id, reports: count('report'), error: failure },
    (e) => `lane ${e.lane}: ${e.reports} notified could not be settled: ${e.error}; polls make up for them`,
  ),
  'subscription.created': entry(
    'info',
    { lane: id, why: oneOf('none', 'outdated', 'forced') },
    (e) =>
      ({
        none: `lane ${e.lane}: subscribed to notifications`,
        outdated: `lane ${e.lane}: subscribed anew: the subscription there was of an earlier address or token of ours`,
        forced: `lane ${e.lane}: subscribed to notifications in place of what was there`,
      })[e.why] ?? '',
  ),
  'subscription.foreign': entry(
    'error',
    { lane: id, url: prose },
    (e) =>
      `lane ${e.lane}: another subscription is there, to ${e.url}, and is left alone; no notifications come; to replace it: volley subscription create --lane ${e.lane} --force`,
  ),
  'subscription.failed': entry(
    'warn',
    { lane: id, reason: prose },
    (e) => `lane ${e.lane}: not subscribed to notifications: ${e.reason}`,
  ),

  // Lanes
  'lane.paused': entry(
    'warn',
    { lane: id, reason: prose, until: optional(time, 'resumed by hand'), epoch: number },
    (e) => `lane ${e.lane} paused until ${e.until}: ${e.reason}`,
  ),
  'lane.reopened': entry('info', { lane: id, epoch: number }, (e) => `lane ${e.lane} open again`),
  'lane.stopped': entry(
    'error',
    { lane: id, reason: prose },
    (e) => `lane ${e.lane} stopped until an operator resumes it: ${e.reason}`,
  ),
  'quota.learned': entry(
    'info',
    { lane: id, quota: number, from: optional(number, 'unknown') },
    (e) => `lane ${e.lane}: quota taken to be ${e.quota} requests a window; until now ${e.from}`,
  ),
  'quota.deducted': entry(
    'warn',
    { lane: id, requests },
    (e) =>
      `lane ${e.lane}: throttled although the quota had room; somebody else uses the key; ${e.requests} deducted for a while`,
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
    },
    (e) =>
      `campaign ${e.campaign} imported: ${e.recipients}, ${e.duplicates}, ${e.invalid} invalid, ${e.suppressed} suppressed`,
  ),
  'import.discarded': entry(
    'warn',
    { lane: id, campaign: id, reason: prose },
    (e) => `import of campaign ${e.campaign} discarded, nothing of it is kept: ${e.reason}`,
  ),
  'campaign.launched': entry(
    'info',
    { lane: id, campaign: id, at: time },
    (e) => `campaign ${e.campaign} launched on lane ${e.lane} for ${e.at}`,
  ),
  'campaign.paused': entry(
    'warn',
    { lane: id, campaign: id, by: oneOf('operator', 'refusals'), inFlight },
    (e) => `campaign ${e.campaign} paused by ${e.by}, ${e.inFlight} in flight`,
  ),
  'campaign.resumed': entry('info', { lane: id, campaign: id }, (e) => `campaign ${e.campaign} resumed`),
  'campaign.cancelled': entry(
    'warn',
    { lane: id, campaign: id, inFlight },
    (e) => `campaign ${e.campaign} cancelled, ${e.inFlight} in flight`,
  ),
  'campaign.completed': entry(
    'info',
    { lane: id, campaign: id, recipients, tookMs: span },
    (e) => `campaign ${e.campaign} completed: ${e.recipients} accounted for in ${e.tookMs}`,
  ),
  'retention.removed': entry(
    'info',
    { lane: id, campaign: id, recipients },
    (e) => `campaign ${e.campaign} of ${e.recipients} removed: its retention is over`,
  ),

  // Redis
  'redis.lost': entry(
    'error',
    { error: failure },
    (e) => `no connection to Redis: ${e.error}; nothing is sent meanwhile`,
  ),
  'redis.restored': entry('info', { downMs: span }, (e) => `connection to Redis restored after ${e.downMs}`),
  'redis.restarted': entry(
    'warn',
    { lane: id, graceMs: span },
    (e) =>
      `Redis was restarted, and is set to lose nothing; lane ${e.lane} sends nothing for ${e.graceMs} while workers compare what they remember`,
  ),
  'redis.forgot': entry(
    'error',
    { lane: id, sign: oneOf('runId', 'sequence'), graceMs: span },
    (e) =>
      `Redis is not the one it was (${e.sign}); lane ${e.lane} sends nothing for ${e.graceMs} while workers tell what they remember`,
  ),
  'crew.missing': entry(
    'error',
    { lane: id, processes: id },
    (e) =>
      `lane ${e.lane}: ${e.processes} died while Redis forgot its last writes; what they may have sent becomes unknown`,
  ),
  'sweep.failed': entry('error', { error: failure }, (e) => `sweep failed, tried again: ${e.error}`),

  // HTTP
  'http.listening': entry('info', { url: id }, (e) => `the HTTP API listens at ${e.url}`),
  'http.failed': entry(
    'error',
    { method: id, route: id, error: failure },
    (e) => `${e.method} ${e.route} failed: ${e.error}`,
  ),
  'http.brokeOff': entry(
    'error',
    { method: id, route: id, error: failure },
    (e) => `${e.method} ${e.route}: the answer broke off midway: ${e.error}`,
  ),

  // Tokens
  'token.refreshed': entry(
    'info',
    { account: id, lifeMs: optional(span, 'an unnamed time') },
    (e) => `account ${e.account}: token refreshed, good for ${e.lifeMs}`,
  ),
  'token.loggedIn': entry(
    'info',
    { account: id, lifeMs: optional(span, 'an unnamed time') },
    (e) => `account ${e.account}: logged in, token good for ${e.lifeMs}`,
  ),
  'token.refused': entry(
    'warn',
    { account: id, reason: prose },
    (e) => `account ${e.account}: the service gave no token: ${e.reason}`,
  ),
  'token.unanswered': entry(
    'warn',
    { account: id, reason: prose },
    (e) => `account ${e.account}: login or refresh had no answer: ${e.reason}`,
  ),
} as const;

type Catalogue = typeof CATALOGUE;
type ValueOf<Kind> = Kind extends Field<infer Value> ? Value : never;

/** The name of something that may happen, such as `lane.paused`. */
export type EventType = keyof Catalogue;

/** One kind of event with its fields; see the {@link CATALOGUE}. */
export type EventOf<Type extends EventType> = Type extends EventType
  ? { type: Type } & {
      -readonly [Name in keyof Catalogue[Type]['fields']]: ValueOf<Catalogue[Type]['fields'][Name]>;
    }
  : never;

/** Anything that may happen, told apart by `type`. */
export type VolleyEvent = EventOf<EventType>;
