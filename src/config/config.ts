import { ConfigError, type Environment } from './environment.js';
import type { LaneRules, LaneSettings } from './lane.js';
import { readLanes } from './lanes.js';
import { assertLoopback } from './loopback.js';
import { configHints, readSettings } from './read-settings.js';
import type { Settings } from './settings.js';

const BYTES_PER_MEGABYTE = 1_000_000;

/** Where the service sends notifications, and how they prove that the service sent them. */
export interface CallbackSettings {
  /** The public address of the receiver, without a trailing slash. */
  readonly url: string;
  readonly securityToken: string;
  /**
   * `token`: a notification must carry the lane's security token; `path`: its secret address is enough. The interface
   * page does not show whether and how the service sends the token.
   */
  readonly proof: 'token' | 'path';
}

/** What commands need that only use Redis. Each value is the setting of the same name in `.env.example`. */
export interface LocalConfig extends ReturnType<typeof localConfig> {
  /** At least one. */
  lanes: readonly LaneRules[];
}

/** The whole configuration, for workers and commands that call the service. */
export interface Config extends LocalConfig {
  /** The part before `/outbound`, without a trailing slash. */
  messagingBaseUrl: string;
  /** The part before `/api/login`, without a trailing slash. */
  accountBaseUrl: string;
  lanes: readonly LaneSettings[];
}

/** How a configuration is loaded. */
export interface ConfigOptions {
  /** Reads `LANES_FILE`; the default reads it from disk. */
  readFile?: (path: string) => string;
  /** Replaces both base URLs, which must be loopback addresses, and makes credentials optional. */
  simulator?: SimulatorAddress;
}

/** The addresses of a simulator on this machine. */
export interface SimulatorAddress {
  messagingBaseUrl: string;
  accountBaseUrl: string;
}

/**
 * Loads and checks the whole configuration. An empty setting counts as not set. Throws a {@link ConfigError} that
 * contains every problem and no secret.
 */
export function loadConfig(environment: Environment, options: ConfigOptions = {}): Config {
  const { simulator } = options;
  if (simulator !== undefined) {
    assertLoopback(simulator.messagingBaseUrl);
    assertLoopback(simulator.accountBaseUrl);
  }
  const reading = readSettings(environment);
  const { settings, problems } = reading;
  const lanes = readLanes(reading, options, environment).flatMap(({ credentials, ...rules }) =>
    credentials === undefined ? [] : [{ ...rules, credentials }],
  );
  const messagingBaseUrl = simulator?.messagingBaseUrl ?? settings.MESSAGING_BASE_URL;
  if (messagingBaseUrl === undefined && !reading.isSet.has('MESSAGING_BASE_URL')) {
    problems.push(
      'MESSAGING_BASE_URL must be set: the address of the messaging service, the part before /outbound',
    );
  }
  if (problems.length > 0 || messagingBaseUrl === undefined) {
    throw new ConfigError([...problems, ...configHints(environment)]);
  }
  const accountBaseUrl =
    simulator?.accountBaseUrl ?? settings.ACCOUNT_BASE_URL ?? new URL(messagingBaseUrl).origin;
  return { ...localConfig(settings), messagingBaseUrl, accountBaseUrl, lanes };
}

/**
 * Loads what commands need that only use Redis, such as `list`, `status` or `preview`. The addresses of the service and
 * the credentials may be missing, and the variables that a lanes file names are not looked up. Settings that are set
 * are checked as in {@link loadConfig}.
 */
export function loadLocalConfig(
  environment: Environment,
  options: Pick<ConfigOptions, 'readFile'> = {},
): LocalConfig {
  const reading = readSettings(environment);
  const lanes = readLanes(reading, options).map(({ credentials: _credentials, ...rules }) => rules);
  if (reading.problems.length > 0) throw new ConfigError([...reading.problems, ...configHints(environment)]);
  return { ...localConfig(reading.settings), lanes };
}

function localConfig(settings: Settings) {
  const { CALLBACK_URL: url, CALLBACK_SECURITY_TOKEN: securityToken, CALLBACK_PROOF: proof } = settings;
  const callback: CallbackSettings | undefined =
    url && securityToken ? { url, securityToken, proof } : undefined;
  const { METRICS_HOST, METRICS_PORT } = settings;
  return {
    /** Undefined: the embedded server of `volley up`. */
    redisUrl: settings.REDIS_URL,
    redisPrefix: settings.REDIS_PREFIX,
    /** `auto`: ask Redis. */
    redisMayLoseMs: settings.REDIS_MAY_LOSE,
    senderAddress: settings.SENDER_ADDRESS,
    senderName: settings.SENDER_NAME,
    defaultCountry: settings.DEFAULT_COUNTRY,
    quotaWindowMs: settings.QUOTA_WINDOW_MS,
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    followUpFirstMs: settings.FOLLOW_UP_FIRST_MS,
    followUpDeadlineMs: settings.FOLLOW_UP_DEADLINE,
    retentionMs: settings.RETENTION,
    secretsKey: settings.SECRETS_KEY,
    callback,
    /** Where the process serves its metrics; undefined: nowhere. */
    metrics: METRICS_PORT === undefined ? undefined : { host: METRICS_HOST, port: METRICS_PORT },
    logLevel: settings.LOG_LEVEL,
    http: {
      host: settings.HTTP_HOST,
      port: settings.HTTP_PORT,
      requestsPerMinute: settings.HTTP_REQUESTS_PER_MINUTE,
      maxJsonBytes: settings.HTTP_MAX_JSON_MB * BYTES_PER_MEGABYTE,
      maxUploadBytes: settings.HTTP_MAX_UPLOAD_MB * BYTES_PER_MEGABYTE,
    },
  };
}
