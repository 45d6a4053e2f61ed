import type { Metadata } from './metadata.js';

/*
 * The kinds of the fields of a campaign: how their values are written. Each surface reads and writes the values of a kind in one way, and the
 * compiler names the surfaces that do not know one.
 */

/** The kind of a field, and what belongs to it. */
export type Kind =
  | { readonly kind: 'switch' }
  /** In code: ms since the epoch. */
  | { readonly kind: 'time' }
  /** In code: ms. */
  | { readonly kind: 'duration' }
  | { readonly kind: 'message' | 'country' | 'amount' }
  | { readonly kind: 'text'; readonly longest: number }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'dates'; readonly most: number }
  | { readonly kind: 'entries' };

/** What the type of a field's values says about its row. */
export type KindOf<Value> = [Value] extends [boolean]
  ? { readonly kind: 'switch' }
  : [Value] extends [number]
    ? { readonly kind: 'time' | 'duration' }
    : [Value] extends [readonly string[]]
      ? { readonly kind: 'dates' }
      : [Value] extends [Metadata]
        ? { readonly kind: 'entries' }
        : string extends Value
          ? { readonly kind: 'message' | 'country' | 'amount' | 'text' }
          : { readonly kind: 'choice'; readonly choices: readonly Value[] };

/** The value of a field that says nothing. */
export function emptyOf(field: Kind): unknown {
  switch (field.kind) {
    case 'entries':
      return {};
    case 'dates':
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
    case 'duration':
      return Math.round(Number(value));
    case 'amount':
      return String(value);
    case 'entries':
      return Object.keys(Object(value)).length === 0 ? undefined : value;
    default:
      return value;
  }
}
