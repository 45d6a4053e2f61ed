import type { Command } from 'commander';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { sayIfNoWorkers } from './watch.js';

/** Adds `volley resume`. */
export function addResume(program: Command, context: Context): void {
  program
    .command('resume')
    .summary('let a paused campaign go on')
    .description('Lets a paused campaign go on.')
    .argument('<id>', 'the campaign')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('resume 1a2b3c4d5e6f7'))
    .action(action(context, (id: string) => resume(context, id)));
}

function resume(context: Context, id: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    await volley.resume(id);
    const { state } = await volley.status(id);
    await sayIfNoWorkers(context, volley);
    return { json: { id, state }, lines: [`Campaign ${id} goes on: it is ${state}.`] };
  });
}
