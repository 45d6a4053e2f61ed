import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Clock } from '../clock.js';
import type { CampaignInput } from '../import/campaign-input.js';
import { badInput } from './exit.js';
import { countryOption, duration, filled, moment, oneOf } from './parsed.js';

/** The options that say what a campaign is; `send` and `preview` take the same. */
export interface ListOptions {
  sender?: string;
  senderName?: string;
  message: string;
  lane?: string;
  name?: string;
  toColumn?: string;
  country?: string;
  at?: number;
  priority?: 'high' | 'normal';
  validFor?: number;
}

/** Adds them to a command. */
export function withListOptions(command: Command, clock: Clock): Command {
  return command
    .argument('<file>', 'CSV file with a header line: commas, semicolons or tabs, UTF-8', filled)
    .addOption(
      new Option(
        '-m, --message <text|@file>',
        'the text, with {{column}} placeholders; @file takes it from a file, byte for byte; a text that begins with @ is written @@',
      )
        .makeOptionMandatory()
        .argParser(messageText),
    )
    .option('-s, --sender <number|name>', 'who it is from (default: SENDER_ADDRESS)', filled)
    .option('--sender-name <name>', 'name of the sending application (default: SENDER_NAME)', filled)
    .option('-l, --lane <name>', 'the lane that sends it (default: the first)', filled)
    .option('--name <name>', "the campaign's name, for people (default: the file's)", filled)
    .option('--to-column <column>', 'the column of the numbers (default: found by name and content)', filled)
    .addOption(countryOption())
    .option(
      '--at <time>',
      'when sending begins, ISO 8601 with its zone: 2030-05-01T09:00+02:00',
      (text: string) => moment(text, clock),
    )
    .option(
      '--priority <high|normal>',
      'high gets a larger share of the lane',
      oneOf(['high', 'normal'] as const),
    )
    .option('--valid-for <duration>', 'what is not sent so long after the start lapses: 90m, 24h', duration);
}

/** A time that has passed is refused, in the words of the parser: who wants it now leaves it out. */
export function mustBeToCome(at: number | undefined, now: number): void {
  if (at === undefined || at > now) return;
  throw badInput(
    `option '--at <time>': it has passed: now it is ${new Date(now).toISOString()}. Leave it out to send at once.`,
  );
}

/** What the library is given for them. */
export function campaignInput(file: string, options: ListOptions): CampaignInput {
  const { message, sender, senderName, lane, name, toColumn, at, priority } = options;
  return {
    recipients: file,
    message,
    sender,
    senderName,
    lane,
    name,
    toColumn,
    country: options.country,
    at,
    priority,
    validForMs: options.validFor,
  };
}

/** The text itself, or of `@file` what the file holds: nothing is trimmed, only a byte order mark is no text. */
export function messageText(given: string): string {
  if (given.startsWith('@@')) return given.slice(1);
  if (!given.startsWith('@')) return notEmpty(given);
  const path = given.slice(1);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    throw new InvalidArgumentError(
      `The file ${JSON.stringify(path)} cannot be read (${code}). A text that begins with @ is written @@.`,
    );
  }
  try {
    return notEmpty(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError(`The file ${JSON.stringify(path)} is not UTF-8: save it as UTF-8.`);
  }
}

function notEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('The text is empty.');
  return text;
}
