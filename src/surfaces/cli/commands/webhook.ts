import type { Command } from 'commander';
import { examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { addOperations } from './operation.js';

/** Adds the commands for webhooks, in the order in which help lists them. */
export function addWebhookCommands(program: Command, context: Context): void {
  program
    .command('webhook')
    .summary('post results to an address of yours')
    .description(
      'Posts the results of recipients to an https address, signed, as soon as they are known; see docs/webhooks.md. Workers with the role webhooks send them.',
    )
    .addHelpText('after', examples('webhook add https://shop.example/volley', 'webhook list'));
  addOperations(program, context, 'Webhooks');
}
