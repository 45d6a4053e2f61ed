import { type Command, Option } from 'commander';
import { action, examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { filled, namedValues, someNames } from '../flags/option-values.js';
import { addOperations } from './operation.js';

const verbs = () => import('../actions/records.js');

/** Adds the commands for call records, in the order in which help lists them. */
export function addRecordsCommands(program: Command, context: Context): void {
  program
    .command('records')
    .summary('request and download call records')
    .description(
      'Requests call detail records and downloads them, as the contract at RECORDS_CONTRACT says; see docs/call-records.md. Each request is sent at most once.',
    )
    .addHelpText(
      'after',
      examples('records fetch --from 2026-01-01 --to 2026-01-31 --out january.csv', 'records list'),
    );
  addOperations(program, context, 'Call records', {
    fetchRecords: {
      after: (command) => withFile(withDays(command)),
      action: action(context, verbs, 'fetch'),
    },
    requestRecords: { after: withDays },
    downloadRecords: {
      after: (command) =>
        withFile(withParameters(command, 'a parameter that only the download uses (repeatable)')),
      action: action(context, verbs, 'download'),
    },
    resolveRecords: { after: withResolution },
  });
}

function withDays(command: Command): Command {
  return withParameters(
    command
      .option('--from <day>', 'the first day, such as 2026-01-31', filled)
      .option('--to <day>', 'the last day', filled),
    'a parameter of the contract (repeatable)',
  )
    .option(
      '--global-mobile [numbers]',
      'which numbers are Global Mobile Numbers, whose records begin on 2023-02-01: these, or all of the request',
      (text: string, before?: readonly string[] | true) => someNames(text, before === true ? [] : before),
    )
    .option(
      '--key <key>',
      'identifies the request: a repeat with the same key returns the existing one (default: its content)',
      filled,
    )
    .option('--again', 'send a new request even if there is one with the same key')
    .option('-l, --lane <name>', 'the lane (default: the only one)', filled);
}

function withParameters(command: Command, about: string): Command {
  return command.option('--set <name=value>', about, parameter);
}

function withFile(command: Command): Command {
  const out = new Option('-o, --out <file>', 'write to this file, all or nothing')
    .argParser(filled)
    .default('-', 'standard output');
  return command.addOption(out).option('--force', 'overwrite the file');
}

function withResolution(command: Command): Command {
  const choices = [
    new Option('--accepted <service-id>', 'the service has accepted it, under this id').argParser(filled),
    new Option('--resend', 'the service does not have it: send it again'),
    new Option('--abandon', 'give it up'),
  ];
  const names = choices.map((each) => each.attributeName());
  for (const each of choices)
    command.addOption(each.conflicts(names.filter((name) => name !== each.attributeName())));
  return command;
}

const parameter = namedValues('product=IBN', (name, value) =>
  value === '' ? `The parameter ${name} has no value.` : null,
);
