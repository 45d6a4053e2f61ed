export * from './campaign/errors.js';
export * from './campaign/status.js';
export * from './campaign/views.js';
export {
  type Config,
  ConfigError,
  type LocalConfig,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
} from './config.js';
export {
  createEvents,
  type EventOf,
  type Events,
  type EventsOptions,
  type EventType,
  type VolleyEvent,
} from './events.js';
export type { RecipientInput } from './list/row-objects.js';
export type * from './pipeline/campaign-input.js';
export type { Census, LaneCensus } from './pipeline/census.js';
export type { FedEvent, FeedItem } from './pipeline/event-feed.js';
export type { CallbackState, NotificationDesk } from './pipeline/notifications/notification-desk.js';
export type {
  Subscribed,
  Subscription,
  SubscriptionDesk,
  Unsubscribed,
} from './pipeline/notifications/subscription.js';
export type { Role, WorkerProcess } from './pipeline/roster.js';
export type { Resolution, ResolveOutcome, TokenCache, TokenState } from './pipeline/volley.js';
export * from './runtime.js';
