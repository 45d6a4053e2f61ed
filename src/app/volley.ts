import type { Random } from '../base/clock.js';
import type { Config, LaneRules, LocalConfig } from '../base/config/index.js';
import type { Events } from '../base/events/events.js';
import type { Records } from '../call-records/records.js';
import type { ActingFor, Actor } from '../campaign/states/actor.js';
import type { ForgottenNumber } from '../campaign/states/forgotten.js';
import type { CampaignChange } from '../campaign/views/change-views.js';
import type { Check } from '../campaign/views/check-views.js';
import type { LaneFilter } from '../campaign/views/page.js';
import type { Preview } from '../campaign/views/preview-views.js';
import type { LaneStatus } from '../campaign/views/views.js';
import type { Inbound } from '../engine/inbound/inbound-service.js';
import type { OperatorCommands } from '../engine/lane/operator-commands.js';
import type { UsageReader } from '../engine/lane/usage.js';
import type { NotificationService } from '../engine/notifications/notification-service.js';
import type { Role, WorkerProcess } from '../engine/recovery/heartbeats.js';
import type { LaneDifference } from '../engine/recovery/lane-settings.js';
import type { Resolution, ResolveOutcome } from '../engine/sending/unknown.js';
import type { CampaignChanges, ChangeCampaignOptions } from '../intake/changes/set-campaign.js';
import type { CampaignInput, EnqueueOutcome } from '../intake/import/campaign-input.js';
import type { SuppressionList } from '../intake/import/suppression-list.js';
import type { Outbox } from '../intake/outbox/outbox-methods.js';
import type { Outboxes } from '../intake/outbox/outboxes.js';
import type { Schedules } from '../intake/schedules/schedules.js';
import type { Templates } from '../intake/templates/templates.js';
import type { CampaignReader } from '../reporting/campaign-reader.js';
import type { EventFollower } from '../reporting/event-feed.js';
import type { FleetReader, UnconfiguredLane } from '../reporting/fleet-snapshot.js';
import type { LiveReader } from '../reporting/live/live.js';
import type { RecipientFinder, Reports } from '../reporting/report.js';
import type { ResultsFeed } from '../reporting/results-feed.js';
import type { Webhooks } from '../reporting/webhooks/webhook-methods.js';
import type { TokenCache } from '../service/auth/token-cache.js';
import type { ConformanceOptions, ConformanceResult } from '../tools/conformance/report.js';
import type { ApiKeys } from './access/api-keys.js';
import type { AuditReader } from './access/audit-trail.js';
import type { LaneAdmin } from './access/lane-admin.js';
import type { Positions } from './access/positions.js';
import type { ForgetOptions } from './forget/forget.js';

export type { MessageResolution, Resolution, ResolveOutcome } from '../engine/sending/unknown.js';
export type { Outbox } from '../intake/outbox/outbox-methods.js';
export type { Outboxes } from '../intake/outbox/outboxes.js';
export type { TokenCache } from '../service/auth/token-cache.js';
export type { TokenState } from '../service/auth/token-state.js';
export type { PositionKind } from './access/positions.js';

/** Options of `createVolley`. */
export interface VolleyOptions {
  /** From `loadConfig`; from `loadLocalConfig` if you need no calls to the messaging service. */
  readonly config: Config | LocalConfig;
  /** Default: logs to standard error at the configured level. */
  readonly events?: Events | undefined;
  /** Who uses it, for the audit trail, events, and logs. Default: a program of this user on this host. */
  readonly actor?: Actor | undefined;
  /** Default: `Math.random`. Tests pass their own. */
  readonly random?: Random | undefined;
}

/** Options of {@link Volley.examine}. */
export interface ExamineOptions {
  /**
   * The settings with which those of workers are compared, and whose credentials and subscriptions are checked. Default: as
   * {@link Volley.differences}, and no check of credentials and subscriptions.
   */
  readonly than?: Config | undefined;
  /** After a backup was restored: holds all lanes, and lists what may send again what was sent after the backup. */
  readonly restored?: boolean | undefined;
  /** What to do if no worker runs, or none with these roles. */
  readonly howToStart?: ((roles: readonly string[]) => string | Promise<string>) | undefined;
}

/** The worker stages that run in this process. */
export interface Workers {
  /** Resolves when all stages take jobs. Rejects with a `ConfigError` if a lane has the credentials of a lane with another name. */
  readonly ready: Promise<void>;
  /** Claims nothing more, settles the requests in flight, and releases the lanes to other workers. Calling it again waits for that. */
  drain(): Promise<void>;
}

/** What a Volley tells, which is the same for every actor. */
export interface VolleyReader
  extends CampaignReader,
    Reports,
    RecipientFinder,
    ResultsFeed,
    EventFollower,
    FleetReader,
    LiveReader,
    UsageReader,
    AuditReader {
  readonly events: Events;
  /** Returns the name of a campaign's lane. */
  laneOf(id: string): Promise<string>;
  /** Returns the status of every lane that this process knows: the configured ones, and those that are stored in Redis. */
  lanes(): Promise<LaneStatus[]>;
  /** Returns the rules of these lanes, as of the last refresh. A process that works refreshes them every second. */
  knownLanes(): readonly LaneRules[];
  /**
   * Whether the service of a lane is a simulator, so that its messages reach no phones. The service says so itself, at the address that this
   * process has for the lane.
   */
  isSimulated(lane: string): Promise<boolean>;
  /** Reads which lanes are stored now. Operations do so by themselves when a lane is named that this process does not know. */
  refreshLanes(): Promise<void>;
  /** Returns the lanes that have campaigns, but are not configured here. */
  unconfiguredLanes(): Promise<UnconfiguredLane[]>;
  /** Returns why {@link Volley.work} and {@link Volley.enqueue} refuse configured lanes, and what to do; one text per lane. */
  laneProblems(): Promise<string[]>;
  /** Lists the worker processes with a heartbeat in the last 10 s. */
  workers(): Promise<WorkerProcess[]>;
  /**
   * Lists the lanes for which running workers use other settings than `than`; by default, than the configuration of this process if it
   * is complete, or else than the worker that started last. A worker reads its settings when it starts.
   */
  differences(than?: Config): Promise<LaneDifference[]>;
  /**
   * Rejects if Redis does not reply within this time, such as `2s`. `eviction`: the `maxmemory-policy` by which Redis deletes data when its
   * memory is full; null with `noeviction`, as it must be.
   */
  ping(within: string): Promise<{ readonly eviction: string | null }>;
}

/**
 * The public API of the library; the command line uses nothing else.
 *
 * Errors: a method rejects with a `NotFoundError` if the campaign or lane does not exist, with an `InputError` whose message
 * names the invalid value and what is valid, and with a `RedisUnavailableError` while Redis is not available. Methods that send or
 * store something reject with a `ConfigError` if a configured lane has the credentials of a lane with another name.
 */
export interface Volley extends VolleyReader, OperatorCommands {
  /**
   * Returns this Volley for another actor: the audit trail, events, and logs name it for every operation. It shares all
   * connections; close only the Volley that {@link createVolley} returned. `authorise` is called before each write, which does not
   * happen if it rejects: the right to act may end while a list arrives. With `lanes`, the actor cannot lift a hold of one without.
   */
  as(actor: ActingFor, authorise?: () => Promise<void>): Volley;
  /**
   * Creates a campaign: imports its recipients and launches it, or schedules it for `sendAt`. Resolves when the campaign is stored;
   * workers send it afterwards.
   */
  enqueue(input: CampaignInput): Promise<EnqueueOutcome>;
  /**
   * Changes a campaign for the recipients that were never claimed. Once it resolves, no request starts as the campaign was before, unless it
   * repeats one that may have been accepted, which keeps its text. `sendAt` can change only while nothing was claimed. Rejects with a
   * `StateError` for a campaign that has ended, with an `OtherRevisionError` if it has another revision than the options say, and with an
   * `InputError` for a change that is not possible; then nothing has changed.
   */
  set(id: string, changes: CampaignChanges, options?: ChangeCampaignOptions): Promise<CampaignChange>;
  /** Checks a campaign as {@link Volley.enqueue} does, but stores and sends nothing. */
  preview(input: CampaignInput): Promise<Preview>;
  /**
   * Settles a campaign's requests with an unknown outcome. Rejects with a `NotFoundError` if it has no such request, and with an
   * `InputError` if you resend requests of a campaign that is cancelled or has lapsed.
   */
  resolve(id: string, resolution: Resolution): Promise<ResolveOutcome>;
  /**
   * Deletes all data of a campaign that has ended, before its retention period is over. Rejects with a `StateError` if it has not ended.
   * One that cannot be read is cancelled instead, and becomes readable: its idempotency key, its counts, and its requests in flight are kept
   * until the end of its retention period.
   */
  delete(id: string): Promise<{ readonly recipientCount: number }>;
  /**
   * Forgets a number on all lanes, or on one: cancels what is planned or waits for it, and erases it wherever it is stored. Messages that were sent and
   * have no final status are erased when they get one: a worker continues until nothing is left. While that goes on, a repeated call changes
   * nothing, and returns the state. Rejects with an `InputError` if the number is invalid.
   */
  forget(number: string, options?: ForgetOptions): Promise<ForgottenNumber>;
  /** Creates and lists outboxes: messages that are sent over time, each under an id of yours. */
  readonly outboxes: Outboxes;
  /**
   * The outbox of this name. Its methods reject with a `NotFoundError` if there is none, and with an `AmbiguousNameError` if several lanes
   * have one: then name its lane.
   */
  outbox(name: string, choice?: LaneFilter): Outbox;
  /** Adds, changes, and removes lanes that are stored in Redis. */
  readonly storedLanes: LaneAdmin;
  /** The numbers that no campaign sends to. */
  readonly suppression: SuppressionList;
  /** The messages that people send to our numbers. */
  readonly inbound: Inbound;
  /** The keys of the HTTP API. Volley stores only a digest of each key. */
  readonly keys: ApiKeys;
  /** Endpoints to which workers post what becomes of recipients. */
  readonly webhooks: Webhooks;
  /** Tokens for positions in lists and streams, which reveal nothing to the clients of the HTTP API. */
  readonly positions: Positions;
  /** Receives delivery notifications and manages the subscriptions to them. */
  readonly notifications: NotificationService;
  /**
   * Returns the token cache of a lane with an account; null for a lane with an API key. Throws a `NotFoundError` for an unknown
   * lane. Needs the full configuration (`loadConfig`).
   */
  token(lane: string): TokenCache | null;
  /**
   * Requests call records and downloads them, as the contract at `RECORDS_CONTRACT` says. What calls the service needs the full
   * configuration (`loadConfig`).
   */
  readonly records: Records;
  /**
   * Tests whether the messaging service keeps to its documentation, and yields each result as it is known. It only reads, unless the
   * options say otherwise, and its requests take permits of the lane. Rejects with an `InputError` if an option is invalid. Needs the
   * full configuration (`loadConfig`).
   */
  conformance(options?: ConformanceOptions): AsyncIterable<ConformanceResult>;
  /** Texts that are saved under names, for campaigns and schedules. */
  readonly templates: Templates;
  /** Recurring campaigns. */
  readonly schedules: Schedules;
  /**
   * Checks what is in Redis, and yields the result of each check as it is known: Redis itself, workers, lanes, keys, and what fails. It
   * changes nothing, and calls no service.
   */
  examine(options?: ExamineOptions): AsyncIterable<Check>;
  /**
   * Starts to serve the lanes in this process. Needs the full configuration (`loadConfig`). `roles`: default all.
   * `concurrency`: how many lanes to serve at a time, default 50.
   */
  work(options?: { roles?: readonly Role[] | undefined; concurrency?: number | undefined }): Workers;
  /**
   * Drains the workers of this process and closes all connections. From then on, every other method rejects with a `ClosedError`; calling
   * it again waits for the first call.
   */
  close(): Promise<void>;
}
