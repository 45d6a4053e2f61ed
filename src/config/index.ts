/*
 * The configuration as other rooms see it: what it is, how it is read, and the few things that it alone knows of.
 */
export { type CallbackSettings, type LaneCallback, laneCallback } from './callback.js';
export type { Config, HttpSettings, LocalConfig } from './config.js';
export { type Environment, loadDotEnv } from './dot-env.js';
export { ConfigError } from './error.js';
export type { Credentials, LaneRules, LaneSettings } from './lane.js';
export { type ConfigOptions, loadConfig, loadLocalConfig, type SimulatorAddress } from './load.js';
export { assertLoopback, isLoopback } from './loopback.js';
export { configHints } from './reading.js';
export { secretsOf } from './secrets.js';
export { sharedSettings } from './shared-settings.js';
