import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readProblem } from '../../../base/config/file-problem.js';
import { LABEL, LABEL_FORM } from '../../../campaign/fields/field-kinds.js';
import { type FieldOf, fieldNamed, fieldsOf } from '../../../campaign/fields/field-sets.js';
import {
  type CampaignFields,
  FIELDS,
  type Field,
  type FieldName,
  type Taker,
} from '../../../campaign/fields/fields.js';
import { FOLLOWED_STATUS_FORM, parseFollowedStatus } from '../../../campaign/fields/results-of.js';
import type { Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import {
  amount,
  duration,
  filled,
  listOf,
  momentOrWords,
  namedValues,
  oneOf,
  someNames,
  takeWord,
  tomorrow,
  wholeNumber,
  withRequired,
} from './option-values.js';

/** Means standard input. */
const STDIN = '-';

/** What people set of a campaign on the command line, by the names of the fields. */
export type CampaignFlags<By extends Taker = 'preview'> = {
  readonly [Name in FieldOf<By>]: CampaignFields[Name];
};

/** Adds the argument with the list, which may be the results of a campaign instead. */
export function withList(command: Command): Command {
  return command
    .argument(
      '[file]',
      'Excel workbook (.xlsx), or CSV file; with a header line; - for standard input; none with --to-results-of',
      filled,
    )
    .hook('preAction', (_parent, called) => {
      const [file] = called.args;
      const isSource = called.getOptionValue('toResultsOf') !== undefined;
      if ((file === undefined) === isSource) return;
      called.error(
        isSource
          ? 'error: options --to-results-of and a file do not go together: a campaign has one list'
          : "error: missing required argument 'file'",
        { code: 'commander.missingArgument' },
      );
    });
}

/** The word with which a change resets a field, as null does over HTTP, and what help says about it. */
const RESETS: Partial<Readonly<Record<FieldName, string>>> = {
  senderName: 'none for SENDER_NAME, or no name',
  tags: 'none removes them',
  sendAt: 'now starts at once',
  validFor: 'none lets no message lapse',
  window: 'none removes it',
  zone: "none for that of the lane's window",
  zoneFrom: 'none requires a zone',
};

/**
 * Adds the flags of the fields that something takes. `help`: what help says about fields that mean something else there. `isChange`: none is
 * required, because they change what there is, and a word resets some.
 */
export function withFields(
  command: Command,
  context: Context,
  by: Taker,
  help: Partial<Readonly<Record<FieldName, string>>> = {},
  isChange = false,
): Command {
  for (const name of fieldsOf(by)) {
    const field = fieldNamed(name);
    const about = help[name] ?? field.help;
    const reset = isChange ? RESETS[name] : undefined;
    const changed = [about.replace(/ \(default: [^)]*\)/, ''), ...(reset === undefined ? [] : [reset])];
    const shown = { ...field, name, help: isChange ? changed.join('; ') : about };
    withField(command, context, shown, isChange, by);
    if (reset !== undefined) takeWord(command, field.flag, reset.replace(/ .*/, ''));
  }
  return command;
}

function withField(
  command: Command,
  context: Context,
  field: Field & { readonly name: string },
  isChange: boolean,
  by: Taker,
): Command {
  const { flag, help } = field;
  switch (field.kind) {
    case 'message':
      return withMessage(command, context, field, isChange, by);
    case 'country':
      return withCountry(command, field);
    case 'switch':
      return command.option(flag, help);
    case 'text':
      return command.option(flag, help, filled);
    case 'choice':
      return command.option(flag, help, oneOf(field.choices));
    case 'lineNumber':
      return command.option(flag, help, wholeNumber(1, 1_000));
    case 'time': {
      const example = help.replace('{tomorrow}', tomorrow(context.clock()));
      const read = (text: string): string => momentOrWords(text, context.clock);
      return command.addOption(new FieldOption(flag, example, field.name).argParser(read));
    }
    case 'duration':
      return command.option(flag, help, duration);
    case 'amount':
      return command.option(flag, help, amount);
    case 'window': {
      const option = (flags: string, about: string, member: string, read: (text: string) => unknown) =>
        new FieldOption(flags, about, field.name).argParser((text: string, before?: object) => ({
          ...before,
          [member]: read(text),
        }));
      command
        .addOption(option(flag, help, 'hours', filled))
        .addOption(option(field.exceptFlag, field.exceptHelp, 'except', someNames));
      // The zones of a campaign do not change.
      if (by === 'change') return command;
      const whose = oneOf(isChange ? ['recipient', 'none'] : ['recipient']);
      const zone = (text: string): string | null => (whose(text) === 'none' ? null : 'recipient');
      const about = isChange
        ? field.zoneHelp.replace(/ \(default: .*/, '; none for those of --zone')
        : field.zoneHelp;
      return command.addOption(option(field.zoneFlag, about, 'zone', zone));
    }
    case 'resultsOf':
      return withResultsOf(command, field, by);
    case 'labels':
      return command.addOption(new FieldOption(flag, help, field.name).argParser(listOf(label)));
    case 'entries':
      return command.option(flag, help, namedValues('shop=17'));
    default:
      return field satisfies never;
  }
}

/** An option with another name than its field: `--at` is `sendAt`, and each `--tag` is one of `tags`. */
class FieldOption extends Option {
  readonly #field: string;

  constructor(flag: string, help: string, field: string) {
    super(flag, help);
    this.#field = field;
  }

  override attributeName(): string {
    return this.#field;
  }
}

function label(text: string): string {
  if (LABEL.test(text)) return text;
  throw new InvalidArgumentError(`${LABEL_FORM}.`);
}

/** Adds `--to-results-of`, the states of the recipients, and when a schedule reads them. Together they make one field. */
function withResultsOf(command: Command, { flag, help }: Field, by: Taker): Command {
  const states = '--status <states>';
  const after = '--after <duration>';
  const parts = new Map([
    ['toResultsOf', flag],
    ['status', states],
  ]);
  command
    .option(flag, help, filled)
    .option(states, `with --to-results-of: ${FOLLOWED_STATUS_FORM}`, followedStatuses);
  if (by === 'schedule') {
    parts.set('after', after);
    command.option(after, 'with --to-results-of: how long after the start of that campaign', duration);
  }
  return command.hook('preAction', (_parent, called) => {
    const { toResultsOf: campaign, status, after: time } = called.opts();
    const lacking = [...parts].filter(([name]) => called.getOptionValue(name) === undefined);
    const [first] = lacking;
    if (lacking.length === parts.size) return;
    if (first === undefined) {
      called.setOptionValue('toResultsOf', { campaign, status, after: time });
      return;
    }
    const [, given] = [...parts].find(([name]) => !lacking.some(([other]) => other === name)) ?? [];
    called.error(`error: option '${given}' needs '${first[1]}'`, {
      code: 'commander.missingMandatoryOptionValue',
    });
  });
}

function followedStatuses(text: string, before?: readonly string[]): readonly string[] {
  const names = someNames(text, before);
  const other = names.find((name) => parseFollowedStatus(name) === null);
  if (other === undefined) return names;
  throw new InvalidArgumentError(`${other} is no state to follow up. Use ${FOLLOWED_STATUS_FORM}.`);
}

/** Adds `--message`: a text, a file, or standard input. */
function withMessage(
  command: Command,
  context: Context,
  { flag, help }: Field,
  isOptional: boolean,
  by: Taker,
): Command {
  const read = (text: string): string =>
    text === STDIN || text === `@${STDIN}` ? STDIN : messageText(text, context.cwd);
  const { takenBy, flag: template } = fieldNamed('template');
  const instead = takenBy.includes(by) ? { name: 'template', flags: template } : undefined;
  const added = isOptional
    ? command.option(flag, help, read)
    : withRequired(command, flag, help, read, instead);
  return added.hook('preAction', async (_parent, called) => {
    if (called.getOptionValue('message') !== STDIN) return;
    const { readText } = await import('../files/input.js');
    const text = await readText(context, 'the text');
    if (text.trim() === '') throw badInput('The text on standard input is empty.');
    called.setOptionValue('message', text);
  });
}

/**
 * Adds `--country`. Its value is checked against the metadata of all countries, which takes long to load, so it is
 * checked only when the option is used.
 */
export function withCountry(command: Command, { flag, help }: Field = FIELDS.country): Command {
  return command.option(flag, help).hook('preAction', async (_parent, called) => {
    const text: unknown = called.getOptionValue('country');
    if (typeof text !== 'string') return;
    const { numberReader } = await import('../../../campaign/numbers/number.js');
    const code = text.toUpperCase();
    try {
      numberReader(code);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      called.error(`error: option '${flag}' argument '${text}' is invalid. ${reason}.`, {
        code: 'commander.invalidArgument',
      });
    }
    called.setOptionValue('country', code);
  });
}

/** The text itself, or for `@file` the content of the file in `folder`, without a byte order mark, and without one line break at its end. */
export function messageText(value: string, folder: string): string {
  if (value.startsWith('@@')) return value.slice(1);
  if (!value.startsWith('@')) return notEmpty(value);
  const path = value.slice(1);
  let bytes: Buffer;
  try {
    bytes = readFileSync(resolve(folder, path));
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
