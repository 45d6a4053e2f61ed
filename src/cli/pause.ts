import type { Command } from 'commander';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { counted } from './text.js';

/** Adds `volley pause`. */
export function addPause(program: Command, context: Context): void {
  program
    .command('pause')
    .summary('pause a campaign')
    .description('Pauses a campaign: no request of it starts after this. Polls go on.')
    .argument('<id>', 'the campaign')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('pause 1a2b3c4d5e6f7'))
    .action(action(context, (id: string) => pause(context, id)));
}

function pause(context: Context, id: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const { inFlight } = await volley.pause(id);
    const rest =
      inFlight === 0
        ? 'Nothing is in flight'
        : `${counted(inFlight, 'request')} in flight will be seen through`;
    return {
      json: { id, state: 'paused', inFlight },
      lines: [`Campaign ${id} is paused. ${rest}. Go on with: volley resume ${id}`],
    };
  });
}
