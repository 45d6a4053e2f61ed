import type { Command } from 'commander';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { withCountry } from './campaign-flags.js';
import { addOperations } from './operation.js';
import { filled, wholeNumber } from './option-values.js';

const tokenVerbs = () => import('../token.js');
const subscriptionVerbs = () => import('../subscription.js');
const suppressionVerbs = () => import('../suppression.js');

/** Adds the commands for lanes and suppressed numbers, in the order in which help lists them. */
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

  const suppress = program
    .command('suppress')
    .summary('change the lists of suppressed numbers')
    .description(
      'Changes the lists of suppressed numbers, which never get a message: one list for all lanes, and one for each lane. They are checked at import and again before each send. Each change can be undone.',
    )
    .addHelpText(
      'after',
      examples('suppress add +447700900123', 'suppress operations', 'suppress undo last'),
    );
  withCountry(
    suppress
      .command('add')
      .description('Adds numbers. If one of them is invalid, none is added.')
      .argument('<numbers...>', 'in any format; - reads them from standard input, one per line'),
  )
    .option('-l, --lane <name>', 'the list of this lane (default: the list for all lanes)', filled)
    .option('--reason <text>', 'why, for the record of the change', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress add +447700900123 "07700 900124" --country GB'))
    .action(action(context, suppressionVerbs, 'add'));
  withCountry(
    suppress
      .command('remove')
      .description('Removes numbers from the list.')
      .argument('<numbers...>', 'in any format; - reads them from standard input, one per line'),
  )
    .option('-l, --lane <name>', 'the list of this lane (default: the list for all lanes)', filled)
    .option('--reason <text>', 'why, for the record of the change', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress remove +447700900123'))
    .action(action(context, suppressionVerbs, 'remove'));
  suppress
    .command('list')
    .description('Prints the numbers, one per line.')
    .option('-l, --lane <name>', 'the list of this lane (default: the list for all lanes)', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress list > suppressed.txt'))
    .action(action(context, suppressionVerbs, 'list'));
  withCountry(
    suppress
      .command('import')
      .description(
        'Adds the numbers of a CSV file. Rows without a valid number are skipped and listed; exit code 2 if there are any.',
      )
      .argument(
        '<file>',
        'CSV file with a header line, or only numbers, one per line; - for standard input',
        filled,
      )
      .option(
        '--to-column <column>',
        'the column with the numbers (default: found by name and content)',
        filled,
      ),
  )
    .option('-l, --lane <name>', 'the list of this lane (default: the list for all lanes)', filled)
    .option('--reason <text>', 'why, for the record of the change', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress import examples/opt-outs.csv --country GB'))
    .action(action(context, suppressionVerbs, 'importFile'));
  suppress
    .command('operations')
    .description('Lists the changes, newest first: who, when, why, and how many numbers.')
    .option('-l, --lane <name>', 'only changes of the list of this lane', filled)
    .option('--limit <count>', 'how many (default: 50)', wholeNumber(1, 100_000))
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress operations'))
    .action(action(context, suppressionVerbs, 'operations'));
  suppress
    .command('undo')
    .description(
      'Undoes a change. Numbers that another change also added stay on the list. A removal can be undone for 30 days.',
    )
    .argument(
      '<operation>',
      'its id, as `suppress operations` shows it, or last for the newest one that is not undone',
      filled,
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress undo last'))
    .action(action(context, suppressionVerbs, 'undo'));
  withCountry(
    suppress
      .command('why')
      .description('Shows on which lists a number is, and who added it when and why.')
      .argument('<number>', 'in any format; - to read it from standard input', filled),
  )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress why +447700900123'))
    .action(action(context, suppressionVerbs, 'why'));
}

/** Adds `--json`, and `--lane`; `fallback` names the lane that is used without it. */
function withLane(command: Command, fallback: string): Command {
  return command
    .option('-l, --lane <name>', `the lane (default: ${fallback})`, filled)
    .option('--json', 'print one JSON object');
}
