import { isSupportedCountry } from 'libphonenumber-js/max';
import { z } from 'zod';
import { checkSender } from '../campaign/sender.js';
import { parseRedisUrl } from '../redis/connection.js';
import { DURATION_FORM, parseDuration } from './duration.js';
import { isLoopback } from './loopback.js';

/** Says what would be right, as the rest of a sentence that begins with the setting's name. */
type Reader<Value> = (text: string) => Value | Wrong;
class Wrong {
  readonly wanted: string;
  constructor(wanted: string) {
    this.wanted = wanted;
  }
}

/** A text that `read` turns into its value; what it wants instead becomes the problem's message. */
function text<Value>(read: Reader<Value>) {
  return z.string().transform((given, context): Value => {
    const value = read(given);
    if (!(value instanceof Wrong)) return value;
    context.addIssue(value.wanted);
    return z.NEVER;
  });
}

const count = (min: number, max: number, unit: string): Reader<number> => {
  const form = `must be a whole number of ${unit} from ${min} to ${max}`;
  return (given) => {
    const span = parseDuration(given);
    if (unit === 'milliseconds' && span !== undefined) {
      return new Wrong(`${form}, without a unit: ${span}`);
    }
    const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
    return value >= min && value <= max ? value : new Wrong(form);
  };
};

const span = (min: string, max: string): Reader<number> => {
  const [least, most] = [parseDuration(min) ?? 0, parseDuration(max) ?? 0];
  return (given) => {
    const value = parseDuration(given);
    if (value === undefined) return new Wrong(`must be ${DURATION_FORM}`);
    return value >= least && value <= most ? value : new Wrong(`must be from ${min} to ${max}`);
  };
};

/** The largest hourly quota: what one lane, served by one process, can put on the wire. */
const MAX_HOURLY_QUOTA = 10_000_000;

/** The most recipients one request may be set to; beyond it a single answer would be megabytes. */
const MAX_RECIPIENTS = 1_000;

const HOURLY_QUOTA = `must be a whole number of requests an hour from 1 to ${MAX_HOURLY_QUOTA}, or "auto"`;

/** Requests an hour, or `auto`: found out from the service's own 429. */
export const hourlyQuota = z.union(
  [z.literal('auto'), z.int().min(1, HOURLY_QUOTA).max(MAX_HOURLY_QUOTA, HOURLY_QUOTA)],
  HOURLY_QUOTA,
);

/** Recipients that share one send request. */
export const maxRecipientsPerRequest = z
  .int(`must be a whole number from 1 to ${MAX_RECIPIENTS}`)
  .min(1, 'must be at least 1')
  .max(MAX_RECIPIENTS, `must be at most ${MAX_RECIPIENTS}`);

function readQuota(given: string): number | 'auto' | Wrong {
  const read = hourlyQuota.safeParse(/^\d+$/.test(given) ? Number(given) : given);
  return read.success ? read.data : new Wrong(HOURLY_QUOTA);
}

function readMayLose(given: string): number | 'auto' | Wrong {
  if (given === 'auto') return given;
  const value = span('0s', '1m')(given);
  return value instanceof Wrong ? new Wrong(`${value.wanted}, or "auto"`) : value;
}

function readRedisUrl(given: string): string | Wrong {
  try {
    // A password with an unescaped / or @ ends up in the host.
    if (parseRedisUrl(given).nodes.every(({ host }) => /^[^@:\s]+$|^\[[^\]]+\]$/.test(host))) return given;
  } catch {
    // The parser's own message may hold a piece of the password when an escape in it is broken.
  }
  return new Wrong(
    'must be a Redis URL: redis://host:6379, rediss://user:password@host:6379/0, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:7000,host:7001; special letters in a password are written as %40, %2F, …',
  );
}

/** Base URLs come with a trailing slash or with the first step of the path, which are put right. */
const baseUrl =
  (before: string): Reader<string> =>
  (given) => {
    const form = `must be an http(s) URL, the part before ${before}, such as https://host.example${before === '/outbound' ? '/smsmessaging/v1' : ''}`;
    if (!URL.canParse(given)) return new Wrong(form);
    const url = new URL(given);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return new Wrong(form);
    if (url.username !== '' || url.password !== '') {
      return new Wrong('must not hold a user or password: credentials have settings of their own');
    }
    if (url.search !== '' || url.hash !== '') return new Wrong('must not hold a ? or # part');
    const path = url.pathname.replace(/\/+$/, '');
    const base = path.endsWith(before) ? path.slice(0, -before.length) : path;
    if (`${base}/`.includes(`${before}/`)) {
      return new Wrong(`must be only the part before ${before}: ${url.origin}${base.split(before)[0]}`);
    }
    return url.origin + base.replace(/\/+$/, '');
  };

const CALLBACK_URL =
  'must be an https address that the service can reach, such as https://sms.example.com/notifications; http only on this machine';

function readCallbackUrl(given: string): string | Wrong {
  if (!URL.canParse(given)) return new Wrong(CALLBACK_URL);
  const url = new URL(given);
  if (url.protocol !== 'https:' && !isLoopback(given)) return new Wrong(CALLBACK_URL);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return new Wrong(
      'must not hold a user, a password, a ? or a # part: Volley adds a secret path of its own',
    );
  }
  // To the router of our own door * means anything and %2F is no slash; and below /v1 lies the API.
  if (/\*|%2f/i.test(url.pathname) || /^\/v1(\/|$)/.test(url.pathname)) {
    return new Wrong('must have a path without * and %2F, and not below /v1, where the HTTP API is');
  }
  return url.href.replace(/\/+$/, '');
}

function readSender(given: string): string | Wrong {
  const form = checkSender(given);
  if (form.kind !== 'invalid') return given;
  return new Wrong(
    `must be a number of up to 15 digits, or a text of up to 11 letters: ${form.reason.replace(/\.$/, '')}`,
  );
}

function readCountry(given: string): string | Wrong {
  const code = given.toUpperCase();
  if (isSupportedCountry(code)) return code;
  const hint = code === 'UK' ? '; the United Kingdom is GB' : '';
  return new Wrong(`must be an ISO 3166 country code of two letters, such as GB, DK or US${hint}`);
}

const matching =
  (pattern: RegExp, wanted: string): Reader<string> =>
  (given) =>
    pattern.test(given) ? given : new Wrong(wanted);

function readPort(given: string): number | Wrong {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  return port <= 65_535 ? port : new Wrong('must be a port from 0 (any free one) to 65535');
}

const readHost = matching(
  /^[A-Za-z0-9_.:-]+$/,
  'must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all it has',
);

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** How much is logged, in the words of the logger. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Every setting of the environment: how its text is read, and its default, written as one would set it.
 * What a setting is for is told in `.env.example`, which a test holds equal to this table.
 */
export const SETTINGS = z.object({
  REDIS_URL: text(readRedisUrl).optional(),
  REDIS_PREFIX: text(
    matching(
      /^[A-Za-z0-9_.:-]{1,60}$/,
      'must be up to 60 letters, digits and _ . : - without spaces or braces',
    ),
  ).prefault('volley'),
  REDIS_MAY_LOSE: text(readMayLose).prefault('auto'),

  MESSAGING_BASE_URL: text(baseUrl('/outbound')).optional(),
  ACCOUNT_BASE_URL: text(baseUrl('/api/login')).optional(),
  API_KEY: text(matching(/^[\x21-\x7e]+$/, 'must be printable letters without spaces')).optional(),
  ACCOUNT_USERNAME: z.string().optional(),
  ACCOUNT_PASSWORD: z.string().optional(),
  ACCOUNT_TARGET_ID: z.string().optional(),
  HOURLY_QUOTA: text(readQuota).prefault('auto'),
  LANES_FILE: z.string().optional(),

  SENDER_ADDRESS: text(readSender).optional(),
  SENDER_NAME: z.string().optional(),
  DEFAULT_COUNTRY: text(readCountry).optional(),

  QUOTA_WINDOW_MS: text(count(1_000, 86_400_000, 'milliseconds')).prefault('3600000'),
  MAX_RECIPIENTS_PER_REQUEST: text(count(1, MAX_RECIPIENTS, 'recipients')).prefault('1'),
  REQUEST_TIMEOUT_MS: text(count(50, 300_000, 'milliseconds')).prefault('30000'),
  FOLLOW_UP_FIRST_MS: text(count(1, 86_400_000, 'milliseconds')).prefault('15000'),
  FOLLOW_UP_DEADLINE: text(span('1s', '30d')).prefault('72h'),
  RETENTION: text(span('1m', '3650d')).prefault('30d'),

  HTTP_HOST: text(readHost).prefault('127.0.0.1'),
  HTTP_PORT: text(readPort).prefault('8080'),
  HTTP_REQUESTS_PER_MINUTE: text(count(1, 1_000_000, 'requests')).prefault('600'),
  HTTP_MAX_JSON_MB: text(count(1, 100, 'megabytes')).prefault('10'),
  HTTP_MAX_UPLOAD_MB: text(count(1, 10_000, 'megabytes')).prefault('1000'),

  CALLBACK_URL: text(readCallbackUrl).optional(),
  CALLBACK_SECURITY_TOKEN: text(
    matching(
      /^[\x21-\x7e]{16,200}$/,
      'must be 16 to 200 printable letters without spaces; make one with: openssl rand -base64 32',
    ),
  ).optional(),
  CALLBACK_PROOF: z.enum(['token', 'path'], 'must be "token" or "path"').prefault('token'),

  SECRETS_KEY: text(
    matching(
      /^(?:[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/,
      'must be 32 random bytes in base64 or hex; make one with: openssl rand -base64 32',
    ),
  ).optional(),

  METRICS_HOST: text(readHost).prefault('127.0.0.1'),
  METRICS_PORT: text(readPort).optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).prefault('info'),
});

/** The settings after reading: durations in milliseconds, numbers as numbers, defaults in place. */
export type Settings = z.output<typeof SETTINGS>;
export type SettingName = keyof Settings;

/** The names of all settings. */
export const SETTING_NAMES: readonly SettingName[] = SETTINGS.keyof().options;

const SECRET: readonly SettingName[] = [
  'REDIS_URL',
  'API_KEY',
  'ACCOUNT_USERNAME',
  'ACCOUNT_PASSWORD',
  'SECRETS_KEY',
  'CALLBACK_SECURITY_TOKEN',
];

/** True for a setting whose value is never shown. Base URLs are not shown either: people put passwords into them. */
export function isSecret(name: string): boolean {
  return name.endsWith('_URL') || SECRET.some((secret) => secret === name);
}
