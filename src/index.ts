export type {
  ApiKeys,
  CancelledOfKey,
  ChangedLimits,
  KeyChoice,
  NewApiKey,
  RefusedRequest,
  RotatedApiKey,
  ShownApiKey,
  SignInLink,
} from './app/access/api-keys.js';
export type { AuditOptions, AuditPage, AuditReader } from './app/access/audit-trail.js';
export type { LaneAdmin, LaneRemoval, StoredLaneDetails } from './app/access/lane-admin.js';
export type { ForgetOptions } from './app/forget/forget.js';
export { ClosedError, createVolley, RedisUnavailableError, type SettingsInCode } from './app/runtime.js';
export type { ExamineOptions, Volley, VolleyOptions, VolleyReader, Workers } from './app/volley.js';
export {
  type Config,
  ConfigError,
  defineConfig,
  type LaneInput,
  type LocalConfig,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
  type VolleySettings,
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
export type { FetchOptions, NoRecords } from './call-records/fetch.js';
export type { RecordsDownload } from './call-records/open-file.js';
export type { DownloadOptions, Records } from './call-records/records.js';
export type { RecordsResolution } from './call-records/resolve.js';
export type { RequestOptions } from './call-records/send-request.js';
export type { RecordsFilter, RequestReader } from './call-records/store/requests.js';
export type { RecordsOptions } from './call-records/store/slots.js';
export type { RecordsState } from './call-records/store/states.js';
export type { RecordsRequest } from './call-records/store/view.js';
export type { ErrorCode, ErrorItem } from './campaign/errors/error-codes.js';
export {
  AmbiguousNameError,
  GoneError,
  InputError,
  InputErrors,
  KeyFullError,
  NoSuchLaneError,
  NotAllowedError,
  NotFoundError,
  OtherFormatError,
  SentMeanwhileError,
  VolleyError,
} from './campaign/errors/errors.js';
export type { WithTemplate } from './campaign/fields/campaign-fields.js';
export type { ReturnedFields } from './campaign/fields/field-schemas.js';
export type { CampaignFields } from './campaign/fields/fields.js';
export { type ActingFor, type Actor, describeActor } from './campaign/states/actor.js';
export { API_SCOPES, type ApiKey, type ApiKeyDetails, type ApiScope } from './campaign/states/api-key.js';
export { AUDIT_ACTIONS, type AuditAction, type AuditEntry } from './campaign/states/audit.js';
export type { BlockCode } from './campaign/states/block-codes.js';
export { CAMPAIGN_STATES, type CampaignState } from './campaign/states/campaign.js';
export type { ForgottenNumber } from './campaign/states/forgotten.js';
export type { InboundEffect, InboundMessage, LastSent, ListedMessage } from './campaign/states/inbound.js';
export { RECIPIENT_STATES, type RecipientState, SETTLED_STATES } from './campaign/states/recipient.js';
export type { ReportedStatus } from './campaign/states/reported-status.js';
export type { SuppressionOperation } from './campaign/states/suppression.js';
export type { Time } from './campaign/time/moment.js';
export type { CampaignChange, EarlierContent } from './campaign/views/change-views.js';
export type { Check } from './campaign/views/check-views.js';
export {
  INVALID_CODES,
  type InvalidCode,
  type InvalidGroup,
  type InvalidRow,
  type ListProblem,
  type NumbersOfCountry,
  type RepeatedRow,
} from './campaign/views/list-views.js';
export type { CampaignCost, TimeRange } from './campaign/views/measures.js';
export {
  type BulkResult,
  type CancelledMessage,
  type CancelResult,
  type CreatedOutbox,
  type LateCode,
  MESSAGE_STATES,
  type MessageState,
  type OutboxChange,
  type OutboxMessageStatus,
  type OutboxStatus,
  type PutOutbox,
  type PutOutcome,
  type PutResult,
} from './campaign/views/outbox-views.js';
export type { LaneFilter, PageOptions } from './campaign/views/page.js';
export type { PlannedCost, Preview, Refusal, Sample, SentBefore } from './campaign/views/preview-views.js';
export type {
  FoundRecipient,
  RecipientPage,
  RecipientResult,
  ReportedRecipient,
  ReportRow,
  ResultPage,
} from './campaign/views/recipient-views.js';
export type {
  Block,
  CampaignStatus,
  LaneStatus,
  NextPermits,
  RecipientCounts,
  SendWindow,
  TurnFailure,
  UnknownRequest,
} from './campaign/views/views.js';
export type { DeliveredEvent } from './campaign/views/webhook-events.js';
export type {
  FailedDelivery,
  Webhook,
  WebhookTest,
  WebhookWithSecret,
} from './campaign/views/webhook-views.js';
export type { ZoneStatus } from './campaign/views/zone-views.js';
export type { Inbound, InboundInput, InboundListOptions } from './engine/inbound/inbound-service.js';
export type { OperatorCommands } from './engine/lane/operator-commands.js';
export { LaneTakenError } from './engine/lane/stored-lanes.js';
export type { UsageCounts, UsageDay, UsageOptions, UsageReader } from './engine/lane/usage.js';
export type { NotificationService } from './engine/notifications/notification-service.js';
export type {
  SubscribeOutcome,
  Subscription,
  SubscriptionService,
  UnsubscribeOutcome,
} from './engine/notifications/subscription-service.js';
export type { SubscriptionStatus } from './engine/notifications/subscription-status.js';
export type { Role, WorkerProcess } from './engine/recovery/heartbeats.js';
export type { LaneDifference } from './engine/recovery/lane-settings.js';
export type { MessageResolution, Resolution, ResolveOutcome } from './engine/sending/unknown.js';
export { OtherRevisionError, OverBudgetError, UnpricedError } from './intake/changes/errors.js';
export type { CampaignChanges, ChangeCampaignOptions } from './intake/changes/set-campaign.js';
export type {
  CampaignInput,
  CampaignRefusal,
  CreatedCampaign,
  CsvStream,
  EnqueueOutcome,
  RefusedCampaign,
} from './intake/import/campaign-input.js';
export type { RecipientInput } from './intake/import/read-objects.js';
export type {
  ChangeOptions,
  NumberOptions,
  OperationsOptions,
  SuppressionChange,
  SuppressionEntry,
  SuppressionImport,
  SuppressionList,
} from './intake/import/suppression-list.js';
export type { OutboxCommands } from './intake/outbox/command-outbox.js';
export type { OutboxMessage } from './intake/outbox/definition/check-message.js';
export type { OutboxInput } from './intake/outbox/definition/define-outbox.js';
export {
  MessageLateError,
  MessagesUnfitError,
  OutboxClosedError,
  OutboxExistsError,
  OutboxNotEmptyError,
  RecoveringError,
} from './intake/outbox/definition/errors.js';
export type { OutboxDeleter } from './intake/outbox/delete-outbox.js';
export type { CsvColumns } from './intake/outbox/messages/read-messages.js';
export type { ImportOptions, Outbox } from './intake/outbox/outbox-methods.js';
export type {
  Outboxes,
  OutboxPage,
} from './intake/outbox/outboxes.js';
export type { OutboxSetter, OutboxSettingsInput, SetOptions } from './intake/outbox/set-outbox.js';
export type { MessagePageOptions } from './intake/outbox/views/list-messages.js';
export type { WaitingFilter, WaitingPage, WaitingPageOptions } from './intake/outbox/views/list-waiting.js';
export type { FollowUp, ScheduleSource } from './intake/schedules/schedule.js';
export type {
  AddedSchedule,
  Occurrence,
  ProvidedFor,
  ProvidedList,
  PutSchedule,
  Schedule,
  ScheduleDetails,
  ScheduleInput,
  SchedulePage,
  Schedules,
} from './intake/schedules/schedules.js';
export type {
  PutTemplate,
  Template,
  TemplateChoice,
  TemplateInput,
  Templates,
} from './intake/templates/templates.js';
export type {
  CampaignCount,
  CampaignFilter,
  CampaignPage,
  CampaignPageOptions,
  CampaignReader,
  UnknownOptions,
  UnknownPage,
  WaitOptions,
} from './reporting/campaign-reader.js';
export type { BroadcastEvent, EventFollower, FeedItem, FollowOptions } from './reporting/event-feed.js';
export type {
  CampaignCounts,
  ClosedCause,
  FleetReader,
  FleetSnapshot,
  LaneSnapshot,
  NotificationSnapshot,
  OutboxSnapshot,
  ScheduleTotals,
  UnconfiguredLane,
  WebhookTotals,
} from './reporting/fleet-snapshot.js';
export type { LiveReader } from './reporting/live/live.js';
export type {
  FindOptions,
  RecipientFinder,
  RecipientsOptions,
  ReportOptions,
  Reports,
} from './reporting/report.js';
export type { ResultsFeed, ResultsOptions } from './reporting/results-feed.js';
export type {
  FailedPage,
  NewWebhook,
  WebhookChoice,
  WebhookSettings,
  Webhooks,
} from './reporting/webhooks/webhook-methods.js';
export type { TokenCache } from './service/auth/token-cache.js';
export type { TokenState } from './service/auth/token-state.js';
export type {
  ConformanceCheck,
  ConformanceOptions,
  ConformanceResult,
  ConformanceSend,
  ConformanceWay,
} from './tools/conformance/report.js';
