export type { ApiKeys, NewApiKey, ShownApiKey } from './access/api-keys.js';
export type { AuditOptions } from './access/audit-trail.js';
export { type ActingFor, type Actor, describeActor } from './campaign/actor.js';
export { API_SCOPES, type ApiKey, type ApiScope } from './campaign/api-key.js';
export { AUDIT_ACTIONS, type AuditAction, type AuditEntry } from './campaign/audit.js';
export { CAMPAIGN_STATES, type CampaignState } from './campaign/campaign.js';
export * from './campaign/errors.js';
export * from './campaign/outbox-views.js';
export {
  DELIVERY_STATUS,
  type DeliveryStatus,
  isDeliveryStatus,
  RECIPIENT_STATE,
  RECIPIENT_STATES,
  type RecipientState,
  SETTLED_STATES,
  STATUS_LETTER,
} from './campaign/recipient.js';
export * from './campaign/views.js';
export {
  type Config,
  ConfigError,
  type LocalConfig,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
} from './config/index.js';
export type {
  ConformanceCheck,
  ConformanceOptions,
  ConformanceResult,
  ConformanceSend,
  ConformanceWay,
} from './conformance/report.js';
export {
  createEvents,
  type EventOf,
  type Events,
  type EventsOptions,
  type EventType,
  type VolleyEvent,
} from './events/events.js';
export type { CampaignInput, CsvStream, EnqueueOutcome } from './import/campaign-input.js';
export type { RecipientInput } from './import/read-objects.js';
export type { NumberOptions, SuppressionImport, SuppressionList } from './import/suppression-list.js';
export type { NotificationService } from './notifications/notification-service.js';
export type {
  SubscribeOutcome,
  Subscription,
  SubscriptionService,
  UnsubscribeOutcome,
} from './notifications/subscription-service.js';
export type { SubscriptionStatus } from './notifications/subscription-status.js';
export type { OutboxMessage } from './outbox/check-message.js';
export type { OutboxInput } from './outbox/define-outbox.js';
export { OutboxClosedError, OutboxExistsError, RecoveringError } from './outbox/errors.js';
export type { Outbox } from './outbox/outbox.js';
export type { OutboxChoice, Outboxes } from './outbox/outboxes.js';
export type { CsvColumns } from './outbox/read-messages.js';
export type { NoRecords } from './records/fetch.js';
export type { RecordsInput } from './records/input.js';
export type { RecordsDownload } from './records/open-file.js';
export type { Records } from './records/open-records.js';
export type { RecordsFilter } from './records/requests.js';
export type { RecordsResolution } from './records/resolve.js';
export type { RecordsOptions } from './records/slots.js';
export type { RecordsState } from './records/states.js';
export type { RecordsRequest } from './records/view.js';
export type { Role, WorkerProcess } from './recovery/heartbeats.js';
export type { BroadcastEvent, FeedItem } from './reporting/event-feed.js';
export type { FleetSnapshot, LaneSnapshot, UnconfiguredLane } from './reporting/fleet-snapshot.js';
export * from './runtime.js';
export type {
  Occurrence,
  ProvidedList,
  Schedule,
  ScheduleChoice,
  ScheduleDetails,
  ScheduleInput,
  Schedules,
} from './schedules/schedules.js';
export type { Resolution, ResolveOutcome, TokenCache, TokenState } from './volley.js';
