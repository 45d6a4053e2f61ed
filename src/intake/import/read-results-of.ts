import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { InputError } from '../../campaign/errors/errors.js';
import { countryOf, isOfRecipients } from '../../campaign/estimate/window.js';
import { noSuchSource, type ResultsOf } from '../../campaign/fields/results-of.js';
import { readParts, zoneAt } from '../../engine/recipients/zoned-slices.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { findLane, readState } from '../../engine/store/campaigns.js';
import { positionedRows } from '../../reporting/report.js';
import { columnNamed, inRowBatches, type Row, type Rows } from './rows/rows.js';
import { ZONE } from './rows/zone-column.js';

/** No recipient has one of the states. */
export class NoResultsError extends InputError {}

/** What Redis stores of a campaign whose results are wanted. Throws an InputError if it does not exist, or if its list is not stored yet. */
export async function readSource({ redis, keys }: SourceDeps, campaign: string) {
  const lane = await findLane(redis, keys, campaign);
  const [meta, state] =
    lane === null
      ? [null, null]
      : await Promise.all([readMeta(redis, keys, lane, campaign), readState(redis, keys, lane, campaign)]);
  if (meta === null || state === null) throw noSuchSource(campaign);
  if (state.state !== 'importing') return { meta, state };
  throw new InputError(
    `campaign ${campaign} is importing: you can send to its results when its list is stored`,
    { field: 'toResultsOf' },
  );
}

/** Where results are. */
interface SourceDeps {
  readonly redis: Redis;
  readonly keys: Keys;
}

/**
 * The recipients of a campaign with some states, as a list. It is read once, a few thousand recipients at a time, each with its state at that
 * moment. Its columns are the number, the values that the text of the campaign uses, the reference, and the zone if its window is in those of
 * its recipients. Throws an InputError if the campaign does not exist, or if its own list is not stored yet.
 */
export async function rowsOfResults(
  { redis, keys }: SourceDeps,
  { campaign, status }: ResultsOf,
): Promise<Rows> {
  const { meta } = await readSource({ redis, keys }, campaign);
  // Where the text uses the number itself, it is written as in reports.
  const stored = meta.placeholders.filter((name) => name !== meta.numberColumn);
  const columns = [meta.numberColumn, ...stored];
  const hasReference = columnNamed(columns, 'reference') !== -1;
  if (!hasReference) columns.push('reference');
  const parts = isOfRecipients(meta.window) ? await readParts(redis, keys, meta.lane, campaign) : null;
  const hasZones = parts !== null && !columns.includes(ZONE);
  if (hasZones) columns.push(ZONE);
  const rows = positionedRows(redis, keys, campaign, {
    status,
    values: true,
  });
  async function* portions(): AsyncGenerator<readonly Row[]> {
    let line = 0;
    for await (const { row, position } of rows) {
      const { to, reference, values } = row;
      // It was forgotten.
      if (to === null) continue;
      line += 1;
      const own = stored.map((name) => values?.[name] ?? '');
      const zone = hasZones ? [ianaZone(zoneAt(parts, position))] : [];
      yield [
        { line, fields: [to, ...own, ...(hasReference ? [] : [reference ?? '']), ...zone], fault: null },
      ];
    }
    if (line > 0) return;
    const reason = `no recipient of campaign ${campaign} has ${status.length > 1 ? 'one of these states' : `the state ${status[0]}`}`;
    throw new NoResultsError(reason, { field: 'toResultsOf' });
  }
  return {
    columns,
    numberColumn: meta.numberColumn,
    lacksBecause: `A list of results has the columns that the text of campaign ${campaign} uses, and the references`,
    batches: inRowBatches(portions()),
    close: () => void rows.return(undefined),
  };
}

/** The zone that a row names; empty if its campaign has found it by the country of the number. */
const ianaZone = (zone = ''): string => (countryOf(zone) === null ? zone : '');
