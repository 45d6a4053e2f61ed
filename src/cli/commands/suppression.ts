import type { Command } from 'commander';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { withCountry } from './country.js';
import { filled } from './option-values.js';

const verbs = () => import('../suppression.js');

/** `volley suppress add`, `remove`, `list`, and `import` */
export function addSuppress(program: Command, context: Context): void {
  const suppress = program
    .command('suppress')
    .summary('change the list of suppressed numbers')
    .description(
      'Changes the list of suppressed numbers, which never get a message. It is checked at import and again before each send.',
    );
  withCountry(
    suppress
      .command('add')
      .description('Adds numbers. If one of them is invalid, none is added.')
      .argument('<numbers...>', 'in any format'),
  )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress add +447700900123 "07700 900124" --country GB'))
    .action(action(context, verbs, 'add'));
  withCountry(
    suppress
      .command('remove')
      .description('Removes numbers from the list.')
      .argument('<numbers...>', 'in any format'),
  )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress remove +447700900123'))
    .action(action(context, verbs, 'remove'));
  suppress
    .command('list')
    .description('Prints the numbers, one per line.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress list > suppressed.txt'))
    .action(action(context, verbs, 'list'));
  withCountry(
    suppress
      .command('import')
      .description(
        'Adds the numbers of a CSV file. Rows without a valid number are skipped and listed; exit code 2 if there are any.',
      )
      .argument('<file>', 'CSV file with a header line, or only numbers, one per line', filled)
      .option(
        '--to-column <column>',
        'the column with the numbers (default: found by name and content)',
        filled,
      ),
  )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress import opt-outs.csv --country GB'))
    .action(action(context, verbs, 'importFile'));
}
