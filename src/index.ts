export type { ApiKeys, NewApiKey, RotatedApiKey, ShownApiKey } from './app/access/api-keys.js';
export type { AuditOptions } from './app/access/audit-trail.js';
export * from './app/runtime.js';
export type { Resolution, ResolveOutcome, TokenCache, TokenState } from './app/volley.js';
export {
  type Config,
  ConfigError,
  type LocalConfig,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
} from './base/config/index.js';
export {
  createEvents,
  type EventOf,
  type Events,
  type EventsOptions,
  type EventType,
  type VolleyEvent,
} from './base/events/events.js';
export type { RecordsInput } from './call-records/contract/input.js';
export type { NoRecords } from './call-records/fetch.js';
export type { RecordsDownload } from './call-records/open-file.js';
export type { Records } from './call-records/open-records.js';
export type { RecordsResolution } from './call-records/resolve.js';
export type { RecordsFilter } from './call-records/store/requests.js';
export type { RecordsOptions } from './call-records/store/slots.js';
export type { RecordsState } from './call-records/store/states.js';
export type { RecordsRequest } from './call-records/store/view.js';
export type { ErrorCode, ErrorItem } from './campaign/errors/error-codes.js';
export * from './campaign/errors/errors.js';
export type { CampaignFields } from './campaign/fields/fields.js';
export { type ActingFor, type Actor, describeActor } from './campaign/states/actor.js';
export { API_SCOPES, type ApiKey, type ApiScope } from './campaign/states/api-key.js';
export { AUDIT_ACTIONS, type AuditAction, type AuditEntry } from './campaign/states/audit.js';
export { CAMPAIGN_STATES, type CampaignState } from './campaign/states/campaign.js';
export {
  DELIVERY_STATUS,
  type DeliveryStatus,
  isDeliveryStatus,
  RECIPIENT_STATE,
  RECIPIENT_STATES,
  type RecipientState,
  SETTLED_STATES,
  STATUS_LETTER,
} from './campaign/states/recipient.js';
export type { CampaignCost, TimeRange } from './campaign/views/measures.js';
export * from './campaign/views/outbox-views.js';
export * from './campaign/views/preview-views.js';
export * from './campaign/views/recipient-views.js';
export * from './campaign/views/views.js';
export type {
  FailedDelivery,
  Webhook,
  WebhookTest,
  WebhookWithSecret,
} from './campaign/views/webhook-views.js';
export { LaneTakenError } from './engine/lane/stored-lanes.js';
export type { NotificationService } from './engine/notifications/notification-service.js';
export type {
  SubscribeOutcome,
  Subscription,
  SubscriptionService,
  UnsubscribeOutcome,
} from './engine/notifications/subscription-service.js';
export type { SubscriptionStatus } from './engine/notifications/subscription-status.js';
export type { Role, WorkerProcess } from './engine/recovery/heartbeats.js';
export type { CampaignInput, CsvStream, EnqueueOutcome } from './intake/import/campaign-input.js';
export type { RecipientInput } from './intake/import/read-objects.js';
export type { NumberOptions, SuppressionImport, SuppressionList } from './intake/import/suppression-list.js';
export type { OutboxCommands } from './intake/outbox/command-outbox.js';
export type { OutboxMessage } from './intake/outbox/definition/check-message.js';
export type { OutboxInput } from './intake/outbox/definition/define-outbox.js';
export {
  MessagesUnfitError,
  OutboxClosedError,
  OutboxExistsError,
  OutboxNotEmptyError,
  RecoveringError,
} from './intake/outbox/definition/errors.js';
export type { OutboxDeleter } from './intake/outbox/delete-outbox.js';
export type { CsvColumns } from './intake/outbox/messages/read-messages.js';
export type { Outbox } from './intake/outbox/outbox-methods.js';
export type { OutboxChoice, Outboxes } from './intake/outbox/outboxes.js';
export type { OutboxSetter, OutboxSettingsInput, SetOptions } from './intake/outbox/set-outbox.js';
export type { WaitingFilter, WaitingPage, WaitingPageOptions } from './intake/outbox/views/list-waiting.js';
export type {
  Occurrence,
  ProvidedList,
  Schedule,
  ScheduleChoice,
  ScheduleDetails,
  ScheduleInput,
  Schedules,
} from './intake/schedules/schedules.js';
export type { BroadcastEvent, FeedItem } from './reporting/event-feed.js';
export type { FleetSnapshot, LaneSnapshot, UnconfiguredLane } from './reporting/fleet-snapshot.js';
export type { NewWebhook, WebhookChoice, Webhooks } from './reporting/webhooks/webhooks.js';
export type {
  ConformanceCheck,
  ConformanceOptions,
  ConformanceResult,
  ConformanceSend,
  ConformanceWay,
} from './tools/conformance/report.js';
