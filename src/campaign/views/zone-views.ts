import { z } from 'zod';
import { count, textOrNull, time } from './measures.js';

/** The recipients of one time zone and time, of a campaign whose window has the hours of each recipient's own zone, or whose recipients have times. */
export interface ZoneStatus {
  /** An IANA zone, such as `America/Denver`: that of the campaign if the window has hours of its own. Null if only the country is known. */
  readonly zone: string | null;
  /** ISO 3166: their hours are those that are open in all of its zones. Null if the zone is known. */
  readonly country: string | null;
  /** Their own time, ISO 8601; null if they have none. */
  readonly sendAt: string | null;
  readonly recipientCount: number;
  /** How many of them were not sent to yet. */
  readonly waiting: number;
  /** When their hours begin, at their own time or later; null while messages may be sent, and if none waits. */
  readonly opensAt: string | null;
  /** The same in their local time, such as `09:00`, `Mon 09:00` if it is more than a day away, or `2030-05-01 09:00` if it is more than six. */
  readonly opensAtLocal: string | null;
}

/** See {@link ZoneStatus}. */
export const zoneStatus = z
  .object({
    zone: textOrNull.describe(
      'An IANA time zone, such as `America/Denver`: that of the campaign if the window has hours of its own; null if only the country is known',
    ),
    country: textOrNull.describe(
      'ISO 3166: messages are sent in the hours that are open in all of its zones; null if the zone is known',
    ),
    sendAt: time.nullable().describe('Their own time, `sendAt` of their rows; null if they have none'),
    recipientCount: count,
    waiting: count.describe('How many of them were not sent to yet'),
    opensAt: time
      .nullable()
      .describe(
        'When their hours begin, at their own time or later; null while messages may be sent, and if none waits',
      ),
    opensAtLocal: textOrNull.describe(
      'The same in their local time, such as `09:00`; `Mon 09:00` if it is more than a day away, and `2030-05-01 09:00` if it is more than six',
    ),
  })
  .readonly();

/** What the member of a preview or a status says. */
export const ZONES =
  "With a window in each recipient's own zone, or recipients with times of their own: how many have which zone and time, and when each starts; first those who can start first. Otherwise null";

/** `waits for 09:00 in America/Denver: 1,204 recipients`, for each zone of which recipients wait for their hours. */
export function zoneTexts(zones: readonly ZoneStatus[]): string[] {
  return zones.flatMap(({ zone, country, waiting, opensAt, opensAtLocal }) => {
    if (waiting === 0 || opensAt === null) return [];
    const recipients = `${waiting.toLocaleString('en')} ${waiting === 1 ? 'recipient' : 'recipients'}`;
    return [`waits for ${opensAtLocal} in ${zone ?? `all zones of ${country}`}: ${recipients}`];
  });
}

/** What the entries differ in, for people. */
export const zonesWord = (zones: readonly ZoneStatus[] | null): 'time' | 'zone' =>
  zones?.some(({ sendAt }) => sendAt !== null) ? 'time' : 'zone';

/** Zones that a sentence names. */
const MAX_ZONES = 3;

/** The same in one sentence: `waits for 09:00 in America/Denver: 1,204 recipients; for 09:00 in Asia/Tokyo: 3 recipients; and for 2 more zones`. */
export function zonesText(zones: readonly ZoneStatus[]): string {
  const texts = zoneTexts(zones);
  const more = texts.length - MAX_ZONES;
  const named = texts.slice(0, MAX_ZONES).map((text, at) => (at === 0 ? text : text.replace('waits ', '')));
  const word = zonesWord(zones);
  if (more > 0) named.push(more === 1 ? `and for one more ${word}` : `and for ${more} more ${word}s`);
  return named.join('; ');
}
