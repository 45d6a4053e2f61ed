import type { Environment } from '../../../base/config/index.js';
import type { SimulatorOptions } from '../../../tools/simulator/index.js';

/**
 * The demo in numbers. An hour takes ten seconds. Within half a minute, Volley uses up a quota and waits, gets a 429,
 * learns the hidden quota, and refreshes expired tokens.
 */
const HOUR_MS = 10_000;
/** Requests per hour of the lane with a known quota. */
const MAIN_QUOTA = 250;
/** Of the lane that has to learn it; only the simulator knows it. */
const HIDDEN_QUOTA = 110;
const TOKEN_LIFE_MS = 8_000;
const SEED = 20_26;

/** The API key of the lane with a known quota. */
export const MAIN_KEY = 'demo-main';
const AUTO_ACCOUNT = { username: 'demo-auto', password: 'demo' };
/** One in this many numbers goes to the lane that learns its quota. */
export const AUTO_SHARE_OF = 3;

/** Worker processes. */
export const WORKERS = 2;
/** With its start and end, the demo takes less than a minute in any case. */
export const FINISHED_WITHIN_MS = 48_000;

/** The sender of the messages. */
const SENDER = 'ACME';
/** The country of the national numbers in the list. */
export const COUNTRY = 'GB';
/** The message of both campaigns. */
export const MESSAGE =
  'Hi {{name}}, spring is here: 20% off in {{city}} with {{voucher}}. Reply STOP to opt out.';

/** The simulated service. */
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

/** The lanes file. Its credentials are invented. */
export const LANES = [
  { name: 'main', apiKey: MAIN_KEY, hourlyQuota: MAIN_QUOTA },
  { name: 'auto', account: AUTO_ACCOUNT, hourlyQuota: 'auto' },
];

/** The settings of the workers and of the demo, without any of the user's. */
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
    HTTP_PORT: '0',
    QUOTA_WINDOW_MS: String(HOUR_MS),
    REQUEST_TIMEOUT_MS: String(HOUR_MS / 10),
    FOLLOW_UP_FIRST_MS: '2000',
    FOLLOW_UP_DEADLINE: '10m',
    RETENTION: '1h',
    LOG_LEVEL: 'info',
  };
}
