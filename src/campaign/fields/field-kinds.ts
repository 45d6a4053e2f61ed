import type { Metadata } from './metadata.js';
import { type ResultsOf, storedResultsOf } from './results-of.js';

/*
 * The kinds of the fields of a campaign: how their values are written. Each surface reads and writes the values of a kind in one way, and the
 * compiler names the surfaces that do not know one.
 */

/** The kind of a field, and what belongs to it. */
export type Kind =
  | { readonly kind: 'switch' }
  /** In code: ms since the epoch, or ISO 8601. Without an offset, it is a local time of the field `zone`. */
  | { readonly kind: 'time' }
  /** A text, such as `90m`. Campaigns store ms. */
  | { readonly kind: 'duration' }
  | { readonly kind: 'country' | 'amount' | 'lineNumber' }
  | { readonly kind: 'message' | 'text'; readonly longest: number }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  /** Hours, closed dates, and whose hours they are; each has a flag of its own. Campaigns and outboxes store the rule that follows from both and `zone`. */
  | ({ readonly kind: 'window' } & WindowFlags)
  /** A set: the order of the labels means nothing. */
  | { readonly kind: 'labels' }
  | { readonly kind: 'entries' }
  | { readonly kind: 'resultsOf' };

/** The flags of a window beside the one for its hours. */
interface WindowFlags {
  readonly exceptFlag: string;
  readonly exceptHelp: string;
  readonly zoneFlag: string;
  readonly zoneHelp: string;
}

/** What the type of a field's values says about its row. */
export type KindOf<Value> = [Value] extends [boolean]
  ? { readonly kind: 'switch' }
  : [Value] extends [number]
    ? { readonly kind: 'lineNumber' }
    : [Value] extends [readonly string[]]
      ? { readonly kind: 'labels' }
      : [Value] extends [ResultsOf]
        ? { readonly kind: 'resultsOf' }
        : [Value] extends [Metadata]
          ? { readonly kind: 'entries' }
          : [Value] extends [{ readonly hours: string }]
            ? { readonly kind: 'window' } & WindowFlags
            : string extends Value
              ? { readonly kind: 'message' | 'country' | 'amount' | 'time' | 'duration' | 'text' }
              : { readonly kind: 'choice'; readonly choices: readonly Value[] };

/** The value of a field that says nothing. */
export function emptyOf(field: Kind): unknown {
  switch (field.kind) {
    case 'entries':
      return {};
    case 'labels':
      return [];
    case 'message':
    case 'country':
    case 'amount':
    case 'text':
    case 'choice':
      return '';
    case 'switch':
    case 'time':
    case 'duration':
    case 'lineNumber':
    case 'window':
    case 'resultsOf':
      return null;
    default:
      return field satisfies never;
  }
}

/**
 * The form in which a value is stored, so that values that mean the same are equal. Undefined for one that means the same as none. An invalid
 * value stays as it is.
 */
export function storedForm({ kind }: Kind, value: unknown): unknown {
  switch (kind) {
    case 'amount':
      return String(value);
    case 'entries':
      return Object.keys(Object(value)).length === 0 ? undefined : value;
    case 'window': {
      const { hours, except = [], zone } = Object(value);
      return { hours, except, ...(zone === undefined ? {} : { zone }) };
    }
    case 'labels':
      if (!Array.isArray(value)) return value;
      return value.length === 0 ? undefined : [...new Set<unknown>(value)].sort();
    case 'resultsOf':
      return Array.isArray(Object(value).status) ? storedResultsOf(value as ResultsOf) : value;
    default:
      return value;
  }
}

/** What a window looks like in JSON. */
export const WINDOW_ADVICE =
  'use {"hours": "Mon-Sat 09:00-20:00", "except": ["2030-05-01"]}; `except` may be missing';

/** Why a text is too long for its field; null if it is not, or is no text. */
export function tooLong(kind: Kind, name: string, value: unknown): string | null {
  if (!('longest' in kind) || typeof value !== 'string' || value.length <= kind.longest) return null;
  return `${name} has ${value.length} characters; the maximum is ${kind.longest}`;
}

/** How many labels there may be, and how long each. */
export const MAX_LABELS = 10;
export const MAX_LABEL_LENGTH = 64;
/** What a label looks like. */
export const LABEL = new RegExp(`^[A-Za-z0-9._:-]{1,${MAX_LABEL_LENGTH}}$`);
/** The same as advice. */
export const LABEL_FORM = `Use 1 to ${MAX_LABEL_LENGTH} letters (A-Z, a-z), digits, and . _ : -`;

/** Why labels in their stored form are invalid; null if they are valid. `what`: what people call one. */
export function labelsProblem(what: string, labels: readonly unknown[]): string | null {
  // Programs without types may pass anything.
  if (!Array.isArray(labels)) return `the ${what}s are not a list of texts`;
  if (labels.length > MAX_LABELS) return `there are ${labels.length} ${what}s; the maximum is ${MAX_LABELS}`;
  for (const label of labels) {
    if (typeof label !== 'string') return `the ${what} ${JSON.stringify(label)} is not a text`;
    if (label === '' || label.length > MAX_LABEL_LENGTH)
      return `a ${what} has ${label.length} characters; use 1 to ${MAX_LABEL_LENGTH}`;
    if (!LABEL.test(label))
      return `the ${what} ${JSON.stringify(label)} has other characters than letters (A-Z, a-z), digits, and . _ : -`;
  }
  return null;
}
