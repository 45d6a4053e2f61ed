/* The configuration: its settings, how it is loaded and checked, and its secrets. */
export {
  type CallbackSettings,
  type Config,
  type ConfigOptions,
  type LocalConfig,
  loadConfig,
  loadLocalConfig,
  type SimulatorAddress,
} from './config.js';
export { ConfigError, type Environment, loadDotEnv } from './environment.js';
export type { Credentials, LaneRules, LaneSettings } from './lane.js';
export { assertLoopback, isLoopback } from './loopback.js';
export { configHints } from './read-settings.js';
export { type LaneCallback, laneCallback, secretsOf } from './secrets.js';
export { sharedSettings } from './shared-settings.js';
