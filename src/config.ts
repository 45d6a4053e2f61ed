/*
 * The configuration as other rooms see it: what it is, how it is read, and the few things that it alone knows of.
 */
export { type CallbackSettings, type LaneCallback, laneCallback } from './config/callback.js';
export type { Config, HttpSettings, LocalConfig } from './config/config.js';
export { type Environment, loadDotEnv } from './config/dot-env.js';
export { DURATION_FORM, formatDuration, parseDuration } from './config/duration.js';
export { ConfigError } from './config/error.js';
export type { Credentials, LaneRules, LaneSettings } from './config/lane.js';
export { type ConfigOptions, loadConfig, loadLocalConfig, type SimulatorAddress } from './config/load.js';
export { assertLoopback, isLoopback } from './config/loopback.js';
export { configHints } from './config/reading.js';
export { secretsOf } from './config/secrets.js';
export { sharedSettings } from './config/shared-settings.js';
