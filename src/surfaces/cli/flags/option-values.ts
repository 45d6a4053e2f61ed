import { type Command, InvalidArgumentError } from 'commander';
import type { Clock } from '../../../base/clock.js';
import { DURATION_FORM, durationOf, parseDuration } from '../../../base/duration.js';
import { nearest } from '../../../campaign/errors/nearest.js';
import { readMoment, spelledOut } from '../../../campaign/time/moment.js';

/** Parsers for option values. Each throws an error that says what is valid; commander adds the option's name. */

/** A time, in ms since the epoch. */
export function moment(text: string, clock: Clock): number {
  const read = readMoment(text);
  switch (read.kind) {
    case 'moment':
      return read.at;
    case 'noTime':
      throw new InvalidArgumentError(`Use an ISO 8601 time with a time zone, such as ${tomorrow(clock())}.`);
    case 'noSuchTime':
      throw new InvalidArgumentError('This day or hour does not exist.');
    case 'noZone': {
      const { spelled } = read;
      throw new InvalidArgumentError(
        `It has no time zone. Write ${spelled}${offset(new Date(`${spelled}`))} for this machine's time, or ${spelled}Z for UTC.`,
      );
    }
    case 'noSuchZone':
      throw new InvalidArgumentError(
        `This time zone does not exist. Use an ISO 8601 time with a time zone, such as ${tomorrow(clock())}.`,
      );
    default:
      return read satisfies never;
  }
}

/** A time that a zone, or none, completes: ISO 8601, or a word such as `tomorrow 9:00`. It stays as it is, because its zone is not known yet. */
export function momentOrWords(text: string, clock: Clock): string {
  if (spelledOut(text, 'UTC', clock()) !== null) return text;
  const { kind } = readMoment(text);
  if (kind === 'noTime')
    throw new InvalidArgumentError(
      `Use a time such as "tomorrow 9:00", "monday 09:00", or ${tomorrow(clock())}.`,
    );
  if (kind !== 'noZone') moment(text, clock);
  return text;
}

/** A time, or a day, which begins at midnight in this machine's time zone; in ms since the epoch. */
export function dayOrMoment(text: string, clock: Clock): number {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined) return moment(text, clock);
  const at = new Date(Number(year), Number(month) - 1, Number(day));
  if (dateOf(at) !== text) throw new InvalidArgumentError('This day does not exist.');
  return at.getTime();
}

/** The day in this machine's time zone, such as `2026-05-01`. */
export function today(now: number): string {
  return dateOf(new Date(now));
}

function dateOf(at: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** Tomorrow at nine in this machine's time zone: an example of a time that is neither past nor too far ahead. */
export function tomorrow(now: number): string {
  const at = new Date(now);
  at.setDate(at.getDate() + 1);
  at.setHours(9, 0, 0, 0);
  return `${dateOf(at)}T09:00${offset(at)}`;
}

/** This machine's offset from UTC at that time, `+02:00`. */
function offset(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const two = (part: number): string => String(Math.floor(part)).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
}

/** An amount of money, with or without its currency. */
export function amount(text: string): string {
  if (/^\d{1,12}(?:\.\d{1,6})?(?: +[A-Za-z]{3})?$/.test(text.trim())) return text.trim();
  throw new InvalidArgumentError('Use an amount with at most six decimals, such as 50 or "49.90 EUR".');
}

/** A duration longer than zero. */
export function duration(text: string): string {
  if (durationOf(text) === null) throw new InvalidArgumentError(`Use ${DURATION_FORM}.`);
  return text;
}

/** A duration, or zero. */
export function durationOrZero(text: string): string {
  if (parseDuration(text) === undefined) throw new InvalidArgumentError(`Use ${DURATION_FORM}.`);
  return text;
}

/** Lets an option of a command also take a word, as null. Commander makes an empty text of the null that a parser returns. */
export function takeWord(command: Command, flags: string, word: string): void {
  const option = command.options.find((each) => each.flags === flags);
  if (option === undefined) throw new TypeError(`There is no option ${flags}.`);
  const { parseArg: read } = option;
  const name = option.attributeName();
  option.argParser((text, before: unknown) =>
    text.toLowerCase() === word ? null : read?.(text, before === '' ? undefined : before),
  );
  command.hook('preAction', (_parent, called) => {
    if (called.getOptionValue(name) === '') called.setOptionValue(name, null);
  });
}

/** A parser for whole numbers in a range. */
export function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= from && value <= to) return value;
    throw new InvalidArgumentError(`Use a whole number from ${from} to ${to}.`);
  };
}

/** A parser for one of a few names, in any case. */
export function oneOf<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const named = names.find((name) => name.toLowerCase() === text.toLowerCase());
    if (named !== undefined) return named;
    const meant = nearest(text, names);
    throw new InvalidArgumentError(
      `${meant === null ? '' : `Did you mean ${meant}? `}Use one of ${names.join(', ')}.`,
    );
  };
}

/** A parser for some of a few names, separated by commas or given one by one; each counts once. `read` accepts other spellings; null for any other text. */
export function someOf(
  names: readonly string[],
  read: (text: string) => string | null = () => null,
): (text: string, before?: readonly string[]) => readonly string[] {
  return (text, before = []) => {
    const parts = commaSeparated(text);
    if (parts.length === 0)
      throw new InvalidArgumentError(`It is empty. Use one or more of ${names.join(', ')}.`);
    return [...new Set([...before, ...parts.map((part) => read(part) ?? oneOf(names)(part))])];
  };
}

/** At least one name; several are separated by commas, or given one by one. */
export function someNames(text: string, before: readonly string[] = []): readonly string[] {
  const parts = commaSeparated(text);
  if (parts.length === 0) throw new InvalidArgumentError('It is empty.');
  return [...before, ...parts];
}

function commaSeparated(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}

/**
 * Adds an option that a command cannot do without. Commander's own required options are checked before the unknown ones, so that
 * `--mesage` is reported as a missing `--message`. `instead`: the option that may be given in its place.
 */
export function withRequired<Value>(
  command: Command,
  flags: string,
  description: string,
  parse: (text: string) => Value,
  instead?: { readonly name: string; readonly flags: string },
): Command {
  const option = command.createOption(flags, description).argParser(parse);
  return command.addOption(option).hook('preAction', (_parent, called) => {
    const names = [option.attributeName(), ...(instead === undefined ? [] : [instead.name])];
    if (names.some((name) => called.getOptionValue(name) !== undefined)) return;
    const other = instead === undefined ? '' : ` or ${instead.flags}`;
    called.error(`error: required option '${flags}${other}' not specified`, {
      code: 'commander.missingMandatoryOptionValue',
    });
  });
}

/** A parser for an option that may be given several times: all of its values. */
export function listOf<Value>(
  parse: (text: string) => Value,
): (text: string, before?: readonly Value[]) => readonly Value[] {
  return (text, before = []) => [...before, parse(text)];
}

/** A text that is not empty. */
export function filled(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It is empty.');
  return text;
}

type Values = Readonly<Record<string, string>>;

/**
 * Collects the values of an option that is repeated, by their names. `example`: one, such as `name=Ada`. `refusal`: why a name or its value
 * cannot be used; null if it can.
 */
export function namedValues(
  example: string,
  refusal: (name: string, value: string) => string | null = () => null,
): (text: string, before?: Values) => Values {
  return (text, before = {}) => {
    const at = text.indexOf('=');
    const name = text.slice(0, Math.max(0, at));
    if (name === '')
      throw new InvalidArgumentError(`Use a name, an equals sign, and a value, such as ${example}.`);
    const value = text.slice(at + 1);
    const reason = refusal(name, value);
    if (reason !== null) throw new InvalidArgumentError(reason);
    // Readers of objects leave it out.
    if (name === '__proto__') throw new InvalidArgumentError('This name cannot be used.');
    if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`The name ${name} is set twice.`);
    return { ...before, [name]: value };
  };
}
