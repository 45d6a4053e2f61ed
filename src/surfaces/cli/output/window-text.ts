import { until } from '../../../base/moments.js';
import type { SendWindow } from '../../../campaign/views/views.js';
import { type ZoneStatus, zonesWord, zoneTexts } from '../../../campaign/views/zone-views.js';
import { counted } from './text.js';

/** `Mon-Sat 09:00-20:00 Europe/Paris, opens 09:00:00 CET (in 2h)` */
export function windowText(
  { hours, except, zone: whose, opensAt, closesAt }: SendWindow,
  zone: string | null,
  now: number,
): string {
  const [first, ...others] = except;
  const not = first === undefined ? '' : `, except ${[first, ...others].join(', ')}`;
  const next =
    closesAt !== null
      ? `; closes ${until(closesAt, now, zone)}`
      : opensAt !== null
        ? `; opens ${until(opensAt, now, zone)}`
        : '';
  return `${hours} ${whose === null ? zone : "in each recipient's zone"}${not}${next}`;
}

/** Zones that are listed. */
const MAX_ZONES = 10;

/** One line per zone and time that says when its waiting recipients can start. A last line counts those that are not listed. */
export function zoneLines(zones: readonly ZoneStatus[] | null): string[] {
  const lines = (zones ?? []).flatMap((each) => {
    const { zone, country, waiting, opensAt } = each;
    if (waiting === 0) return [];
    if (opensAt !== null) return zoneTexts([each]);
    const recipients = counted(waiting, 'recipient');
    return [`starts at once in ${zone ?? `all zones of ${country}`}: ${recipients}`];
  });
  const more = lines.length - MAX_ZONES;
  return more > 1
    ? [...lines.slice(0, MAX_ZONES), `… and ${counted(more, `more ${zonesWord(zones)}`)}`]
    : lines;
}
