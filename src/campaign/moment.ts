/** The result of reading a time. `spelled`: the date and time as written, without a zone. */
type Moment =
  /** ms since the epoch. */
  | { readonly kind: 'moment'; readonly at: number }
  /** The text does not look like a time. */
  | { readonly kind: 'noTime' }
  /** A date or time that does not exist, such as the 30th of February or 25 o'clock. */
  | { readonly kind: 'noSuchTime' }
  /** There is no zone: on a server in another zone, it would mean another hour. */
  | { readonly kind: 'noZone'; readonly spelled: string }
  /** An offset that does not exist, such as +99:00. */
  | { readonly kind: 'noSuchZone' };

const ISO =
  /^(?<date>\d{4}-\d{2}-\d{2})[T ](?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?<zone>Z|[+-]\d{2}:?\d{2})?$/i;

/** Reads an ISO 8601 time with its zone. Seconds are optional; their fraction has up to nine digits, as many languages write it. */
export function readMoment(text: string): Moment {
  const groups = ISO.exec(text)?.groups;
  const [date, time, zone] = [groups?.['date'], groups?.['time'], groups?.['zone']];
  if (date === undefined || time === undefined) return { kind: 'noTime' };
  const spelled = `${date}T${time}`;
  const asUtc = Date.parse(`${spelled}Z`);
  // Some versions of Date.parse read the 30th of February as the 2nd of March.
  if (Number.isNaN(asUtc) || !new Date(asUtc).toISOString().startsWith(spelled.slice(0, 16))) {
    return { kind: 'noSuchTime' };
  }
  if (zone === undefined) return { kind: 'noZone', spelled };
  const at = Date.parse(`${spelled}${zone.toUpperCase()}`);
  return Number.isNaN(at) ? { kind: 'noSuchZone' } : { kind: 'moment', at };
}
