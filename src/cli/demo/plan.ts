import type { Environment } from '../../config/index.js';
import type { SimulatorOptions } from '../../simulator/index.js';

/**
 * The demo in numbers. An hour takes ten seconds, so that within half a minute a quota is used up and waited for, the
 * service answers 429, its hidden quota is learned, and tokens end and are refreshed.
 */
const HOUR_MS = 10_000;
/** Requests an hour of the lane whose quota is known. */
const MAIN_QUOTA = 250;
/** Of the lane that has to find it out; nobody but the simulator knows. */
const HIDDEN_QUOTA = 110;
const TOKEN_LIFE_MS = 8_000;
const SEED = 20_26;

/** The API key of the lane whose quota is known. */
export const MAIN_KEY = 'demo-main';
const AUTO_ACCOUNT = { username: 'demo-auto', password: 'demo' };
/** One number in so many goes to the lane that learns its quota. */
export const AUTO_SHARE_OF = 3;

/** Worker processes. */
export const WORKERS = 2;
/** With what comes before and after, the demo ends within a minute whatever happens. */
export const FINISHED_WITHIN_MS = 48_000;

/** Who the texts are from. */
export const SENDER = 'ACME';
/** The country that the list writes its numbers in. */
export const COUNTRY = 'GB';
/** The text of both campaigns. */
export const MESSAGE =
  'Hi {{name}}, spring is here: 20 % off in {{city}} with {{voucher}}. Reply STOP to opt out.';

/** The service that the demo runs against. */
export const SIMULATOR: SimulatorOptions = {
  seed: SEED,
  keys: [
    { key: MAIN_KEY, quota: MAIN_QUOTA, model: 'sliding', windowMs: HOUR_MS },
    { account: AUTO_ACCOUNT.username, quota: HIDDEN_QUOTA, model: 'sliding', windowMs: HOUR_MS },
  ],
  accounts: [AUTO_ACCOUNT],
  tokens: { accessLifetimeMs: TOKEN_LIFE_MS },
  latency: { kind: 'lognormal', medianMs: 25, sigma: 0.5, maxMs: 250 },
  deliveryTime: { kind: 'lognormal', medianMs: 900, sigma: 0.5, maxMs: 4_000 },
  impossible: 0.03,
};

/** Contents of the lanes file: all made up, so it may lie where it lies. */
export const LANES = [
  { name: 'main', apiKey: MAIN_KEY, hourlyQuota: MAIN_QUOTA },
  { name: 'auto', account: AUTO_ACCOUNT, hourlyQuota: 'auto' },
];

/** The settings of the workers and of the demo itself, and nothing of the user's. */
export function demoEnvironment(of: {
  redisUrl: string;
  prefix: string;
  lanesFile: string;
  messagingBaseUrl: string;
  accountBaseUrl: string;
}): Environment {
  return {
    REDIS_URL: of.redisUrl,
    REDIS_PREFIX: of.prefix,
    LANES_FILE: of.lanesFile,
    MESSAGING_BASE_URL: of.messagingBaseUrl,
    ACCOUNT_BASE_URL: of.accountBaseUrl,
    SENDER_ADDRESS: SENDER,
    DEFAULT_COUNTRY: COUNTRY,
    QUOTA_WINDOW_MS: String(HOUR_MS),
    REQUEST_TIMEOUT_MS: String(HOUR_MS / 10),
    FOLLOW_UP_FIRST_MS: '2000',
    FOLLOW_UP_DEADLINE: '10m',
    RETENTION: '1h',
    LOG_LEVEL: 'info',
  };
}
