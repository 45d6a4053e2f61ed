import {
  type Config,
  ConfigError,
  type Environment,
  type LocalConfig,
  loadDotEnv,
} from '../src/base/config/index.js';
import { EXIT } from '../src/base/exit-codes.js';
import { asSentence } from '../src/campaign/errors/errors.js';
import { InputError, OtherFormatError } from '../src/index.js';
import { listenForStop, type Part, runProcess } from '../src/surfaces/lifecycle.js';

/**
 * Runs one part as a process of its own. Exit codes: 0 after a drain, 2 for an invalid configuration, 1 for any other
 * failure or when a second signal ends the drain.
 */
export async function run<Configuration extends Config | LocalConfig>(
  role: string,
  load: (environment: Environment) => Configuration,
  part: Part<Configuration>,
): Promise<void> {
  let config: Configuration;
  try {
    config = load(loadDotEnv(process.cwd()));
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
  // A worker goes on when the reader of its log leaves.
  process.stderr.on('error', () => {});
  const stop = listenForStop(() => process.exit(EXIT.failed));
  try {
    await runProcess({ config, role, parts: [part], stop });
  } catch (error) {
    if (error instanceof OtherFormatError) return refuse(asSentence(error.message), EXIT.failed);
    if (!(error instanceof InputError || error instanceof ConfigError)) throw error;
    refuse(error.message);
  }
}

function refuse(message: string, exit: number = EXIT.badInput): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = exit;
}
