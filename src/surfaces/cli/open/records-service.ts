import type { Volley } from '../../../app/volley.js';
import type { Config } from '../../../base/config/index.js';
import { listenForStop } from '../../lifecycle.js';
import type { Context } from '../context/context.js';
import { CliError } from '../context/errors.js';
import { type Setting, withServiceVolley } from './open.js';

/** Opens Volley for a command that asks the service for call records, until Ctrl-C or SIGTERM. */
export async function withRecords<Result>(
  context: Context,
  use: (volley: Volley, setting: Setting<Config>, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { signal, dispose } = listenForStop();
  try {
    return await withServiceVolley(context, (volley, setting) => use(volley, setting, signal));
  } catch (error) {
    if (signal.aborted) {
      throw new CliError('interrupted', 'Interrupted. `volley records list` shows what was sent.');
    }
    throw error;
  } finally {
    dispose();
  }
}
