import type { Command } from 'commander';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { addOperations } from './operation.js';
import { filled } from './option-values.js';

const tokenVerbs = () => import('../token.js');
const subscriptionVerbs = () => import('../subscription.js');

/** Adds the commands for lanes, in the order in which help lists them. */
export function addLaneCommands(program: Command, context: Context): void {
  program
    .command('lane')
    .summary('hold, resume, or rename a lane')
    .description('Holds, resumes, or renames a lane.')
    .addHelpText('after', examples('lane hold default', 'lane resume default'));
  addOperations(program, context, 'Lanes', {
    renameLane: { action: action(context, () => import('../rename-lane.js'), 'rename') },
  });

  const token = program
    .command('token')
    .summary("show or renew an account's token")
    .description(
      'Shows or renews the token of a lane that sends with an account. All processes share the token; it is never printed.',
    )
    .addHelpText('after', examples('token show', 'token login --again'));
  const onToken = (name: string, description: string): Command =>
    withLane(token.command(name).description(description), 'the only one with an account');
  onToken('show', "Shows the token's state, age, and expiry, and how many logins are left.")
    .addHelpText('after', examples('token show'))
    .action(action(context, tokenVerbs, 'show'));
  onToken('login', 'Logs in again. Exit code 3: the service refuses logins until an operator acts.')
    .option('--again', 'also after logins were stopped, once you have fixed the reason')
    .addHelpText('after', examples('token login --again'))
    .action(action(context, tokenVerbs, 'login'));
  onToken('refresh', 'Renews the token now, with the refresh token if there is one.')
    .addHelpText('after', examples('token refresh'))
    .action(action(context, tokenVerbs, 'refresh'));

  const subscription = program
    .command('subscription')
    .summary('show or change the subscription to delivery notifications')
    .description(
      'Shows or changes a lane’s subscription to delivery notifications. The service keeps one subscription per key. While CALLBACK_URL is set, workers create and renew it, and leave subscriptions of other systems alone. These requests use no quota.',
    )
    .addHelpText('after', examples('subscription get'));
  const onSubscription = (name: string, description: string): Command =>
    withLane(subscription.command(name).description(description), 'the only one');
  onSubscription('get', 'Asks the service where it sends the lane’s notifications.')
    .addHelpText('after', examples('subscription get'))
    .action(action(context, subscriptionVerbs, 'get'));
  onSubscription(
    'create',
    'Subscribes the lane to notifications at CALLBACK_URL. Exit code 3: another system’s subscription exists.',
  )
    .option('--force', 'replace another system’s subscription')
    .addHelpText('after', examples('subscription create', 'subscription create --lane default --force'))
    .action(action(context, subscriptionVerbs, 'create'));
  onSubscription(
    'delete',
    'Deletes the lane’s subscription. Workers create it again while CALLBACK_URL is set. Exit code 3: it belongs to another system.',
  )
    .option('--force', 'delete another system’s subscription')
    .addHelpText('after', examples('subscription delete'))
    .action(action(context, subscriptionVerbs, 'remove'));
}

/** Adds `--json`, and `--lane`; `fallback` names the lane that is used without it. */
function withLane(command: Command, fallback: string): Command {
  return command
    .option('-l, --lane <name>', `the lane (default: ${fallback})`, filled)
    .option('--json', 'print one JSON object');
}
