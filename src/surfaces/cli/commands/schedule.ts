import type { Command } from 'commander';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { withFields } from './campaign-flags.js';
import { duration, filled, oneOf, wholeNumber, withRequired } from './option-values.js';

const verbs = () => import('../schedule.js');

/** Adds the commands for recurring campaigns, in the order in which help lists them. */
export function addScheduleCommands(program: Command, context: Context): void {
  const schedule = program
    .command('schedule')
    .summary('repeat a campaign daily, weekly, or monthly')
    .description(
      'Repeats a campaign at the times of a cron expression, in a time zone. Workers read the list anew each time, and each occurrence creates at most one campaign; see docs/schedules.md.',
    )
    .addHelpText(
      'after',
      examples(
        'schedule add examples/spring-sale.csv --cron "0 9 * * 1" --zone Europe/London --country GB --sender ACME --message "Hi {{name}}"',
        'schedule list',
      ),
    );
  const onSchedule = (name: string, summary: string): Command =>
    schedule
      .command(name)
      .summary(summary)
      .argument('<schedule>', 'the schedule: its id, the beginning of it, or last for the newest one', filled)
      .option(
        '-l, --lane <name>',
        'the lane of the schedule; required if several lanes have one of this id',
        filled,
      );

  const add = schedule
    .command('add')
    .summary('add a schedule')
    .description(
      'Adds a schedule. It checks the list now, and workers read it again each time the schedule is due. Adding the same schedule again changes nothing.',
    )
    .argument(
      '[file]',
      'CSV file with a header line, in UTF-8, which the workers can read at this path',
      filled,
    );
  withRequired(
    add,
    '--cron <expression>',
    'when it is due: minute, hour, day of the month, month, day of the week; "0 9 * * 1" is Monday at nine',
    (text) => text,
  );
  withRequired(
    add,
    '--zone <zone>',
    'the time zone of the expression and of --window, such as Europe/London',
    (text) => text,
  );
  withFields(add, context, 'schedule', {
    name: "the campaign's name, for people (default: the id of the schedule)",
    skipInvalid: 'leave out invalid rows; without it, an occurrence whose list has one fails',
  })
    .option('--id <id>', 'names the schedule (default: the name of the file)', filled)
    .option(
      '--provided <name>',
      'instead of a file: the list that the code of the workers provides under this name',
      filled,
    )
    .option(
      '--overlap <skip|wait|allow>',
      'if the last campaign still has messages to send: skip this time, wait, or send all the same (default: skip)',
      oneOf(['skip', 'wait', 'allow'] as const),
    )
    .option(
      '--catch-up <duration>',
      'after downtime, run the newest missed occurrence if it is at most this late, from 1m to 7d (default: 1h)',
      duration,
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examples(
        'schedule add examples/spring-sale.csv --id weekly --cron "0 9 * * 1" --zone Europe/London --country GB --sender ACME --message "Hi {{name}}"',
        'schedule add --provided customers --cron "30 8 1 * *" --zone Europe/Paris --sender ACME --message "Hi {{name}}" --overlap wait',
      ),
    )
    .action(action(context, verbs, 'add'));

  schedule
    .command('list')
    .summary('list the schedules')
    .description('Lists the schedules.')
    .option('-l, --lane <name>', 'only schedules of this lane', filled)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule list'))
    .action(action(context, verbs, 'list'));

  onSchedule('show', 'show a schedule and its latest occurrences')
    .description('Shows a schedule and its latest occurrences. Exit code 3: its failures have paused it.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule show last'))
    .action(action(context, verbs, 'show'));

  onSchedule('next', 'show when a schedule is due next')
    .description('Shows when a schedule is due next.')
    .option('--count <count>', 'how many times to show', wholeNumber(1, 1_000), 5)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule next last --count 10'))
    .action(action(context, verbs, 'next'));

  onSchedule('run', 'run a schedule now')
    .description(
      'Runs a schedule now, besides its occurrences: a worker creates the campaign. This also works while the schedule is paused. Exit code 1: it failed.',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule run last'))
    .action(action(context, verbs, 'run'));

  onSchedule('pause', 'pause a schedule')
    .description('Pauses a schedule: what is due meanwhile does not run. Its campaigns continue.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule pause last'))
    .action(action(context, verbs, 'pause'));

  onSchedule('resume', 'resume a paused schedule')
    .description('Resumes a paused schedule at its next occurrence.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule resume last'))
    .action(action(context, verbs, 'resume'));

  onSchedule('remove', 'remove a schedule')
    .description('Removes a schedule, its stored list, and its history. Its campaigns remain.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('schedule remove last'))
    .action(action(context, verbs, 'remove'));
}
