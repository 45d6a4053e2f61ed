import { InvalidArgumentError, Option } from 'commander';
import { readMoment } from '../campaign/moment.js';
import { nearest } from '../campaign/nearest.js';
import { numberReader } from '../campaign/number.js';
import type { Clock } from '../clock.js';
import { DURATION_FORM, parseDuration } from '../duration.js';

/** Readers of what is given on the command line. Each throws what would be right; the parser names the option. */

/** A moment, ms since the epoch. */
export function moment(text: string, clock: Clock): number {
  const read = readMoment(text);
  switch (read.kind) {
    case 'moment':
      return read.at;
    case 'noTime':
      throw new InvalidArgumentError(
        `It is no time. Give an ISO 8601 time with its zone, such as ${example(clock())}.`,
      );
    case 'noSuchTime':
      throw new InvalidArgumentError('There is no such day or hour.');
    case 'noZone': {
      const { spelled } = read;
      throw new InvalidArgumentError(
        `It has no time zone. Write ${spelled}${offset(new Date(`${spelled}`))} for this machine's time, or ${spelled}Z for UTC.`,
      );
    }
    case 'noSuchZone':
      throw new InvalidArgumentError(
        `There is no such zone. Give an ISO 8601 time with its zone, such as ${example(clock())}.`,
      );
    default:
      return read satisfies never;
  }
}

function example(now: number): string {
  const tomorrow = new Date(now + 86_400_000);
  tomorrow.setHours(9, 0, 0, 0);
  const two = (part: number): string => String(part).padStart(2, '0');
  const date = `${tomorrow.getFullYear()}-${two(tomorrow.getMonth() + 1)}-${two(tomorrow.getDate())}`;
  return `${date}T09:00${offset(tomorrow)}`;
}

/** The zone of this machine at that moment, `+02:00`. */
function offset(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const two = (part: number): string => String(Math.floor(part)).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
}

/** A duration longer than nothing, in ms. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError(`Give ${DURATION_FORM}.`);
  return ms;
}

/** A reader of whole numbers in a range. */
export function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= from && value <= to) return value;
    throw new InvalidArgumentError(`Give a whole number from ${from} to ${to}.`);
  };
}

/** A country code in capitals. */
export function country(text: string): string {
  const code = text.toUpperCase();
  try {
    numberReader(code);
    return code;
  } catch (error) {
    throw new InvalidArgumentError(`${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** The country that numbers of the command may be written in the national way of. */
export function countryOption(): Option {
  return new Option(
    '--country <code>',
    'country of nationally written numbers (default: DEFAULT_COUNTRY)',
  ).argParser(country);
}

/** A reader of one of a few words, in any case. */
export function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found !== undefined) return found;
    const meant = nearest(text, words);
    throw new InvalidArgumentError(
      `${meant === null ? '' : `Did you mean ${meant}? `}It is one of ${words.join(', ')}.`,
    );
  };
}

/** A text that is not empty. */
export function filled(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It is empty.');
  return text;
}
