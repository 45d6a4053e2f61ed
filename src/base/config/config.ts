import { createHash, createHmac, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { costProblem } from '../../campaign/limits/check-limits.js';
import type { PriceList } from '../../campaign/limits/price.js';
import { formatDuration } from '../duration.js';
import type { LaneId } from '../redis/keys.js';
import { parseRedisUrl } from '../redis/redis-url.js';
import { version } from '../version.js';
import { cleartextProblems } from './cleartext.js';
import { accountOf } from './credentials.js';
import { ConfigError, type ConfigOptions, type Environment } from './environment.js';
import { textOfFile } from './file-problem.js';
import { isLoopback } from './formats.js';
import type { LaneRules, LaneSettings } from './lane.js';
import { readLanes } from './lanes.js';
import { readPrices } from './price-file.js';
import { configHints, type Reading, readInput, readSettings } from './read-settings.js';
import { readSecretFiles } from './secret-files.js';
import { configMembers, type Settings } from './settings.js';

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
  /** Set if the lanes have no order: where there are several, a request must name one. */
  noFirstLane?: true;
}

/** The whole configuration, for workers and commands that call the service. */
export interface Config extends LocalConfig {
  /** The part before `/outbound`, without a trailing slash. */
  messagingBaseUrl: string;
  /** The part before `/api/login`, without a trailing slash. */
  accountBaseUrl: string;
  /** Where OAuth 2 clients get their tokens; undefined if it is not set. */
  tokenUrl: string | undefined;
  /** The address of a proxy for https services. */
  httpsProxy: string | undefined;
  /** Hosts that are reached without the proxy. */
  noProxy: string;
  /** Certificates in PEM that the services may use beside the public ones. */
  serviceCa: string | undefined;
  lanes: readonly LaneSettings[];
  /** Lanes of `LANES_FILE` that this process cannot serve, because their credentials are not in its environment; and a sentence for each. */
  lanesWithoutCredentials: { readonly names: readonly string[]; readonly problems: readonly string[] };
}

/**
 * Loads and checks the whole configuration. An empty setting counts as not set, and a name that is close to that of a setting is an error. Throws a {@link ConfigError} that
 * contains every problem and no secret.
 */
export function loadConfig(given: Environment, more: ConfigOptions = {}): Config {
  const { environment, options, notTexts } = readInput(given, more);
  const { simulator } = options;
  if (simulator !== undefined) {
    assertLoopback(simulator.messagingBaseUrl);
    assertLoopback(simulator.accountBaseUrl);
    if (simulator.v3 !== undefined) Object.values(simulator.v3).forEach(assertLoopback);
  }
  const secrets = readSecretFiles(environment, options);
  const reading = readSettings(secrets);
  const { settings, problems } = reading;
  problems.push(...notTexts);
  const serviceCa = readServiceCa(reading, options);
  const prices = readPrices(reading, options);
  const read = readLanes(reading, options, secrets.environment);
  const lanes = read.lanes.flatMap(({ credentials, ...rules }) =>
    credentials === undefined ? [] : [{ ...rules, ...simulatedUrl(rules, simulator), credentials }],
  );
  problems.push(...costProblems(read.lanes, prices));
  const without = read.lanes.filter(({ credentials }) => credentials === undefined);
  const hasClients = lanes.some(({ credentials }) => accountOf(credentials)?.scope !== undefined);
  const tokenUrl = simulator?.v3?.tokenUrl ?? settings.TOKEN_URL;
  if (hasClients && tokenUrl === undefined && !reading.isSet.has('TOKEN_URL')) {
    problems.push('TOKEN_URL must be set: the address at which the clients of LANES_FILE get their tokens');
  }
  const messagingBaseUrl = simulator?.messagingBaseUrl ?? settings.MESSAGING_BASE_URL;
  if (messagingBaseUrl === undefined && !reading.isSet.has('MESSAGING_BASE_URL')) {
    problems.push(
      'MESSAGING_BASE_URL must be set: the address of the messaging service, the part before /outbound',
    );
  }
  problems.push(
    ...cleartextProblems({
      ...exposureOf(settings),
      services: {
        MESSAGING_BASE_URL: messagingBaseUrl,
        ACCOUNT_BASE_URL: settings.ACCOUNT_BASE_URL,
        TOKEN_URL: tokenUrl,
        ...Object.fromEntries(
          lanes.map(({ name, baseUrl }) => [`LANES_FILE, lane "${name}": baseUrl`, baseUrl]),
        ),
      },
      hasAccounts:
        settings.RECORDS_CLIENT_ID !== undefined ||
        lanes.some(({ credentials }) => accountOf(credentials) !== undefined),
    }),
  );
  const misspelled = misspelledIn(environment);
  if (problems.length + misspelled.length > 0 || messagingBaseUrl === undefined) {
    throw new ConfigError([...problems, ...read.missing, ...misspelled]);
  }
  const accountBaseUrl =
    simulator?.accountBaseUrl ?? settings.ACCOUNT_BASE_URL ?? new URL(messagingBaseUrl).origin;
  const { HTTPS_PROXY: httpsProxy, NO_PROXY: noProxy = '' } = settings;
  const local = localConfig(settings, prices);
  return {
    ...local,
    records: { ...local.records, simulatorOrigin: simulator?.accountBaseUrl },
    storedLanes: { v1: messagingBaseUrl, v3: simulator?.v3?.messagingBaseUrl ?? messagingBaseUrl, tokenUrl },
    messagingBaseUrl,
    accountBaseUrl,
    tokenUrl,
    httpsProxy,
    noProxy,
    serviceCa,
    lanes,
    lanesWithoutCredentials: { names: without.map(({ name }) => name), problems: read.missing },
  };
}

/**
 * Loads what commands need that only use Redis, such as `list`, `status` or `preview`. The addresses of the service and
 * the credentials may be missing, and the variables that a lanes file names are not looked up. Settings that are set
 * are checked as in {@link loadConfig}.
 */
export function loadLocalConfig(given: Environment, more: Pick<ConfigOptions, 'readFile'> = {}): LocalConfig {
  const { environment, options, notTexts } = readInput(given, more);
  const reading = readSettings(readSecretFiles(environment, { ...options, local: true }));
  const lanes = readLanes(reading, options).lanes.map(({ credentials: _credentials, ...rules }) => rules);
  const prices = readPrices(reading, options);
  const { settings, problems } = reading;
  problems.push(...notTexts, ...costProblems(lanes, prices));
  // Commands that only use Redis neither call the services nor store tokens.
  problems.push(...cleartextProblems({ ...exposureOf(settings), services: {}, hasAccounts: false }));
  const misspelled = misspelledIn(environment);
  if (problems.length + misspelled.length > 0) throw new ConfigError([...problems, ...misspelled]);
  return { ...localConfig(settings, prices), lanes };
}

/** Daily limits of lanes in another currency than the prices. */
const costProblems = (lanes: readonly LaneRules[], prices: PriceList | undefined): string[] =>
  lanes.flatMap(({ name, limits }) => {
    const problem = costProblem(limits, prices?.currency);
    return problem === null ? [] : [`lane ${name}: the limit costPerDay ${problem}`];
  });

/** With its default instead of a misspelled setting, a process would do something else than its operator wants. */
const misspelledIn = (environment: Environment): string[] =>
  configHints(environment).map((hint) => `${hint} Unset it for Volley if another program needs it`);

/** The address of a lane's service; undefined if only the workers have it. */
export function serviceUrlOf(
  { storedLanes }: Pick<LocalConfig, 'storedLanes'>,
  { baseUrl, profile, stored }: LaneRules,
): string | undefined {
  return baseUrl ?? storedLanes[stored === undefined ? 'v1' : profile];
}

/** The address that a lane has with a simulator. */
function simulatedUrl({ profile }: LaneRules, simulator: ConfigOptions['simulator']): { baseUrl?: string } {
  if (simulator === undefined) return {};
  return {
    baseUrl: (profile === 'v3' ? simulator.v3?.messagingBaseUrl : undefined) ?? simulator.messagingBaseUrl,
  };
}

function exposureOf(settings: Settings) {
  return {
    allowed: settings.ALLOW_INSECURE ?? [],
    redisUrl: withPassword(settings.REDIS_URL, settings.REDIS_PASSWORD),
    secretsKey: settings.SECRETS_KEY,
    previousSecretsKey: settings.SECRETS_KEY_PREVIOUS,
  };
}

/** The certificates of `SERVICE_CA_FILE`. Problems are added to `reading`. */
function readServiceCa(
  { settings, problems }: Reading,
  { readFile = (path) => readFileSync(path, 'utf8') }: ConfigOptions,
): string | undefined {
  const file = settings.SERVICE_CA_FILE;
  const pem = file && textOfFile('SERVICE_CA_FILE', file, readFile, problems);
  if (pem === undefined) return undefined;
  try {
    const certificates = pem.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
    // Throws unless it can be parsed. TLS would ignore it.
    for (const certificate of certificates) new X509Certificate(certificate);
    if (certificates.length > 0) return pem;
    problems.push(`SERVICE_CA_FILE must contain certificates in PEM; ${file} contains none`);
  } catch {
    problems.push(`SERVICE_CA_FILE must contain certificates in PEM; one in ${file} is not valid`);
  }
  return undefined;
}

/**
 * Throws a {@link ConfigError} unless the URL's host is this machine. Demos, tests, and the simulator call it, so that
 * trying out Volley never sends a real message.
 */
export function assertLoopback(url: string): void {
  if (isLoopback(url)) return;
  throw new ConfigError([
    'only a base URL on this machine (127.0.0.0/8, [::1] or localhost) is allowed here, so that no real message is sent',
  ]);
}

function localConfig(settings: Settings, prices: PriceList | undefined) {
  const { CALLBACK_URL: url, CALLBACK_SECURITY_TOKEN: securityToken, CALLBACK_PROOF: proof } = settings;
  const callback: CallbackSettings | undefined =
    url && securityToken ? { url, securityToken, proof } : undefined;
  const { METRICS_HOST, METRICS_PORT, METRICS_ALLOWED_HOSTS, FOLLOW_UP_DEADLINE } = settings;
  const members = configMembers(settings);
  return {
    ...members,
    /** Undefined: the embedded server of `volley up`. */
    redisUrl: withPassword(settings.REDIS_URL, settings.REDIS_PASSWORD),
    /** Undefined: what messages cost is not known. */
    prices,
    /** With `never`, no request is followed up for longer than its campaign may last. */
    followUpDeadlineMs: FOLLOW_UP_DEADLINE === 'never' ? settings.MAX_CAMPAIGN_AGE : FOLLOW_UP_DEADLINE,
    /** How long the requests of a campaign are followed up after it has reached its maximum age. */
    followUpPastMaxAgeMs: FOLLOW_UP_DEADLINE === 'never' ? 0 : FOLLOW_UP_DEADLINE,
    /** What lanes that are stored in Redis use: their addresses come only from here (engine/lane/stored-lanes.ts). */
    storedLanes: {
      v1: settings.MESSAGING_BASE_URL,
      v3: settings.MESSAGING_BASE_URL,
      tokenUrl: settings.TOKEN_URL,
    },
    /** What may be unprotected off this machine. */
    allowInsecure: settings.ALLOW_INSECURE ?? [],
    callback,
    records: {
      ...members.records,
      /** Replaces the origin of the contract. */
      simulatorOrigin: undefined as string | undefined,
    },
    /** Where the process serves its metrics; undefined: nowhere. */
    metrics:
      METRICS_PORT === undefined
        ? undefined
        : { host: METRICS_HOST, port: METRICS_PORT, allowedHosts: METRICS_ALLOWED_HOSTS },
  };
}

/** A Redis URL with this password. */
function withPassword(url: string | undefined, password: string | undefined): string | undefined {
  if (url === undefined || password === undefined) return url;
  return url.replace(
    /^([^/]*\/\/)(?:([^:@/]*):?@)?/,
    (_, scheme: string, user = '') => `${scheme}${user}:${encodeURIComponent(password)}@`,
  );
}

/** The address and security token of one lane's subscription. */
export interface LaneCallback {
  /** The secret last part of the address. */
  readonly segment: string;
  readonly url: string;
  readonly securityToken: string;
}

/** What a subscription is to: the delivery reports of sent messages (`callback`), or the messages that people send. */
export type SubscriptionKind = 'callback' | 'inbound';

/**
 * The callback of one lane. Address and token are derived from the security token and the lane's id, so every process
 * knows them and nothing is stored. The service never receives the security token itself: anyone with the API key of
 * one lane can read that lane's subscription there, and must not learn those of other lanes from it.
 */
export function laneCallback(
  { url, securityToken }: CallbackSettings,
  lane: LaneId,
  of: SubscriptionKind = 'callback',
): LaneCallback {
  const derive = (purpose: string): string =>
    createHmac('sha256', securityToken).update(`volley ${purpose}\0${lane}`).digest('base64url');
  const segment = derive(`${of} address`);
  return { segment, url: `${url}/${segment}`, securityToken: derive(`${of} token`) };
}

/** The same configuration, whose `lanes` are those that `lanes` returns when they are read. */
export function withLanes<Configuration extends Config | LocalConfig>(
  config: Configuration,
  lanes: () => Configuration['lanes'],
): Configuration {
  return Object.defineProperty({ ...config }, 'lanes', { get: lanes, enumerable: true });
}

/** Every secret of the configuration, for the log to mask. */
export function secretsOf(config: Config | LocalConfig): string[] {
  const { lanes, callback, secretsKey, previousSecretsKey, redisUrl } = config;
  const proxyUrl = 'httpsProxy' in config ? config.httpsProxy : undefined;
  const proxyPassword = proxyUrl === undefined ? undefined : new URL(proxyUrl).password || undefined;
  const written = /^[^/]*\/\/[^:@/]*:([^@/]+)@/.exec(redisUrl ?? '')?.[1];
  const redis = [written, redisUrl === undefined ? undefined : parseRedisUrl(redisUrl).password];
  const perLane = lanes.flatMap((lane) => {
    const callbacks = callback
      ? (['callback', 'inbound'] as const).map((of) => laneCallback(callback, lane.name, of))
      : [];
    const ofCallbacks = callbacks.flatMap(({ segment, securityToken }) => [segment, securityToken]);
    if (!('credentials' in lane)) return ofCallbacks;
    const { credentials } = lane;
    const apiKey = credentials.kind === 'apiKey' ? credentials.apiKey : undefined;
    return [...ofCallbacks, apiKey, accountOf(credentials)?.password];
  });
  const all = [...perLane, callback?.securityToken, secretsKey, previousSecretsKey, ...redis, proxyPassword];
  return [...new Set(all)].filter((secret) => secret !== undefined);
}

/**
 * The settings that must be the same for all workers, because any worker may serve any lane: name and value, without
 * secrets. Lanes are represented by their number and a digest of their rules.
 */
export function sharedSettings(config: Config): Readonly<Record<string, string>> {
  const { callback, redisMayLoseMs } = config;
  const rules = config.lanes.map(({ credentials: _secret, ...lane }) => lane);
  return {
    version,
    'lanes and their rules': `${rules.length} ${rules.length === 1 ? 'lane' : 'lanes'} (${digest(rules)})`,
    MESSAGING_BASE_URL: config.messagingBaseUrl,
    QUOTA_WINDOW_MS: String(config.quotaWindowMs),
    REQUEST_TIMEOUT_MS: String(config.requestTimeoutMs),
    FOLLOW_UP_DEADLINE:
      config.followUpPastMaxAgeMs === 0 ? 'never' : formatDuration(config.followUpDeadlineMs),
    RETENTION: formatDuration(config.retentionMs),
    MAX_CAMPAIGN_AGE: formatDuration(config.maxCampaignAgeMs),
    REDIS_MAY_LOSE: redisMayLoseMs === 'auto' ? 'auto' : formatDuration(redisMayLoseMs),
    SECRETS_KEY: config.secretsKey === undefined ? 'not set' : 'set',
    CALLBACK_URL: callback?.url ?? 'not set',
    ...(callback === undefined ? {} : { CALLBACK_PROOF: callback.proof }),
  };
}

/** Does not depend on the order of the lanes or of their fields. */
function digest(rules: readonly { readonly name: string }[]): string {
  const sorted = rules.map((lane) => JSON.stringify(Object.entries(lane).sort())).sort();
  return createHash('sha256').update(sorted.join('\n')).digest('hex').slice(0, 6);
}
