import { type Config, type LocalConfig, loadDotEnv } from '../../../base/config/index.js';
import { connect } from '../../../base/redis/connection.js';
import { keyNames } from '../../../base/redis/keys.js';
import type { CliIo } from '../context/context.js';
import { isUnconfigured } from './how-to-start.js';

/**
 * Where nothing is set about lanes, the settings with the lanes that are registered in Redis, because those of the workers may stand in code.
 * Stored lanes are not among them: they join by themselves.
 */
export async function withRegisteredLanes<Configuration extends Config | LocalConfig>(
  { cwd, env }: Pick<CliIo, 'cwd' | 'env'>,
  config: Configuration & { readonly redisUrl: string },
): Promise<Configuration & { readonly redisUrl: string }> {
  if ('messagingBaseUrl' in config || !isUnconfigured(loadDotEnv(cwd, env))) return config;
  const redis = connect(config.redisUrl);
  const { names, stored } = keyNames(config.redisPrefix).registry;
  const found = await Promise.all([redis.hgetall(names), redis.hkeys(stored)]).finally(() =>
    redis.disconnect(),
  );
  const [registered, ownIds] = found;
  const lanes = Object.entries(registered)
    .filter(([id]) => !ownIds.includes(id))
    .flatMap(([, name]) => config.lanes.slice(0, 1).map((rules) => ({ ...rules, name })))
    .sort((a, b) => a.name.localeCompare(b.name));
  return lanes.length === 0 ? config : Object.assign({ ...config }, { lanes, noFirstLane: true });
}
