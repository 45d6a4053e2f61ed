import type { Volley } from '../../../app/volley.js';
import { type Config, type LocalConfig, loadConfig, loadDotEnv } from '../../../base/config/index.js';
import type { LaneDifference } from '../../../engine/recovery/lane-settings.js';
import type { CliIo } from '../context/context.js';

/**
 * The lanes for which running workers use other settings than this command would; without complete settings, than the worker that started
 * last.
 */
export function differencesFrom(
  { cwd, env }: Pick<CliIo, 'cwd' | 'env'>,
  volley: Pick<Volley, 'differences'>,
  config: Config | LocalConfig,
): Promise<LaneDifference[]> {
  return volley.differences(settingsOf({ cwd, env }, config));
}

/** The settings with which a command compares those of workers; undefined if they are not complete. */
export function settingsOf(
  { cwd, env }: Pick<CliIo, 'cwd' | 'env'>,
  config: Config | LocalConfig,
): Config | undefined {
  return 'messagingBaseUrl' in config ? config : completeConfig(cwd, env);
}

function completeConfig(cwd: string, env: CliIo['env']): Config | undefined {
  try {
    return loadConfig(loadDotEnv(cwd, env));
  } catch {
    // What is missing here may be set where the workers run.
    return undefined;
  }
}
