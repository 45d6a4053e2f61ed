import { laneCallback } from './callback.js';
import type { Config, LocalConfig } from './config.js';

/** Every secret text of the configuration, for a log to blot out wherever it turns up. */
export function secretsOf(config: Config | LocalConfig): string[] {
  const redisPassword = /^[^/]*\/\/[^:@/]*:([^@/]+)@/.exec(config.redisUrl ?? '')?.[1];
  const lanes = config.lanes.flatMap((lane) => {
    if (!('credentials' in lane)) return [];
    return lane.credentials.kind === 'apiKey' ? lane.credentials.apiKey : lane.credentials.password;
  });
  const { callback } = config;
  const callbacks = config.lanes.flatMap(({ name }) => {
    if (callback === undefined) return [];
    const { segment, securityToken } = laneCallback(callback, name);
    return [segment, securityToken];
  });
  return [...lanes, ...callbacks, callback?.securityToken, config.secretsKey, redisPassword].filter(
    (secret) => secret !== undefined,
  );
}
