/** A moment as people write it, or why it is none. `spelled`: what was given of it, without its zone. */
export type Moment =
  /** ms since the epoch. */
  | { readonly kind: 'moment'; readonly at: number }
  /** It does not look like a time at all. */
  | { readonly kind: 'noTime' }
  /** The 30th of February, or 25 o'clock. */
  | { readonly kind: 'noSuchTime' }
  /** A server in another zone would send at another hour than whoever wrote it meant. */
  | { readonly kind: 'noZone'; readonly spelled: string }
  | { readonly kind: 'noSuchZone' };

const ISO =
  /^(?<date>\d{4}-\d{2}-\d{2})[T ](?<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(?<zone>Z|[+-]\d{2}:?\d{2})?$/i;

/** Reads an ISO 8601 time with its zone; seconds may be left out. */
export function readMoment(text: string): Moment {
  const groups = ISO.exec(text)?.groups;
  const [date, time, zone] = [groups?.['date'], groups?.['time'], groups?.['zone']];
  if (date === undefined || time === undefined) return { kind: 'noTime' };
  const spelled = `${date}T${time}`;
  const asUtc = Date.parse(`${spelled}Z`);
  // The 30th of February is read as the 2nd of March by some.
  if (Number.isNaN(asUtc) || !new Date(asUtc).toISOString().startsWith(spelled.slice(0, 16))) {
    return { kind: 'noSuchTime' };
  }
  if (zone === undefined) return { kind: 'noZone', spelled };
  const at = Date.parse(`${spelled}${zone.toUpperCase()}`);
  return Number.isNaN(at) ? { kind: 'noSuchZone' } : { kind: 'moment', at };
}
