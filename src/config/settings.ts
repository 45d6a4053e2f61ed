import { z } from 'zod';
import { MAX_RECIPIENTS } from './limits.js';
import {
  baseUrl,
  count,
  matching,
  readCallbackUrl,
  readCountry,
  readHost,
  readMayLose,
  readPort,
  readQuota,
  readRedisUrl,
  readSender,
  span,
  text,
} from './setting-readers.js';

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

/** The name of a setting, as in the environment. */
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
