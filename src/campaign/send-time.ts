import { readMoment } from './moment.js';
import { localTime, momentsOf, resolveLocal } from './zone.js';

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

/** A time, in ms since the epoch, or why the text is none; the reason continues the name of the value. */
export type TimeOutcome =
  | { readonly ok: true; readonly at: number }
  | { readonly ok: false; readonly reason: string };

const refused = (reason: string): TimeOutcome => ({ ok: false, reason });

/** Reads a time with an offset, or a local time of the zone. A local time that the zone skips or repeats is refused. */
export function readTime(text: string, zone: string | undefined): TimeOutcome {
  const moment = readMoment(text.trim());
  switch (moment.kind) {
    case 'moment':
      return { ok: true, at: moment.at };
    case 'noZone':
      break;
    case 'noSuchTime':
      return refused(`is ${text}, a time that does not exist`);
    case 'noSuchZone':
      return refused(`is ${text}, whose offset does not exist`);
    default:
      return refused(`is ${JSON.stringify(text)}, which is not a time; write it as 2030-05-01T14:30`);
  }
  const { spelled } = moment;
  if (zone === undefined)
    return refused(
      `is ${text}, without an offset, and the outbox has no zone; write an offset, such as ${spelled}+01:00`,
    );
  const moments = momentsOf(zone, Date.parse(`${spelled}Z`));
  const [first] = moments;
  if (first === undefined)
    return refused(
      `is ${text}, which ${zone} skips when its clocks go forward; write another time, or an offset`,
    );
  if (moments.length > 1)
    return refused(
      `is ${text}, which ${zone} has twice when its clocks go back; write the offset that you mean`,
    );
  return { ok: true, at: first };
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
