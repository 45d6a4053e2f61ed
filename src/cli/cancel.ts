import type { Command } from 'commander';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { counted } from './text.js';

/** Adds `volley cancel`. */
export function addCancel(program: Command, context: Context): void {
  program
    .command('cancel')
    .summary('cancel a campaign for good')
    .description(
      'Cancels a campaign for good: nothing more of it is sent. What was sent is still followed up.',
    )
    .argument('<id>', 'the campaign')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('cancel 1a2b3c4d5e6f7'))
    .action(action(context, (id: string) => cancel(context, id)));
}

function cancel(context: Context, id: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const { cancelled, inFlight } = await volley.cancel(id);
    return {
      json: { id, state: 'cancelled', cancelled, inFlight },
      lines: [
        `Campaign ${id} is cancelled: ${counted(cancelled, 'recipient')} will not be sent to, ${counted(inFlight, 'request')} in flight.`,
      ],
    };
  });
}
