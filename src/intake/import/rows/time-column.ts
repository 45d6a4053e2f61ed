import { formatDuration } from '../../../base/duration.js';
import { countryOf, describeWindow, nextCommonOpening, ruleIn } from '../../../campaign/estimate/window.js';
import { type Part, partName } from '../../../campaign/estimate/zones.js';
import { readMoment, readTime } from '../../../campaign/time/moment.js';
import { formatInZone, noSuchZone, readZone } from '../../../campaign/time/zone.js';
import { wantedColumn } from './number-column.js';
import { columnNamed, ListError, type Row } from './rows.js';
import { ZONE } from './zone-column.js';

/** The column, or member, with the time of each recipient, unless `timeColumn` names another. */
export const SEND_AT = 'sendAt';

/** Pairs of a zone and a time in a list: each keeps up to a slice of recipients in memory while the list is read. */
const MAX_TIMES = 1_000;
/** Spellings of times that a list remembers. */
const MAX_REMEMBERED = 2_000;
/** A message whose time is over for longer is not sent. */
const LATE_MS = 3_600_000;

/** Whose times are read. */
export interface TimeOptions {
  /** The column with the times; default: {@link SEND_AT}, if there is one. */
  readonly column: string | undefined;
  /** The column with the zones of local times; default: {@link ZONE}. */
  readonly zoneColumn: string | undefined;
  /** The zone of local times in rows without a zone. */
  readonly zone: string | undefined;
  /** The rules of the windows of the campaign and its lane. */
  readonly window: string | undefined;
  readonly laneWindow: string | undefined;
  /** The current time, when sending begins, the last time that a row may have, and when the campaign lapses, ms. */
  readonly now: number;
  readonly from: number;
  readonly latest: number;
  readonly lapsesAt: number;
}

/** The name of a row's part, or what is wrong with its time: its reason continues `line 7, column "sendAt": `. */
type RowTime =
  | { readonly ok: true; readonly part: string }
  | {
      readonly ok: false;
      readonly code: 'invalidValue' | 'invalidZone';
      readonly column: string | null;
      readonly reason: string;
    };

/**
 * Makes a reader for the times of rows; undefined if the list has none. Then a row without one, or with one at which it cannot be sent, is invalid:
 * it must not be sent at another time. Throws a {@link ListError} if there is no such column, and with the row that brings too many times.
 */
export function timeReader(columns: readonly string[], options: TimeOptions) {
  const { window, laneWindow, now, from, latest, lapsesAt } = options;
  const position =
    options.column === undefined ? columnNamed(columns, SEND_AT) : wantedColumn(columns, options.column);
  if (position === -1) return undefined;
  const zoneAt =
    options.zoneColumn === undefined ? columnNamed(columns, ZONE) : wantedColumn(columns, options.zoneColumn);
  const column = columns[position] ?? null;
  const names = new Map<string, string>();
  const known = new Map<string, RowTime>();
  const parts = new Set<string>();
  const refused = (reason: string): RowTime => ({ ok: false, code: 'invalidValue', column, reason });

  const placed = (text: string, part: Part & { readonly at: number }): RowTime => {
    const shown = (at: number): string => formatInZone(options.zone ?? 'UTC', at);
    if (part.at < now - LATE_MS)
      return refused(`is ${text}, which is more than ${formatDuration(LATE_MS)} ago; enter a time to come`);
    if (part.at > latest)
      return refused(
        `is ${text}, which is too far ahead: it must be before ${shown(latest)} (MAX_SCHEDULE_AHEAD)`,
      );
    const start = Math.max(part.at, from);
    const rules = [ruleIn(window, part.zone), laneWindow].filter((rule) => rule !== undefined);
    const opening = nextCommonOpening(rules, start);
    if (opening === null)
      return refused(
        `is ${text}, after which the window (${rules.map(describeWindow).join('; ')}) never opens`,
      );
    const sentAt = Math.max(opening.from, start);
    if (sentAt >= lapsesAt)
      return refused(`is ${text}, so it would be sent at ${shown(sentAt)}, when the campaign has lapsed`);
    const name = partName(part);
    parts.add(name);
    if (parts.size > MAX_TIMES)
      throw new ListError(
        `The list has more than ${MAX_TIMES.toLocaleString('en')} different times. Round them, to five minutes for example, or use an outbox.`,
      );
    return { ok: true, part: name };
  };
  /** `zone`: that of a local time; `own`: that of the part. */
  const read = (text: string, zone: string | undefined, own: string): RowTime => {
    const key = [text, zone, own].join('|');
    const before = known.get(key);
    if (before !== undefined) return before;
    const time = readTime(text, zone, 'the row');
    const outcome = time.ok ? placed(text, { zone: own, at: time.at }) : refused(time.reason);
    if (known.size < MAX_REMEMBERED) known.set(key, outcome);
    return outcome;
  };

  /** `own`: the zone of the row, if the window is in the zone of each recipient. */
  return ({ fields, unusable }: Row, own: string | undefined): RowTime => {
    const [noTime, noZone] = [unusable?.get(position), unusable?.get(zoneAt)];
    if (noTime !== undefined) return refused(noTime);
    const text = (fields[position] ?? '').trim();
    if (text === '') return refused('is empty, but each row needs its time, such as 2030-05-01T14:30');
    if (readMoment(text).kind !== 'noZone') return read(text, undefined, own ?? '');
    if (own !== undefined) return read(text, countryOf(own) === null ? own : options.zone, own);
    const cell = (fields[zoneAt] ?? '').trim();
    const zone = cell === '' ? options.zone : readZone(cell, names);
    if (zone !== null && noZone === undefined) return read(text, zone, '');
    const reason = noZone ?? `is not usable: ${noSuchZone(cell)}`;
    return { ok: false, code: 'invalidZone', column: columns[zoneAt] ?? null, reason };
  };
}
