import { formatDuration } from '../duration.js';
import { type Mask, maskNumber } from './mask.js';

/** A kind of field: the type of its value, and how much of the value is shown. */
export interface Field<Value> {
  readonly kind: 'id' | 'word' | 'phone' | 'prose' | 'failure' | 'number' | 'time';
  /** What stands in the log beside the message, for programs. */
  log(value: Value, mask: Mask): string | number | null;
  /** What stands in the message, for people. */
  tell(value: Value, mask: Mask): string;
}

/** The most of a text from elsewhere that is shown; the second screen of an error page says no more than the first. */
const MOST_TEXT = 300;
const MOST_STACK = 4_000;

/** A name or id that Volley or the service gave: a lane, a campaign, a batch, a request. */
export const id: Field<string> = {
  kind: 'id',
  log: (value, mask) => mask.id(value),
  tell: (value, mask) => mask.id(value),
};

/** One of a few words of Volley's own. */
export function oneOf<const Word extends string>(..._words: Word[]): Field<Word> {
  return { kind: 'word', log: (value) => value, tell: (value) => value };
}

/** A phone number. */
export const phone: Field<string> = { kind: 'phone', log: maskNumber, tell: maskNumber };

/** A text that the service or a system wrote; it is cut short. */
export const prose: Field<string> = {
  kind: 'prose',
  log: (value, mask) => shorten(mask.prose(value), MOST_TEXT),
  tell: (value, mask) => shorten(mask.prose(value), MOST_TEXT).replace(/\s+/g, ' '),
};

/** Whatever was thrown: the log gets its stack, the message only its own message. */
export const failure: Field<unknown> = {
  kind: 'failure',
  log: (value, mask) =>
    shorten(mask.prose((value instanceof Error && value.stack) || String(value)), MOST_STACK),
  tell: (value, mask) => prose.tell(value instanceof Error ? value.message : String(value), mask),
};

/** A number of things: told as `1 request`, `3,000 requests`. */
export function count(thing: string, things = `${thing}s`): Field<number> {
  return {
    kind: 'number',
    log: (value) => value,
    tell: (value) => `${value.toLocaleString('en-US')} ${value === 1 ? thing : things}`,
  };
}

/** A bare number: an epoch, a generation, a process id. */
export const number: Field<number> = { kind: 'number', log: (value) => value, tell: String };

/** A span in milliseconds. */
export const span: Field<number> = { kind: 'number', log: (value) => value, tell: formatDuration };

/** A point in time in milliseconds since the epoch. */
export const time: Field<number> = {
  kind: 'time',
  log: stamp,
  tell: (value) => stamp(value).replace(/\.\d+Z$/, 'Z'),
};

/** A field that may be null, and how that is told. */
export function optional<Value>(field: Field<Value>, missing: string): Field<Value | null> {
  return {
    kind: field.kind,
    log: (value, mask) => (value === null ? null : field.log(value, mask)),
    tell: (value, mask) => (value === null ? missing : field.tell(value, mask)),
  };
}

/** A log must not throw over a time that no calendar has. */
function stamp(value: number): string {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? 'at no time' : date.toISOString();
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}
