import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  ConfigError,
  type Environment,
  isSecretSet,
  loadConfig,
  loadDotEnv,
} from '../../../base/config/index.js';
import type { CliIo } from '../context/context.js';
import { packageFile } from '../output/command-name.js';
import { isSimulatorUp } from './find-up.js';

/*
 * What to do where no worker or no Redis runs: always a command that works with the settings of this folder.
 */

type Place = Pick<CliIo, 'env' | 'cwd'>;

/** Whether nothing is set that names a service or an account. */
export function isUnconfigured(env: Environment): boolean {
  return ['MESSAGING_BASE_URL', 'API_KEY', 'ACCOUNT_USERNAME', 'LANES_FILE'].every(
    (name) => !isSecretSet(env, name),
  );
}

/** How to start workers for the Redis that is in use; `roles`: only these. */
export async function howToStartWorkers({ env, cwd }: Place, roles: readonly string[] = []): Promise<string> {
  const settings = loadDotEnv(cwd, env);
  const work = `To start one: volley work${roles.length === 0 ? '' : ` --roles ${roles.join(',')}`}`;
  if (!isSecretSet(settings, 'REDIS_URL') && (await isSimulatorUp(cwd))) return work;
  return whatIsMissing({ env: settings, cwd }) ?? work;
}

/** How to start a Redis, with workers, where there is none. */
export function howToStartAll({ env, cwd }: Place): string {
  const settings = loadDotEnv(cwd, env);
  if (isUnconfigured(settings))
    return 'To start one and try Volley without an account: volley up --simulator';
  return whatIsMissing({ env: settings, cwd }) ?? 'To start one on this machine: volley up';
}

/** What to do first if the settings of an account are missing or not complete; undefined if they are complete. */
function whatIsMissing({ env, cwd }: Place): string | undefined {
  if (isUnconfigured(env)) return `A worker needs an account. ${howToConfigure(cwd)}`;
  try {
    loadConfig(env);
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return 'First correct the settings. To see what is wrong with them: volley doctor';
  }
}

/** What to do where there are no settings of an account. With REDIS_URL, there is no simulator, which starts its own Redis. */
export function howToTryOrConfigure(env: Environment, cwd: string): string {
  if (isSecretSet(env, 'REDIS_URL')) return howToConfigure(cwd);
  return `To try Volley without an account, run \`volley up --simulator\`. ${howToConfigure(cwd)}`;
}

function howToConfigure(cwd: string): string {
  return existsSync(join(cwd, '.env'))
    ? `To use an account, add its settings to .env, as ${packageFile('.env.example', cwd)} describes.`
    : 'To write the settings of an account: volley init';
}
