/* The configuration: its settings, how it is loaded and checked, and its secrets. */

export { cleartextProblems, type Insecure, isThisMachine, redisExposure } from './cleartext.js';
export { defineConfig, type LaneInput, type VolleySettings } from './code-settings.js';
export {
  assertLoopback,
  type CallbackSettings,
  type Config,
  type LaneCallback,
  type LocalConfig,
  laneCallback,
  loadConfig,
  loadLocalConfig,
  type SubscriptionKind,
  secretsOf,
  serviceUrlOf,
  sharedSettings,
  withLanes,
} from './config.js';
export { accountOf, type Credentials } from './credentials.js';
export {
  ConfigError,
  type ConfigOptions,
  type Environment,
  loadDotEnv,
  type SimulatorAddress,
} from './environment.js';
export { readProblem, systemCode } from './file-problem.js';
export { isLoopback } from './formats.js';
export {
  type LaneRules,
  type LaneSettings,
  laneNameProblem,
  laneSchema,
  MAX_RECIPIENTS_PER_REQUEST,
} from './lane.js';
export { durationProblems } from './lanes.js';
export { readLane } from './lanes-file.js';
export { configHints } from './read-settings.js';
export { isSecretSet } from './secret-files.js';
export { messagingConnection, type ServiceConnection, serviceConnection } from './service-connection.js';
