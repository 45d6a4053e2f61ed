import {
  describeWindow,
  inZone,
  nextCommonOpening,
  zoneOfCountry,
} from '../../../campaign/estimate/window.js';
import { countryOfNumber } from '../../../campaign/numbers/numbering-plan.js';
import { countryZones, noSuchZone, readZone } from '../../../campaign/time/zone.js';
import type { InvalidCode } from '../../../campaign/views/list-views.js';
import { wantedColumn } from './number-column.js';
import { columnNamed, ListError } from './rows.js';

/** The column, or member, with the zone of each recipient, unless `zoneColumn` names another. */
export const ZONE = 'zone';

/** Spellings of zones that a list remembers. */
const MAX_REMEMBERED = 2_000;
const MAX_QUOTED = 60;

/** Whose zones are read. */
export interface ZoneOptions {
  /** The rule of the campaign's window, whose hours are those of each recipient's zone. */
  readonly window: string;
  /** The rule of the lane's window. */
  readonly laneWindow: string | undefined;
  /** The column with the zones; default: {@link ZONE}. */
  readonly column: string | undefined;
  /** Whether a row without a zone has those of its number's country. */
  readonly isFromNumber: boolean;
  /** When sending begins, ms. */
  readonly from: number;
}

/** The zone of a row, or what is wrong with it: its reason continues `line 7, column "zone": `. */
type ZoneOutcome =
  | { readonly ok: true; readonly zone: string }
  | {
      readonly ok: false;
      readonly code: Extract<InvalidCode, 'noZone' | 'invalidZone'>;
      readonly column: string | null;
      readonly reason: string;
    };

/**
 * Makes a reader for the zones of rows. A row of which no zone is known, or whose window never opens together with that of the lane, is
 * invalid. Throws a {@link ListError} if the list has no zones at all.
 */
export function zoneReader(columns: readonly string[], options: ZoneOptions) {
  const { window, laneWindow, column, isFromNumber, from } = options;
  const position = column === undefined ? columnNamed(columns, ZONE) : wantedColumn(columns, column);
  if (position === -1 && !isFromNumber)
    throw new ListError(
      'The window is in the zone of each recipient, but the list has no column "zone". Name another one in `zoneColumn`, or set `zoneFrom` to `number`.',
    );
  const name = columns[position] ?? null;
  const names = new Map<string, string>();
  const known = new Map<string, ZoneOutcome>();

  const checked = (zone: string, code: 'noZone' | 'invalidZone', closed: string): ZoneOutcome => {
    const rule = inZone(window, zone);
    if (nextCommonOpening([rule], from) === null) return { ok: false, code, column: name, reason: closed };
    if (nextCommonOpening([rule, laneWindow], from) !== null) return { ok: true, zone };
    const reason = `the window (${describeWindow(rule)}) and that of the lane (${describeWindow(laneWindow ?? '')}) are never open at the same time`;
    return { ok: false, code, column: name, reason };
  };
  const ofCell = (cell: string): ZoneOutcome => {
    const zone = readZone(cell, names);
    if (zone === null)
      return { ok: false, code: 'invalidZone', column: name, reason: noSuchZone(cell.slice(0, MAX_QUOTED)) };
    return checked(zone, 'invalidZone', `the window never opens in ${zone}`);
  };
  const ofCountry = (country: string | undefined): ZoneOutcome => {
    if (country === undefined || countryZones(country).length === 0) {
      const reason = 'is empty, and the zones of the country of its number are not known; enter a zone';
      return { ok: false, code: 'noZone', column: name, reason };
    }
    const closed = `no hour of the window is open in all zones of ${country}; enter the zone of the recipient`;
    return checked(zoneOfCountry(country), 'noZone', closed);
  };
  const remembered = (key: string, read: () => ZoneOutcome): ZoneOutcome => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const outcome = read();
    if (known.size < MAX_REMEMBERED) known.set(key, outcome);
    return outcome;
  };

  /** `number`: in E.164, with its plus. */
  return (fields: readonly string[], number: string): ZoneOutcome => {
    const cell = (fields[position] ?? '').trim();
    if (cell !== '') return remembered(cell, () => ofCell(cell));
    if (!isFromNumber) {
      const reason =
        'is empty, so the hours of the recipient are not known; enter a zone such as Europe/Paris';
      return { ok: false, code: 'noZone', column: name, reason };
    }
    const country = countryOfNumber(number);
    return remembered(`+${country}`, () => ofCountry(country));
  };
}
