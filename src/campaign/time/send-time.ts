import { localTime, resolveLocal } from './zone.js';

/** When the messages of an outbox are sent: at once, or at a time that follows from one of their values. */
export type SendTimeRule =
  | { readonly kind: 'now' }
  | {
      readonly kind: 'relative';
      /** The value that contains the time. */
      readonly column: string;
      /** Elapsed time to add, ms. */
      readonly elapsedMs: number;
      /** Calendar days to add, in the zone of the outbox. */
      readonly days: number;
    };

/** The format that {@link parseSendTimeRule} accepts, for messages and help texts. */
export const SEND_TIME_FORM =
  '`now`, the name of a value with a time, or that name and a duration, such as `appointment - 24h` (elapsed time) or `appointment - 1d` (the same time of day)';

const RULE =
  /^(?<column>[^\s+-](?:[^+-]*?[^\s+-])?)(?:\s*(?<sign>[+-])\s*(?<amount>\d{1,6})\s*(?<unit>[smhd]))?$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Reads a rule such as `appointment - 24h`; null if it is none. */
export function parseSendTimeRule(text: string): SendTimeRule | null {
  const groups = RULE.exec(text.trim())?.groups;
  if (groups === undefined) return null;
  const { column = '', sign, amount = '0', unit = '' } = groups;
  if (column.toLowerCase() === 'now') return sign === undefined ? { kind: 'now' } : null;
  const signed = (sign === '-' ? -1 : 1) * Number(amount);
  return unit === 'd'
    ? { kind: 'relative', column, elapsedMs: 0, days: signed }
    : { kind: 'relative', column, elapsedMs: signed * (UNIT_MS[unit] ?? 0), days: 0 };
}

/** Applies a rule to the time that it refers to. */
export function applyRule(
  rule: Extract<SendTimeRule, { kind: 'relative' }>,
  at: number,
  zone: string | undefined,
): number {
  if (rule.days === 0) return at + rule.elapsedMs;
  const days = rule.days * 86_400_000;
  return zone === undefined ? at + days : resolveLocal(zone, localTime(zone, at) + days);
}
