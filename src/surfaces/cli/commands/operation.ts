import type { Command } from 'commander';
import { parseWantedStatus, WANTED_STATUSES } from '../../../campaign/states/reported-status.js';
import type { OperationCommand } from '../../../operations/command-table.js';
import { examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { withCountry } from '../flags/campaign-flags.js';
import {
  dayOrMoment,
  duration,
  durationOrZero,
  filled,
  listOf,
  oneOf,
  someNames,
  someOf,
  takeWord,
  today,
  tomorrow,
  wholeNumber,
  withRequired,
} from '../flags/option-values.js';
import { OPERATION_COMMANDS } from '../output/operation-commands.js';

/*
 * The commands of operations, from the table that their rows generate: it needs no schemas, so help loads none.
 */

/** What a command has besides its operation. */
export interface ByHand {
  /** Adds options and arguments before those of the table. */
  readonly before?: (command: Command) => Command;
  /** Adds options after those of the table. */
  readonly after?: (command: Command) => Command;
  /** Default: runs the operation, and prints its answer. */
  readonly action?: (...args: unknown[]) => Promise<void>;
}

/** Adds the commands of the operations with this tag, in the order of their rows. `byHand`: by their names. */
export function addOperations(
  program: Command,
  context: Context,
  tag: string,
  byHand: Readonly<Record<string, ByHand>> = {},
): void {
  for (const row of OPERATION_COMMANDS) {
    if (row.tag === tag) addOperation(program, context, row, byHand[row.name] ?? {});
  }
}

function addOperation(
  program: Command,
  context: Context,
  row: OperationCommand,
  { before, after, action }: ByHand,
): void {
  const [first = '', ...words] = row.usage.replace(/ [<[].*/, '').split(' ');
  const parent = words.length === 0 ? program : program.commands.find((each) => each.name() === first);
  const command = (parent ?? program).command(words[0] ?? first);
  command.summary(row.summary).description(row.description);
  before?.(command);
  for (const [argument, about] of Object.entries(row.arguments)) {
    if (argument.includes('...')) command.argument(argument, about);
    else command.argument(argument, about, filled);
  }
  for (const { flags, about, reads } of row.flags) {
    if (reads === undefined) command.option(flags, about);
    else if (reads.as === 'country') withCountry(command);
    else if (reads.isRepeatable) command.option(flags, about, listOf(readerOf(reads, context)));
    else if (reads.isRequired) withRequired(command, flags, about, readerOf(reads, context));
    else command.option(flags, about, readerOf(reads, context), reads.usual);
    if (reads?.as === 'durationOrNever') takeWord(command, flags, 'never');
  }
  after?.(command);
  command
    .option('--json', row.json)
    .addHelpText('after', examples(...row.examples.map((line) => withTimes(line, context))))
    .action(
      action ??
        (async (...args: unknown[]) => {
          const { runOperation } = await import('../answers/run-operation.js');
          context.print(await runOperation(context, row, args));
        }),
    );
}

/** The value of a flag. */
type FlagValue = string | number | readonly string[];

/** What earlier flags have listed. */
const listed = (before: FlagValue | undefined): readonly string[] =>
  typeof before === 'object' ? before : [];

/** The parser of a value. It says what is valid before anything is loaded or read. */
function readerOf(
  reads: NonNullable<OperationCommand['flags'][number]['reads']>,
  { clock }: Context,
): (text: string, before?: FlagValue) => FlagValue {
  switch (reads.as) {
    case 'text':
      return filled;
    case 'texts':
      return (text, before) => someNames(text, listed(before));
    case 'name':
      return oneOf(reads.names ?? []);
    case 'names':
      return (text, before) => someOf(reads.names ?? [])(text, listed(before));
    case 'number':
      return wholeNumber(reads.from ?? 0, reads.to ?? Number.MAX_SAFE_INTEGER);
    case 'reportedStatuses':
      return (text, before) =>
        someOf(['delivered', ...WANTED_STATUSES], parseWantedStatus)(text, listed(before));
    case 'duration':
    case 'durationOrNever':
      return duration;
    case 'durationOrZero':
      return durationOrZero;
    case 'dayOrMoment':
      return (text: string) => new Date(dayOrMoment(text, clock)).toISOString();
    case 'country':
      throw new TypeError('withCountry reads it');
    default:
      return reads.as satisfies never;
  }
}

function withTimes(line: string, { clock }: Context): string {
  return line.replace('{today}', () => today(clock())).replace('{tomorrow}', () => tomorrow(clock()));
}
