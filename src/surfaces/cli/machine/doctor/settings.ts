import { type Finding, fail } from '../../../../app/doctor/check.js';
import { type Config, ConfigError, type LocalConfig, loadDotEnv } from '../../../../base/config/index.js';
import type { Context } from '../../context/context.js';
import { CliError } from '../../context/errors.js';
import { howToStartAll, howToTryOrConfigure, isUnconfigured } from '../../open/how-to-start.js';
import type { Setting } from '../../open/open.js';
import { packageFile } from '../../output/command-name.js';

/** The settings that `find` reads, or why there are none. */
export async function examineSettings<Configuration extends Config | LocalConfig>(
  context: Context,
  find: (context: Context) => Promise<Setting<Configuration>>,
): Promise<Setting<Configuration> | { readonly problems: readonly Finding[] }> {
  try {
    return await find(context);
  } catch (error) {
    return { problems: problemsIn(error, context) };
  }
}

function problemsIn(error: unknown, context: Context): Finding[] {
  if (error instanceof ConfigError) {
    const env = loadDotEnv(context.cwd, context.env);
    const todo = isUnconfigured(env)
      ? howToTryOrConfigure(env, context.cwd)
      : `See ${packageFile('.env.example', context.cwd)}.`;
    return error.problems.map((problem) => fail('settings', problem, todo));
  }
  const code = error instanceof CliError ? error.code : undefined;
  if (code === 'noRedis')
    return [fail('Redis', 'there is none, and REDIS_URL is not set', howToStartAll(context))];
  const found = error instanceof Error ? error.message : String(error);
  // What the others say contains what to do.
  return [fail('Redis', found, code === 'unavailable' ? 'Fix this, or set REDIS_URL.' : undefined)];
}
