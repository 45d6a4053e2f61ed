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
export { createEvents, type Events, type VolleyEvent } from './events.js';
export type { RecipientInput } from './list/row-objects.js';
export type * from './pipeline/campaign-input.js';
export type { FedEvent, FeedItem } from './pipeline/event-feed.js';
export * from './runtime.js';
