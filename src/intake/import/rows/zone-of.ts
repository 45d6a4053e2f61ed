import {
  describeWindow,
  inZone,
  nextCommonOpening,
  zoneOfCountry,
} from '../../../campaign/estimate/window.js';
import { countryOfNumber } from '../../../campaign/numbers/numbering-plan.js';
import { countryZones, noSuchZone, readZone } from '../../../campaign/time/zone.js';
import type { InvalidCode } from '../../../campaign/views/list-views.js';

/** Spellings of zones that a list, or an outbox, remembers. */
const MAX_REMEMBERED = 2_000;
const MAX_QUOTED = 60;

/** Whose zones are read. */
export interface ZoneRules {
  /** The rule of the window whose hours are those of each recipient's zone; undefined: none needs a zone. */
  readonly window: string | undefined;
  /** The rule of the lane's window. */
  readonly laneWindow: string | undefined;
  /** Whether a recipient without a zone has those of the country of the number. */
  readonly isFromNumber: boolean;
}

/** The zone of a recipient, '' if none is needed, or what is wrong with it; the reason continues `line 7, column "zone": `. */
export type ZoneOutcome =
  | { readonly ok: true; readonly zone: string }
  | {
      readonly ok: false;
      readonly code: Extract<InvalidCode, 'noZone' | 'invalidZone'>;
      readonly reason: string;
    };

/**
 * Makes a reader for the zones of recipients. One of whom no zone is known, or whose window never opens together with that of the lane,
 * is refused. The reader takes the zone as it was written, the number in E.164 with its plus, and from when on messages are sent, ms.
 */
export function zoneFinder({ window, laneWindow, isFromNumber }: ZoneRules) {
  const names = new Map<string, string>();
  const known = new Map<string, ZoneOutcome>();
  const refused = (code: 'noZone' | 'invalidZone', reason: string): ZoneOutcome => ({
    ok: false,
    code,
    reason: `${code === 'noZone' ? 'is empty,' : 'is not usable:'} ${reason}`,
  });
  const checked = (zone: string, from: number, of: 'noZone' | 'invalidZone', closed: string): ZoneOutcome => {
    if (window === undefined) return { ok: true, zone };
    const rule = inZone(window, zone);
    if (nextCommonOpening([rule], from) === null) return refused(of, closed);
    if (nextCommonOpening([rule, laneWindow], from) !== null) return { ok: true, zone };
    const both = `the window (${describeWindow(rule)}) and that of the lane (${describeWindow(laneWindow ?? '')})`;
    return refused(of, `${of === 'noZone' ? 'and ' : ''}${both} are never open at the same time`);
  };
  const ofText = (text: string, from: number): ZoneOutcome => {
    const zone = readZone(text, names);
    if (zone === null) return refused('invalidZone', noSuchZone(text.slice(0, MAX_QUOTED)));
    return checked(zone, from, 'invalidZone', `the window never opens in ${zone}`);
  };
  const ofCountry = (country: string | undefined, from: number): ZoneOutcome => {
    if (country === undefined || countryZones(country).length === 0)
      return refused('noZone', 'and the zones of the country of its number are not known; enter a zone');
    const closed = `and no hour of the window is open in all zones of ${country}; enter the zone of the recipient`;
    return checked(zoneOfCountry(country), from, 'noZone', closed);
  };
  const remembered = (key: string, read: () => ZoneOutcome): ZoneOutcome => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const outcome = read();
    if (known.size < MAX_REMEMBERED && key.length <= MAX_QUOTED) known.set(key, outcome);
    return outcome;
  };

  return (text: string, number: string, from: number): ZoneOutcome => {
    if (text !== '') return remembered(text, () => ofText(text, from));
    if (window === undefined) return { ok: true, zone: '' };
    if (!isFromNumber)
      return refused(
        'noZone',
        'so the hours of the recipient are not known; enter a zone such as Europe/Paris',
      );
    const country = countryOfNumber(number);
    return remembered(`+${country}`, () => ofCountry(country, from));
  };
}
