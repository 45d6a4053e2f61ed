import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { readProblem } from '../../../base/config/file-problem.js';
import type { Context } from '../context.js';
import { badInput } from '../errors.js';
import {
  amount,
  duration,
  filled,
  moment,
  oneOf,
  someNames,
  tomorrow,
  withRequired,
} from './option-values.js';

/** Means standard input. */
const STDIN = '-';

/** The options that define a campaign; `send` and `preview` take the same ones. */
export interface ListOptions {
  sender?: string;
  senderName?: string;
  message: string;
  lane?: string;
  name?: string;
  metadata?: Readonly<Record<string, string>>;
  toColumn?: string;
  country?: string;
  at?: number;
  priority?: 'high' | 'normal';
  validFor?: number;
  window?: string;
  zone?: string;
  except?: readonly string[];
  duplicates?: 'first' | 'keep' | 'refuse';
  skipInvalid?: boolean;
  maxCost?: string;
  again?: boolean;
}

/** Adds these options to a command, and the argument with the list. */
export function withListOptions(command: Command, context: Context): Command {
  command.argument(
    '<file>',
    'CSV file with a header line; commas, semicolons, or tabs; UTF-8, Windows-1252, or UTF-16; - for standard input',
    filled,
  );
  return withCampaignOptions(command, context)
    .option(
      '--at <time>',
      `when sending starts, ISO 8601 with a time zone: ${tomorrow(context.clock())}`,
      (text: string) => moment(text, context.clock),
    )
    .option('--zone <zone>', 'the time zone of --window, such as Europe/Paris', filled)
    .option('--again', 'allow a campaign that equals one of the last 24 hours');
}

/** What help says about options that mean something else for other commands. */
interface Wording {
  readonly defaultName?: string;
  readonly skipInvalid?: string;
}

/** Adds `--message`: a text, a file, or standard input. */
export function withMessage(command: Command, context: Context, placeholders: string): Command {
  return withRequired(
    command,
    '-m, --message <text|@file|->',
    `the text, with ${placeholders}; @file reads it from a file, without one final line break; - from standard input; write @@ to start a text with @`,
    (text) => (text === STDIN || text === `@${STDIN}` ? STDIN : messageText(text)),
  ).hook('preAction', async (_parent, called) => {
    if (called.getOptionValue('message') !== STDIN) return;
    const { readText } = await import('../input.js');
    const text = await readText(context, 'the text');
    if (text.trim() === '') throw badInput('The text on standard input is empty.');
    called.setOptionValue('message', text);
  });
}

/** Adds the options that the campaigns of a schedule have, too. */
export function withCampaignOptions(
  command: Command,
  context: Context,
  {
    defaultName = 'the file name',
    skipInvalid = 'leave out invalid rows; `send` writes them to a file beside the list: spring.invalid.csv',
  }: Wording = {},
): Command {
  withMessage(command, context, '{{column}} placeholders')
    .option('-s, --sender <number|name>', 'the sender (default: SENDER_ADDRESS)', filled)
    .option('--sender-name <name>', 'name of the sending application (default: SENDER_NAME)', filled)
    .option('-l, --lane <name>', 'the lane to send through (default: the first one)', filled)
    .option('--name <name>', `the campaign's name, for people (default: ${defaultName})`, filled)
    .option(
      '--metadata <name=value>',
      'your own data about the campaign, which status and results return; repeat it for more',
      metadataEntry,
    )
    .option(
      '--to-column <column>',
      'the column with the numbers (default: found by name and content)',
      filled,
    );
  return withCountry(command)
    .option(
      '--priority <high|normal>',
      'high gets a larger share of the lane',
      oneOf(['high', 'normal'] as const),
    )
    .option(
      '--valid-for <duration>',
      'messages not sent within this time after the start lapse: 90m, 24h',
      duration,
    )
    .option(
      '--window <hours>',
      'when messages may be sent: "Mon-Sat 09:00-20:00", several separated by commas (default: at any time)',
      filled,
    )
    .option('--except <dates>', 'dates on which --window is closed: 2030-05-01,2030-12-25', someNames)
    .option(
      '--duplicates <first|keep|refuse>',
      'if a number appears again with another text: send the first, send all, or refuse the list (default: first)',
      oneOf(['first', 'keep', 'refuse'] as const),
    )
    .option('--skip-invalid', skipInvalid)
    .option(
      '--max-cost <amount>',
      'refuse a campaign that costs more, or has a number without a price; needs PRICE_PER_SEGMENT or PRICE_FILE',
      amount,
    );
}

/** Adds an entry to those of earlier options. */
function metadataEntry(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write a name and a value: shop=17.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/**
 * Adds `--country`. Its value is checked against the metadata of all countries, which takes long to load, so it is
 * checked only when the option is used.
 */
export function withCountry(command: Command): Command {
  return command
    .option('--country <code>', 'country of numbers in national format (default: DEFAULT_COUNTRY)')
    .hook('preAction', async (_parent, called) => {
      const text: unknown = called.getOptionValue('country');
      if (typeof text !== 'string') return;
      const { numberReader } = await import('../../../campaign/number.js');
      const code = text.toUpperCase();
      try {
        numberReader(code);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        called.error(`error: option '--country <code>' argument '${text}' is invalid. ${reason}.`, {
          code: 'commander.invalidArgument',
        });
      }
      called.setOptionValue('country', code);
    });
}

/** The text itself, or for `@file` the content of the file without a byte order mark, and without one line break at its end. */
export function messageText(value: string): string {
  if (value.startsWith('@@')) return value.slice(1);
  if (!value.startsWith('@')) return notEmpty(value);
  const path = value.slice(1);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const reason =
      readProblem(error, JSON.stringify(path)) ?? `The file ${JSON.stringify(path)} cannot be read`;
    throw new InvalidArgumentError(`${reason}. To start a text with @, write @@.`);
  }
  try {
    // Editors end a file with a line break, which is not part of the text.
    return notEmpty(new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, ''));
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError(`The file ${JSON.stringify(path)} is not UTF-8. Save it as UTF-8.`);
  }
}

function notEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('The text is empty.');
  return text;
}
