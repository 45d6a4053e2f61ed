import { createHash } from 'node:crypto';
import { formatDuration } from '../duration.js';
import { version } from '../version.js';
import type { Config } from './config.js';

/**
 * What all workers should have alike, because each lane goes by the settings of whichever process serves it: the name
 * of each setting, and what it is, in words without a secret. Of lanes it is their number and a digest of their rules.
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
    FOLLOW_UP_DEADLINE: formatDuration(config.followUpDeadlineMs),
    RETENTION: formatDuration(config.retentionMs),
    REDIS_MAY_LOSE: redisMayLoseMs === 'auto' ? 'auto' : formatDuration(redisMayLoseMs),
    SECRETS_KEY: config.secretsKey === undefined ? 'not set' : 'set',
    CALLBACK_URL: callback?.url ?? 'not set',
    ...(callback === undefined ? {} : { CALLBACK_PROOF: callback.proof }),
  };
}

/** Whoever lists the same lanes in another order means the same. */
function digest(rules: readonly { readonly name: string }[]): string {
  const sorted = rules.map((lane) => JSON.stringify(Object.entries(lane).sort())).sort();
  return createHash('sha256').update(sorted.join('\n')).digest('hex').slice(0, 6);
}
