import type { Command } from 'commander';
import { examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { addOperations } from './operation.js';

/** Adds the commands for lanes, in the order in which help lists them. */
export function addLaneCommands(program: Command, context: Context): void {
  program
    .command('lane')
    .summary('add, change, hold, or remove a lane')
    .description('Adds, changes, holds, resumes, renames, or removes a lane.')
    .addHelpText('after', examples('lane hold default', 'lane resume default'));
  addOperations(program, context, 'Lanes');

  program
    .command('token')
    .summary("show or renew an account's token")
    .description(
      'Shows or renews the token of a lane that sends with an account. All processes share the token; it is never printed.',
    )
    .addHelpText('after', examples('token show', 'token login --again'));
  addOperations(program, context, 'Tokens');

  program
    .command('subscription')
    .summary('show or change the subscription to delivery notifications')
    .description(
      'Shows or changes a lane’s subscription to delivery notifications. The service keeps one subscription per key. While CALLBACK_URL is set, workers create and renew it, and leave subscriptions of other systems alone. These requests use no quota.',
    )
    .addHelpText('after', examples('subscription get'));
  addOperations(program, context, 'Subscriptions');
}
