import type { Command } from 'commander';
import { action, examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { withFields } from '../flags/campaign-flags.js';
import { addOperations } from './operation.js';

/** Adds the commands for recurring campaigns, in the order in which help lists them. */
export function addScheduleCommands(program: Command, context: Context): void {
  const schedule = program
    .command('schedule')
    .summary('repeat a campaign, or follow one up later')
    .description(
      'Repeats a campaign at the times of a cron expression, in a time zone. Workers read the list anew each time, and each occurrence creates at most one campaign; see docs/campaign-options.md, Schedules.',
    )
    .addHelpText(
      'after',
      examples(
        'schedule add examples/spring-sale.csv --cron "0 9 * * 1" --zone Europe/London --country GB --sender ACME --message "Hi {{name}}"',
        'schedule list',
      ),
    );
  schedule
    .command('set [words...]', { hidden: true })
    .aliases(['change', 'edit', 'replace', 'update'])
    .allowUnknownOption()
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule add examples/spring-sale.csv --id weekly --replace --help'))
    .action(() => {
      throw badInput(
        'To change a schedule, add it again with all of its settings: volley schedule add <file> --id <id> --replace …',
      );
    });
  addOperations(program, context, 'Schedules', {
    addSchedule: {
      after: (command) =>
        withFields(
          command.option('--replace', 'give the schedule with this id these settings, from its next run on'),
          context,
          'schedule',
          {
            toResultsOf:
              'send once to recipients of this campaign, with --after: to those who have the states of --status then',
            name: "the campaign's name, for people (default: the id of the schedule)",
            skipInvalid: 'leave out invalid rows; without it, an occurrence whose list has one fails',
          },
        ),
      action: action(context, () => import('../actions/schedule.js'), 'add'),
    },
  });
}
