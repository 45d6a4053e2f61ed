import type { CallbackSettings } from './config/callback.js';
import { accountsShared, crossProblems } from './config/checks.js';
import type { Environment } from './config/dot-env.js';
import { ConfigError } from './config/error.js';
import type { LaneRules, LaneSettings } from './config/lane.js';
import { readLanes } from './config/lanes.js';
import { assertLoopback } from './config/loopback.js';
import { configHints, readSettings } from './config/reading.js';
import type { LogLevel, Settings } from './config/settings.js';

export { type CallbackSettings, type LaneCallback, laneCallback } from './config/callback.js';
export { type Environment, loadDotEnv } from './config/dot-env.js';
export { DURATION_FORM, formatDuration, parseDuration } from './config/duration.js';
export { ConfigError } from './config/error.js';
export type { Credentials, LaneRules, LaneSettings, UnknownOutcome } from './config/lane.js';
export { DEFAULT_LANE } from './config/lanes.js';
export { assertLoopback, isLoopback } from './config/loopback.js';
export { configHints } from './config/reading.js';
export { redactedConfig, secretsOf } from './config/redacted.js';
export type { LogLevel } from './config/settings.js';

/** What a command needs that speaks only with Redis: no address of the service and no credentials. */
export interface LocalConfig {
  /** Undefined: the embedded server of `volley up`. */
  redisUrl: string | undefined;
  /** The beginning of every key, so that several installations can share a server. */
  redisPrefix: string;
  /** Milliseconds of answered writes that a power cut or a failover of Redis may take back; `auto`: asked of it. */
  redisMayLoseMs: number | 'auto';
  /** At least one. */
  lanes: readonly LaneRules[];
  /** The sender of campaigns that name none. */
  senderAddress?: string;
  senderName?: string;
  /** ISO 3166 code of the country whose national spelling numbers may be in. */
  defaultCountry?: string;
  /** The window that quotas are counted in: an hour, except in tests and demos. */
  quotaWindowMs: number;
  /** After this long without an answer a request's outcome is unknown. */
  requestTimeoutMs: number;
  /** From a request to its first poll, until the lane's own latency is known. */
  followUpFirstMs: number;
  /** From a request to the end of its polling. */
  followUpDeadlineMs: number;
  /** How long the data of a finished campaign is kept. */
  retentionMs: number;
  /** 32 bytes in base64 or hex; tokens are encrypted with it where they are kept. */
  secretsKey?: string;
  /** Where the service sends its notifications; without it delivery is only asked after. */
  callback?: CallbackSettings;
  /** Where the process serves its metrics; undefined: nowhere. Port 0: any free one. */
  metrics?: { host: string; port: number };
  logLevel: LogLevel;
  http: HttpSettings;
}

/** How the HTTP API is served. */
export interface HttpSettings {
  /** An address or host name of this machine. */
  host: string;
  /** 0: any that is free. */
  port: number;
  /** Of each key, in each process. */
  requestsPerMinute: number;
  /** The longest JSON body. */
  maxJsonBytes: number;
  /** The longest CSV. */
  maxUploadBytes: number;
}

const MEGABYTE = 1_000_000;

/** Everything: what workers need, and whatever else speaks with the service. */
export interface Config extends LocalConfig {
  /** The part before `/outbound`, without a trailing slash. */
  messagingBaseUrl: string;
  /** The part before `/api/login`, without a trailing slash. */
  accountBaseUrl: string;
  lanes: readonly LaneSettings[];
}

/** A simulator on this machine, in place of the service. */
export interface SimulatorAddress {
  messagingBaseUrl: string;
  accountBaseUrl: string;
  /** Used when no credentials are set; `simulator` when left out. */
  apiKey?: string;
}

export interface ConfigOptions {
  /** How `LANES_FILE` is read; tests pass their own. */
  readFile?: (path: string) => string;
  /** Overrides both base URLs, which must be loopback, and makes credentials optional. */
  simulator?: SimulatorAddress;
}

/**
 * Reads and checks the whole configuration, as workers need it. An empty setting counts as one that is not set.
 * Throws a {@link ConfigError} that lists every fault at once and repeats no secret.
 */
export function loadConfig(environment: Environment, options: ConfigOptions = {}): Config {
  const { simulator } = options;
  if (simulator !== undefined) {
    assertLoopback(simulator.messagingBaseUrl);
    assertLoopback(simulator.accountBaseUrl);
  }
  const reading = readSettings(environment);
  const { settings, problems } = reading;
  const filed = readLanes(reading, { ...options, environment });
  const lanes = filed.flatMap(({ credentials, ...rules }) =>
    credentials === undefined ? [] : [{ ...rules, credentials }],
  );
  problems.push(...accountsShared(lanes), ...crossProblems(reading, filed));

  const messagingBaseUrl = simulator?.messagingBaseUrl ?? settings.MESSAGING_BASE_URL;
  if (messagingBaseUrl === undefined && !reading.given.has('MESSAGING_BASE_URL')) {
    problems.push(
      'MESSAGING_BASE_URL must be set: the address of the messaging service, the part before /outbound',
    );
  }
  if (problems.length > 0 || messagingBaseUrl === undefined) {
    throw new ConfigError([...problems, ...configHints(environment)]);
  }
  return {
    ...shared(settings),
    messagingBaseUrl,
    accountBaseUrl:
      simulator?.accountBaseUrl ?? settings.ACCOUNT_BASE_URL ?? new URL(messagingBaseUrl).origin,
    lanes,
  };
}

/**
 * Reads what a command needs that speaks only with Redis, such as `list`, `status` or `preview`: no address of the
 * service and no credentials have to be set, and variables that a lanes file names are not looked up. What is set is
 * checked as strictly as in {@link loadConfig}.
 */
export function loadLocalConfig(
  environment: Environment,
  options: Pick<ConfigOptions, 'readFile'> = {},
): LocalConfig {
  const reading = readSettings(environment);
  const lanes = readLanes(reading, options).map(({ credentials: _, ...rules }) => rules);
  reading.problems.push(...crossProblems(reading, lanes));
  if (reading.problems.length > 0) throw new ConfigError([...reading.problems, ...configHints(environment)]);
  return { ...shared(reading.settings), lanes };
}

function shared(settings: Settings): Omit<LocalConfig, 'lanes'> {
  const { SENDER_ADDRESS, SENDER_NAME, DEFAULT_COUNTRY, SECRETS_KEY, METRICS_PORT } = settings;
  const { CALLBACK_URL, CALLBACK_SECURITY_TOKEN, CALLBACK_PROOF } = settings;
  return {
    redisUrl: settings.REDIS_URL,
    redisPrefix: settings.REDIS_PREFIX,
    redisMayLoseMs: settings.REDIS_MAY_LOSE,
    ...(SENDER_ADDRESS === undefined ? {} : { senderAddress: SENDER_ADDRESS }),
    ...(SENDER_NAME === undefined ? {} : { senderName: SENDER_NAME }),
    ...(DEFAULT_COUNTRY === undefined ? {} : { defaultCountry: DEFAULT_COUNTRY }),
    quotaWindowMs: settings.QUOTA_WINDOW_MS,
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    followUpFirstMs: settings.FOLLOW_UP_FIRST_MS,
    followUpDeadlineMs: settings.FOLLOW_UP_DEADLINE,
    retentionMs: settings.RETENTION,
    ...(SECRETS_KEY === undefined ? {} : { secretsKey: SECRETS_KEY }),
    ...(CALLBACK_URL === undefined || CALLBACK_SECURITY_TOKEN === undefined
      ? {}
      : {
          callback: { url: CALLBACK_URL, securityToken: CALLBACK_SECURITY_TOKEN, proof: CALLBACK_PROOF },
        }),
    ...(METRICS_PORT === undefined ? {} : { metrics: { host: settings.METRICS_HOST, port: METRICS_PORT } }),
    logLevel: settings.LOG_LEVEL,
    http: {
      host: settings.HTTP_HOST,
      port: settings.HTTP_PORT,
      requestsPerMinute: settings.HTTP_REQUESTS_PER_MINUTE,
      maxJsonBytes: settings.HTTP_MAX_JSON_MB * MEGABYTE,
      maxUploadBytes: settings.HTTP_MAX_UPLOAD_MB * MEGABYTE,
    },
  };
}
