import { createHash } from 'node:crypto';
import { formatDuration } from '../duration.js';
import { version } from '../version.js';
import type { Config } from './config.js';

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
    FOLLOW_UP_DEADLINE: formatDuration(config.followUpDeadlineMs),
    RETENTION: formatDuration(config.retentionMs),
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
