import type { Command } from 'commander';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { badInput } from './exit.js';
import { withLocalVolley } from './open.js';
import { countryOption, filled } from './parsed.js';
import { renderInvalid } from './show-preview.js';
import { counted, grouped } from './text.js';

const PROBLEMS_SHOWN = 20;

interface Countried {
  country?: string;
}

interface ImportOptions extends Countried {
  toColumn?: string;
}

/** Adds `volley suppress`. */
export function addSuppress(program: Command, context: Context): void {
  const suppress = program
    .command('suppress')
    .summary('keep the list of numbers never sent to')
    .description(
      'Keeps the list of numbers that are never sent to. It is asked at import and again before each send.',
    );
  suppress
    .command('add')
    .description('Adds numbers; all of them, or none if one cannot be read.')
    .argument('<numbers...>', 'in any spelling')
    .addOption(countryOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress add +447700900123 "07700 900124" --country GB'))
    .action(action(context, (numbers: string[], options: Countried) => add(context, numbers, options)));
  suppress
    .command('remove')
    .description('Takes numbers off the list.')
    .argument('<numbers...>', 'in any spelling')
    .addOption(countryOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress remove +447700900123'))
    .action(action(context, (numbers: string[], options: Countried) => remove(context, numbers, options)));
  suppress
    .command('list')
    .description('Prints the numbers, one a line.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress list > suppressed.txt'))
    .action(action(context, () => list(context)));
  suppress
    .command('import')
    .description(
      'Adds the numbers of a CSV file. Rows without a number are left out and named; exit code 2 if there are any.',
    )
    .argument('<file>', 'CSV file with a header line, or numbers alone, one a line', filled)
    .option('--to-column <column>', 'the column of the numbers (default: found by name and content)', filled)
    .addOption(countryOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('suppress import opt-outs.csv --country GB'))
    .action(action(context, (file: string, options: ImportOptions) => importFile(context, file, options)));
}

function add(context: Context, numbers: string[], options: Countried): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const added = await volley.suppression.add(numbers, options);
    return { json: { added }, lines: [`${counted(added, 'number')} added${known(numbers.length - added)}.`] };
  });
}

function known(count: number): string {
  return count === 0 ? '' : `, ${grouped(count)} there already`;
}

function remove(context: Context, numbers: string[], options: Countried): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const removed = await volley.suppression.remove(numbers, options);
    return { json: { removed }, lines: [`${counted(removed, 'number')} removed.`] };
  });
}

/** May be long: written as it comes. */
function list(context: Context): Promise<undefined> {
  const { json, stdout } = context;
  return withLocalVolley(context, async (volley) => {
    let first = true;
    if (json) stdout.write('{"numbers":[');
    for await (const number of volley.suppression.list()) {
      stdout.write(json ? `${first ? '' : ','}${JSON.stringify(number)}` : `${number}\n`);
      first = false;
    }
    if (json) stdout.write(']}\n');
    return undefined;
  });
}

function importFile(context: Context, file: string, options: ImportOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const outcome = await volley.suppression.import(file, options);
    const { added, rows, invalid } = outcome;
    const said = `${counted(added, 'number')} added of ${counted(rows, 'row')}.`;
    if (invalid.length === 0) return { json: { added, rows, invalid: [] }, lines: [said] };
    const problems = invalid.slice(0, PROBLEMS_SHOWN);
    throw badInput(
      [
        said,
        `${counted(invalid.length, 'row')} without a number that can be read:`,
        ...renderInvalid(problems, invalid.length),
      ].join('\n'),
      {
        added,
        rows,
        invalid: invalid.length,
        problems: problems.map(({ line, column, reason }) => ({ line, column, reason })),
      },
    );
  });
}
