import { differenceLine } from '../../../app/doctor/differences.js';
import type { Volley } from '../../../app/volley.js';
import { type Config, type LocalConfig, loadConfig, loadDotEnv } from '../../../base/config/index.js';
import type { CliIo } from '../context/context.js';

type Place = Pick<CliIo, 'cwd' | 'env'>;

/**
 * The lines for a lane about workers with other settings than this command would use; without complete settings, than the worker that
 * started last.
 */
export async function differencesFrom(
  place: Place,
  volley: Pick<Volley, 'differences'>,
  config: Config | LocalConfig,
): Promise<(lane: string) => string[]> {
  const differences = await volley.differences(settingsOf(place, config));
  return (name) => differences.filter(({ lane }) => lane === name).map(differenceLine);
}

/** The settings with which a command compares those of workers; undefined if they are not complete. */
export function settingsOf({ cwd, env }: Place, config: Config | LocalConfig): Config | undefined {
  if ('messagingBaseUrl' in config) return config;
  try {
    return loadConfig(loadDotEnv(cwd, env));
  } catch {
    // What is missing here may be set where the workers run.
    return undefined;
  }
}
