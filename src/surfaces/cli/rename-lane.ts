import { renameLane } from '../../operations/lanes.js';
import type { Answer, Context } from './context.js';
import { runCall } from './run-operation.js';

/** `volley lane rename` */
export function rename(context: Context, name: string, newName: string): Promise<Answer> {
  return runCall(context, renameLane, { name, to: { name: newName } }, async (run, { setting }) => {
    const isConfigured = setting.config.lanes.some((lane) => lane.name === newName);
    const next = isConfigured ? '' : ' Change its name in your settings, too, before you restart a process.';
    return {
      json: await run(),
      lines: [`Lane ${name} is now called ${newName}; its quota and campaigns stay with it.${next}`],
    };
  });
}
