import type { Command } from 'commander';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { filled } from './option-values.js';

const verbs = () => import('../subscription.js');

/** `volley subscription get`, `create`, and `delete` */
export function addSubscription(program: Command, context: Context): void {
  const subscription = program
    .command('subscription')
    .summary('show or change the subscription to delivery notifications')
    .description(
      'Shows or changes a lane’s subscription to delivery notifications. The service keeps one subscription per key. While CALLBACK_URL is set, workers create and renew it, and leave subscriptions of other systems alone. These requests use no quota.',
    );
  const subcommand = (name: string, description: string): Command =>
    subscription
      .command(name)
      .description(description)
      .option('-l, --lane <name>', 'the lane (default: the only one)', filled)
      .option('--json', 'print one JSON object');
  subcommand('get', 'Asks the service where it sends the lane’s notifications.')
    .addHelpText('after', examples('subscription get'))
    .action(action(context, verbs, 'get'));
  subcommand(
    'create',
    'Subscribes the lane to notifications at CALLBACK_URL. Exit code 3: another system’s subscription exists.',
  )
    .option('--force', 'replace another system’s subscription')
    .addHelpText('after', examples('subscription create', 'subscription create --lane acme --force'))
    .action(action(context, verbs, 'create'));
  subcommand(
    'delete',
    'Deletes the lane’s subscription. Workers create it again while CALLBACK_URL is set. Exit code 3: it belongs to another system.',
  )
    .option('--force', 'delete another system’s subscription')
    .addHelpText('after', examples('subscription delete'))
    .action(action(context, verbs, 'remove'));
}
