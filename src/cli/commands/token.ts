import type { Command } from 'commander';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { filled } from './option-values.js';

const verbs = () => import('../token.js');

/** `volley token show`, `login`, and `refresh` */
export function addToken(program: Command, context: Context): void {
  const token = program
    .command('token')
    .summary("show or renew an account's token")
    .description(
      'Shows or renews the token of a lane that sends with an account. All processes share the token; it is never printed.',
    );
  const subcommand = (name: string, description: string): Command =>
    token
      .command(name)
      .description(description)
      .option('-l, --lane <name>', 'the lane (default: the only one with an account)', filled)
      .option('--json', 'print one JSON object');
  subcommand('show', "Shows the token's state, age, and expiry, and how many logins are left.")
    .addHelpText('after', examples('token show'))
    .action(action(context, verbs, 'show'));
  subcommand('login', 'Logs in again. Exit code 3: the service refuses logins until an operator acts.')
    .option('--again', 'also after logins were stopped, once you have fixed the reason')
    .addHelpText('after', examples('token login --again'))
    .action(action(context, verbs, 'login'));
  subcommand('refresh', 'Renews the token now, with the refresh token if there is one.')
    .addHelpText('after', examples('token refresh'))
    .action(action(context, verbs, 'refresh'));
}
