import type { Command } from 'commander';
import { FIELDS } from '../../../campaign/fields/fields.js';
import { action, examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { withCountry } from '../flags/campaign-flags.js';
import { filled } from '../flags/option-values.js';
import { addOperations } from './operation.js';

/** Adds the commands for numbers, in the order in which help lists them. */
export function addNumberCommands(program: Command, context: Context): void {
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
  addOperations(program, context, 'Numbers', {
    findNumber: { before: (command) => command.helpGroup('Campaigns:') },
  });

  withCountry(
    suppress
      .command('import')
      .summary('add the numbers of a CSV file')
      .description(
        'Add the numbers of a CSV file. Rows without a valid number are skipped and listed; exit code 2 if there are any.',
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
      )
      .option(FIELDS.countryColumn.flag, FIELDS.countryColumn.help, filled),
  )
    .option('-l, --lane <name>', 'the list of this lane (default: the list for all lanes)', filled)
    .option('--reason <text>', 'why, for the record of the change', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress import examples/opt-outs.csv --country GB'))
    .action(action(context, () => import('../actions/suppression.js'), 'importFile'));
  program
    .command('inbound')
    .summary('show the messages that people sent to your numbers')
    .description('Shows the messages that people sent to your numbers, and what Volley did.')
    .addHelpText('after', examples('inbound list'));
  addOperations(program, context, 'Replies');
}
