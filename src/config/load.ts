import { accountsShared, crossProblems } from './checks.js';
import type { Config, LocalConfig } from './config.js';
import type { Environment } from './dot-env.js';
import { ConfigError } from './error.js';
import { readLanes } from './lanes.js';
import { assertLoopback } from './loopback.js';
import { configHints, readSettings } from './reading.js';
import type { Settings } from './settings.js';

const MEGABYTE = 1_000_000;

/** A simulator on this machine, in place of the service. */
export interface SimulatorAddress {
  messagingBaseUrl: string;
  accountBaseUrl: string;
}

/** How a configuration is read. */
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
  const filed = readLanes(reading, {
    readFile: options.readFile,
    environment,
    isSimulated: simulator !== undefined,
  });
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
  const lanes = readLanes(reading, { readFile: options.readFile }).map(
    ({ credentials: _, ...rules }) => rules,
  );
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
