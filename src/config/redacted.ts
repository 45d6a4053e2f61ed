import type { Config, LocalConfig } from '../config.js';
import { laneCallback } from './callback.js';

const HIDDEN = '[set]';

/**
 * The configuration as it may be shown and logged: passwords, keys and the password in the Redis URL are replaced by
 * `[set]`; user names and addresses stay, because an operator has to see whom Volley acts for.
 */
export function redactedConfig(config: Config | LocalConfig): Record<string, unknown> {
  return {
    ...config,
    redisUrl: config.redisUrl?.replace(/^([^/]*\/\/[^:@/]*):[^@/]*@/, `$1:${HIDDEN}@`),
    lanes: config.lanes.map((lane) =>
      'credentials' in lane ? { ...lane, credentials: hidden(lane.credentials) } : lane,
    ),
    ...(config.secretsKey === undefined ? {} : { secretsKey: HIDDEN }),
    ...(config.callback === undefined ? {} : { callback: { ...config.callback, securityToken: HIDDEN } }),
  };
}

function hidden(credentials: Config['lanes'][number]['credentials']): Record<string, unknown> {
  switch (credentials.kind) {
    case 'apiKey':
      return { ...credentials, apiKey: HIDDEN };
    case 'account':
      return { ...credentials, password: HIDDEN };
  }
}

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
