import { type Command, InvalidArgumentError, Option } from 'commander';
import { RECORDS_STATES } from '../../../call-records/states.js';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { filled, oneOf, someNames, wholeNumber } from './option-values.js';

const verbs = () => import('../records.js');
const REQUEST = 'the request: its id, the beginning of it, or last for the newest one';

/** Adds the commands for call records, in the order in which help lists them. */
export function addRecordsCommands(program: Command, context: Context): void {
  const records = program
    .command('records')
    .summary('request and download call records')
    .description(
      'Requests call detail records and downloads them, as the contract at RECORDS_CONTRACT says; see docs/call-records.md. Each request is sent at most once.',
    )
    .addHelpText(
      'after',
      examples('records fetch --from 2026-01-01 --to 2026-01-31 --out january.csv', 'records list'),
    );

  withDays(
    records
      .command('fetch')
      .summary('request records, wait, and download them')
      .description(
        'Requests records, waits until the file is ready, and downloads it. Run the same command again to resume it: the request is not sent again. Exit code 3: an operator must act.',
      )
      .argument(
        '[id]',
        'an earlier request: its id, the beginning of it, or last for the newest one; without it, a request with these options is sent',
        filled,
      ),
  )
    .addOption(out())
    .option('--force', 'overwrite the file')
    .option('--json', 'print one JSON object; requires --out')
    .addHelpText(
      'after',
      examples(
        'records fetch --from 2026-01-01 --to 2026-01-31 --set product=IBN --set format=csv --out january.csv',
        'records fetch last --out january.csv',
      ),
    )
    .action(action(context, verbs, 'fetch'));

  withDays(
    records
      .command('request')
      .summary('request records')
      .description(
        'Requests records, at most once. If there is a request with the same content or key that has not ended without a file, it returns that one. Exit code 3: the outcome is unknown, and an operator must resolve it.',
      ),
  )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examples('records request --from 2026-01-01 --to 2026-01-31 --set product=IBN --set format=csv'),
    )
    .action(action(context, verbs, 'request'));

  records
    .command('status')
    .summary('ask how far a request is')
    .description(
      'Asks the service how far a request is, at most once per interval of the contract. Exit code 3: an operator must act.',
    )
    .argument('<id>', REQUEST, filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('records status last'))
    .action(action(context, verbs, 'status'));

  records
    .command('download')
    .summary('download the file of a request')
    .description('Downloads the file of a request that is ready, unchanged.')
    .argument('<id>', REQUEST, filled)
    .option('--set <name=value>', 'a parameter that only the download uses (repeatable)', parameter)
    .addOption(out())
    .option('--force', 'overwrite the file')
    .option('--json', 'print one JSON object; requires --out')
    .addHelpText('after', examples('records download last --out january.csv'))
    .action(action(context, verbs, 'download'));

  records
    .command('list')
    .summary('list the requests')
    .description('Lists the requests, newest first, without asking the service.')
    .option('--state <state>', `only requests that are ${RECORDS_STATES.join(', ')}`, oneOf(RECORDS_STATES))
    .option('-l, --lane <lanes>', 'only requests of these lanes, separated by commas', someNames)
    .option('--limit <count>', 'the most to show', wholeNumber(1, 10_000), 20)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('records list --state unknown'))
    .action(action(context, verbs, 'list'));

  records
    .command('resolve')
    .summary('settle a request with an unknown outcome')
    .description(
      'Settles a request with an unknown outcome: the process that sent it ended before the response, or there was no readable response. Look it up at the service first.',
    )
    .argument('<id>', REQUEST, filled)
    .addOption(
      new Option('--accepted <service-id>', 'the service has accepted it, under this id')
        .argParser(filled)
        .conflicts(['resend', 'abandon']),
    )
    .addOption(
      new Option('--resend', 'the service does not have it: send it again').conflicts([
        'accepted',
        'abandon',
      ]),
    )
    .addOption(new Option('--abandon', 'give it up').conflicts(['accepted', 'resend']))
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('records resolve last --accepted 4711', 'records resolve last --resend'))
    .action(action(context, verbs, 'resolve'));
}

function withDays(command: Command): Command {
  return command
    .option('--from <day>', 'the first day, such as 2026-01-31', filled)
    .option('--to <day>', 'the last day', filled)
    .option('--set <name=value>', 'a parameter of the contract (repeatable)', parameter)
    .option(
      '--global-mobile [numbers]',
      'which numbers are Global Mobile Numbers, whose records begin on 2023-02-01: these, or all of the request',
      (text: string) => someNames(text),
    )
    .option(
      '--key <key>',
      'names the request: another one with the same key is the same one (default: its content)',
      filled,
    )
    .option('--again', 'send a new request although there is one with the same key')
    .option('-l, --lane <name>', 'the lane (default: the only one)', filled);
}

function out(): Option {
  return new Option('-o, --out <file>', 'write to this file, all or nothing')
    .argParser(filled)
    .default('-', 'standard output');
}

function parameter(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name = '', value = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (name === '')
    throw new InvalidArgumentError('Use a name, an equals sign, and a value, such as product=IBN.');
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`The parameter ${name} is set twice.`);
  return { ...before, [name]: value };
}
