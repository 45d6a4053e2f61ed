import type { LogLevel } from '../config/settings.js';
import { count, type Field } from './field.js';

/** One type of event: its log level, its fields, and its log message. */
export interface Entry<Fields extends FieldTable> {
  level: Exclude<LogLevel, 'silent'>;
  fields: Fields;
  /** The log message. It receives every field as text that is safe to log. */
  message(fields: { [Name in keyof Fields]: string }): string;
}

/** Every log line has `level`, `time`, `pid`, `role`, `event`, and `msg`, so these cannot be field names. */
export type FieldTable = { readonly [name: string]: Field<never> };

/** Defines a type of event. */
export function entry<const Fields extends FieldTable>(
  level: Entry<Fields>['level'],
  fields: Fields,
  message: Entry<Fields>['message'],
): Entry<Fields> {
  return { level, fields, message };
}

export const requests = count('request');
export const recipients = count('recipient');
