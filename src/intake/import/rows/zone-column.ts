import { wantedColumn } from './number-column.js';
import { columnNamed, ListError, type Row } from './rows.js';
import { type ZoneOutcome, type ZoneRules, zoneFinder } from './zone-of.js';

/** The column, or member, with the zone of each recipient, unless `zoneColumn` names another. */
export const ZONE = 'zone';

/** Whose zones are read. */
export interface ZoneOptions extends ZoneRules {
  readonly window: string;
  /** The column with the zones; default: {@link ZONE}. */
  readonly column: string | undefined;
  /** When sending begins, ms. */
  readonly from: number;
}

/** The zone of a row, or what is wrong with it: its reason continues `line 7, column "zone": `. */
type RowOutcome =
  | Extract<ZoneOutcome, { readonly ok: true }>
  | (Extract<ZoneOutcome, { readonly ok: false }> & { readonly column: string | null });

/**
 * Makes a reader for the zones of rows. A row of which no zone is known, or whose window never opens together with that of the lane, is
 * invalid. Throws a {@link ListError} if the list has no zones at all.
 */
export function zoneReader(columns: readonly string[], options: ZoneOptions) {
  const { column, isFromNumber, from } = options;
  const position = column === undefined ? columnNamed(columns, ZONE) : wantedColumn(columns, column);
  if (position === -1 && !isFromNumber)
    throw new ListError(
      'The window is in the zone of each recipient, but the list has no column "zone". Name another one in `zoneColumn`, or set `zoneFrom` to `number`.',
    );
  const name = columns[position] ?? null;
  const zoneOf = zoneFinder(options);

  /** `number`: in E.164, with its plus. */
  return ({ fields, unusable }: Row, number: string): RowOutcome => {
    const reason = unusable?.get(position);
    if (reason !== undefined) return { ok: false, code: 'invalidZone', column: name, reason };
    const found = zoneOf((fields[position] ?? '').trim(), number, from);
    return found.ok ? found : { ...found, column: name };
  };
}
