import type { Command } from 'commander';
import { FIELDS } from '../../../campaign/fields/fields.js';
import { action, examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { withResolutions } from '../context/resolutions.js';
import { withFields } from '../flags/campaign-flags.js';
import { filled, namedValues, wholeNumber } from '../flags/option-values.js';
import { addOperations } from './operation.js';

const verbs = () => import('../actions/outbox.js');

/** Adds the commands for outboxes, in the order in which help lists them. */
export function addOutboxCommands(program: Command, context: Context): void {
  program
    .command('outbox')
    .summary('send single messages over time, such as reminders')
    .description(
      'An outbox sends single messages, each under an id of yours: now, or at a time of its own. You can change or cancel a message by its id until it is sent. See docs/outbox.md.',
    )
    .addHelpText(
      'after',
      examples(
        "outbox create dentist --sender ACME --message 'Hi {{name}}, {{appointment}}' --send-rule 'appointment - 24h' --zone Europe/London",
        'outbox put dentist appt-17 +447700900123 --set name=Ada --set appointment=2030-05-01T14:30',
        'outbox cancel dentist appt-17',
      ),
    );
  addOperations(program, context, 'Outboxes', {
    createOutbox: {
      before: (command) =>
        withFields(command, context, 'outbox', {
          message: FIELDS.message.help.replace(
            '{{column}} placeholders',
            '{{name}} placeholders for values of the messages',
          ),
        }),
    },
    setOutbox: {
      before: (command) =>
        withFields(
          command,
          context,
          'outbox',
          {
            message:
              'the new text, with {{name}} placeholders for values of the messages; @file, - as for create',
            lane: 'the lane of the outbox; required if several lanes have one of this name',
          },
          true,
        ),
      after: (command) =>
        command
          .option(
            '--value <name=value>',
            'a value of the new text or rule, for waiting messages that lack it (repeatable)',
            namedValues('doctor=Who'),
          )
          .option('--preview', 'only show what would change'),
      action: action(context, verbs, 'set'),
    },
    resolveOutbox: { before: withResolutions },
    putMessage: {
      after: (command) =>
        command
          .option('--set <name=value>', 'a value of the text (repeatable)', setting)
          .option(
            '--send-at <time>',
            'when it is sent, ISO 8601; without an offset, in --zone, or else in the zone of the outbox',
            filled,
          )
          .option('--zone <zone>', 'its time zone, for local times and the window', filled)
          .option(
            '--version <number>',
            'the version of the message; a lower one than the stored one has no effect',
            wholeNumber(0, Number.MAX_SAFE_INTEGER),
          )
          .option('--reference <text>', 'returned with the status and in the report', filled)
          .option('--tag <label>', 'by which messages are cancelled and listed', filled),
    },
    putMessages: {
      after: (command) =>
        command.option('--id-column <column>', 'of a CSV: the column with the ids', filled, 'id'),
      action: action(context, verbs, 'importList'),
    },
  });
}

/** The members of a message that are not values of its text, and how to give them. */
const MEMBERS: Readonly<Record<string, string>> = {
  id: 'the argument <id>',
  to: 'the argument <number>',
  sendAt: '--send-at',
  version: '--version',
  reference: '--reference',
  tag: '--tag',
  zone: '--zone',
};

const setting = namedValues('name=Ada', (name) => {
  const instead = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
  return instead === undefined ? null : `Use ${instead}: ${name} is not a value of the text.`;
});
