import { formatDuration, parseDuration } from '../duration.js';
import type { Mask } from './mask.js';

/** A kind of event field: the type of its value, and how it appears in the log. */
export interface Field<Value> {
  readonly kind: 'id' | 'enum' | 'prose' | 'failure' | 'number' | 'time' | 'span';
  readonly isNullable?: boolean;
  /** The value in a JSON log line, for programs. */
  toJson(value: Value, mask: Mask): string | number | null;
  /** The value inside a log message, for people. */
  toText(value: Value, mask: Mask): string;
}

/** Characters that are logged of a text from the service or the system: enough for any error message. */
const MAX_TEXT = 300;
const MAX_STACK = 4_000;

/** A name or id that Volley or the service assigned: of a lane, campaign, batch, or request. */
export const id: Field<string> = {
  kind: 'id',
  toJson: (value, mask) => mask.id(value),
  toText: (value, mask) => mask.id(value),
};

/** An id that a client or another system made up. The log truncates it. */
export const foreignId: Field<string> = {
  kind: 'id',
  toJson: (value, mask) => truncate(mask.foreignId(value), MAX_TEXT),
  toText: (value, mask) => truncate(mask.foreignId(value), MAX_TEXT).replace(/\s+/g, ' '),
};

/** One of a few values that Volley defines. */
export function oneOf<const Value extends string>(..._values: Value[]): Field<Value> {
  return { kind: 'enum', toJson: (value) => value, toText: (value) => value };
}

/** A text that the service or the system wrote. The log truncates it. */
export const prose: Field<string> = {
  kind: 'prose',
  toJson: (value, mask) => truncate(mask.prose(value), MAX_TEXT),
  toText: (value, mask) => truncate(mask.prose(value), MAX_TEXT).replace(/\s+/g, ' '),
};

/** A thrown value. JSON shows its stack, the message only its own message. */
export const failure: Field<unknown> = {
  kind: 'failure',
  toJson: (value, mask) =>
    truncate(mask.prose((value instanceof Error && value.stack) || String(value)), MAX_STACK),
  toText: (value, mask) => prose.toText(value instanceof Error ? value.message : String(value), mask),
};

/** A count, such as `1 request` or `3,000 requests`. */
export function count(singular: string, plural = `${singular}s`): Field<number> {
  return {
    kind: 'number',
    toJson: (value) => value,
    toText: (value) => `${value.toLocaleString('en-US')} ${value === 1 ? singular : plural}`,
  };
}

/** A plain number, such as an epoch. */
export const number: Field<number> = { kind: 'number', toJson: (value) => value, toText: String };

/** A duration such as `90s`, from `exactDuration`. */
export const span: Field<string> = {
  kind: 'span',
  toJson: (value) => value,
  toText: (value) => formatDuration(parseDuration(value) ?? 0),
};

/** A time in milliseconds since the epoch. */
export const time: Field<number> = {
  kind: 'time',
  toJson: isoTime,
  toText: (value) => isoTime(value).replace(/\.\d+Z$/, 'Z'),
};

/** A field that may be null; `missing` is the text for null. */
export function optional<Value>(field: Field<Value>, missing: string): Field<Value | null> {
  return {
    kind: field.kind,
    isNullable: true,
    toJson: (value, mask) => (value === null ? null : field.toJson(value, mask)),
    toText: (value, mask) => (value === null ? missing : field.toText(value, mask)),
  };
}

/** Does not throw for an invalid time: logging must never fail. */
function isoTime(value: number): string {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? 'an invalid time' : date.toISOString();
}

function truncate(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}
