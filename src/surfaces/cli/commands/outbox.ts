import { type Command, InvalidArgumentError } from 'commander';
import { FIELDS } from '../../../campaign/fields.js';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { withFields } from './campaign-flags.js';
import { duration, filled, wholeNumber } from './option-values.js';

const verbs = () => import('../outbox.js');

/** Adds the commands for outboxes, in the order in which help lists them. */
export function addOutboxCommands(program: Command, context: Context): void {
  const outbox = program
    .command('outbox')
    .summary('send single messages over time, such as reminders')
    .description(
      'An outbox sends single messages, each under an id of yours: now, or at a time of its own. You can change or cancel a message by its id until it is sent. See docs/outbox.md.',
    )
    .addHelpText(
      'after',
      examples(
        "outbox create dentist --sender ACME --message 'Hi {{name}}, {{appointment}}' --send-at 'appointment - 24h' --zone Europe/London",
        'outbox put dentist appt-17 +447700900123 --set name=Ada --set appointment=2030-05-01T14:30',
        'outbox cancel dentist appt-17',
      ),
    );
  const named = (verb: string, summary: string, description: string): Command =>
    outbox
      .command(verb)
      .summary(summary)
      .description(description)
      .argument('<name>', 'the outbox', filled)
      .option('--json', 'print one JSON object');
  const existing = (verb: string, summary: string, description: string): Command =>
    named(verb, summary, description).option(
      '-l, --lane <name>',
      'the lane of the outbox; required if several lanes have one of this name',
      filled,
    );

  withFields(
    named(
      'create',
      'create an outbox',
      'Creates an outbox. Its settings never change; to change them, create another one and close this one.',
    ),
    context,
    'outbox',
    {
      message: FIELDS.message.help.replace(
        '{{column}} placeholders',
        '{{name}} placeholders for values of the messages',
      ),
    },
  )
    .option(
      '--send-at <rule>',
      "when a message without a time is sent: now, or such as 'appointment - 24h' (elapsed time) or 'appointment - 1d' (same time of day)",
      filled,
    )
    .option('--zone <zone>', 'the time zone of local times and of --window, such as Europe/London', filled)
    .option(
      '--late <duration>',
      'how long after its time a message may still be sent (default: 1h)',
      duration,
    )
    .addHelpText(
      'after',
      examples(
        "outbox create dentist --sender ACME --message 'Hi {{name}}, {{appointment}}' --send-at 'appointment - 24h' --zone Europe/London --late 2h",
        "outbox create codes --sender ACME --message 'Your code is {{code}}'",
      ),
    )
    .action(action(context, verbs, 'create'));

  outbox
    .command('list')
    .summary('list the outboxes')
    .description('Lists the outboxes by name.')
    .option('-l, --lane <name>', 'only outboxes of this lane', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('outbox list'))
    .action(action(context, verbs, 'list'));

  existing(
    'show',
    'show an outbox, or one of its messages',
    'Shows how many messages are in each state, or one message.',
  )
    .argument('[id]', 'a message', filled)
    .addHelpText('after', examples('outbox show dentist', 'outbox show dentist appt-17'))
    .action(action(context, verbs, 'show'));

  existing('put', 'store or change a message', 'Stores a message, or changes it while it is waiting.')
    .argument('<id>', 'your id of the message', filled)
    .argument('<number>', 'the number to send to; - to read it from standard input', filled)
    .option('--set <name=value>', 'a value of the text (repeatable)', setting)
    .option('--send-at <time>', "when it is sent, ISO 8601; without an offset, in the outbox's zone", filled)
    .option(
      '--version <number>',
      'the version of the message; a lower one than the stored one has no effect',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .option('--reference <text>', 'returned with the status and in the report', filled)
    .addHelpText(
      'after',
      examples('outbox put dentist appt-17 +447700900123 --set name=Ada --set appointment=2030-05-01T14:30'),
    )
    .action(action(context, verbs, 'put'));

  existing(
    'import',
    'store or change the messages of a list',
    'Stores the messages of a CSV or NDJSON file, or changes those that are waiting. Importing the same file again changes nothing. Exit code 2: some lines are invalid; the others are stored.',
  )
    .argument(
      '<file>',
      'CSV file with a header line, or NDJSON, one object per line; - for standard input',
      filled,
    )
    .option('--id-column <column>', 'of a CSV: the column with the ids', filled, 'id')
    .option(
      '--to-column <column>',
      'of a CSV: the column with the numbers (default: found by name and content)',
      filled,
    )
    .addHelpText('after', examples('outbox import dentist examples/appointments.csv --id-column id'))
    .action(action(context, verbs, 'importList'));

  existing(
    'cancel',
    'cancel a message, or all',
    'Cancels a message that was not sent, or with --all everything that waits in the outbox. Once it says so, the message is never sent.',
  )
    .argument('[id]', 'the message', filled)
    .option('--all', 'cancel everything that waits; it asks first')
    .option('-y, --yes', 'with --all: do not ask')
    .option(
      '--version <number>',
      'cancel only this or a lower version; also cancels an id that is not known yet',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
    )
    .addHelpText('after', examples('outbox cancel dentist appt-17', 'outbox cancel dentist --all'))
    .action(action(context, verbs, 'cancel'));

  existing(
    'report',
    'write every message and its state',
    'Writes every message and its state as CSV, or as JSON lines with --json.',
  )
    .addHelpText('after', examples('outbox report dentist'))
    .action(action(context, verbs, 'report'));

  existing(
    'pause',
    'send nothing until it is resumed',
    'Stops sending. Messages still lapse when their time is over.',
  )
    .addHelpText('after', examples('outbox pause dentist'))
    .action(action(context, verbs, 'pause'));
  existing('resume', 'send again', 'Sends again what is due.')
    .addHelpText('after', examples('outbox resume dentist'))
    .action(action(context, verbs, 'resume'));
  existing(
    'close',
    'take no more messages',
    'Takes no more messages, for good. Those that it has are still sent.',
  )
    .addHelpText('after', examples('outbox close dentist'))
    .action(action(context, verbs, 'close'));
}

/** The members of a message that are not values of its text, and how to give them. */
const MEMBERS: Readonly<Record<string, string>> = {
  id: 'the argument <id>',
  to: 'the argument <number>',
  sendAt: '--send-at',
  version: '--version',
  reference: '--reference',
};

function setting(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Use a name, an equals sign, and a value, such as name=Ada.');
  const name = text.slice(0, at);
  const instead = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
  if (instead !== undefined)
    throw new InvalidArgumentError(`Use ${instead}: ${name} is not a value of the text.`);
  return { ...before, [name]: text.slice(at + 1) };
}
