import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { InputError } from '../../campaign/errors/errors.js';
import { noSuchSource, type ResultsOf } from '../../campaign/fields/results-of.js';
import type { RecipientState } from '../../campaign/states/recipient.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { findLane, readState } from '../../engine/store/campaigns.js';
import { reportRows } from '../../reporting/report.js';
import { referenceColumn } from './rows/check-rows.js';
import { inRowBatches, type Row, type Rows } from './rows/rows.js';

/**
 * The recipients of a campaign with some final states, as a list. It is read once, a few thousand recipients at a time, each with its state at
 * that moment. Its columns are the number, the values that the text of the campaign uses, and the reference. Throws an InputError if the
 * campaign does not exist or still runs.
 */
export async function rowsOfResults(
  { redis, keys }: { readonly redis: Redis; readonly keys: Keys },
  { campaign, status }: ResultsOf,
): Promise<Rows> {
  const lane = await findLane(redis, keys, campaign);
  const [meta, state] =
    lane === null
      ? [null, null]
      : await Promise.all([readMeta(redis, keys, lane, campaign), readState(redis, keys, lane, campaign)]);
  if (meta === null || state === null) throw noSuchSource(campaign);
  if (state.state !== 'completed' && state.state !== 'cancelled')
    throw new InputError(
      `campaign ${campaign} is ${state.state}: you can send to its results when it is completed or cancelled`,
      { field: 'toResultsOf' },
    );
  // Where the text uses the number itself, it is written as in reports.
  const stored = meta.placeholders.filter((name) => name !== meta.numberColumn);
  const columns = [meta.numberColumn, ...stored];
  const hasReference = referenceColumn(columns) !== -1;
  if (!hasReference) columns.push('reference');
  const rows = reportRows(redis, keys, campaign, {
    states: status as readonly RecipientState[],
    values: true,
  });
  async function* portions(): AsyncGenerator<readonly Row[]> {
    let line = 0;
    for await (const { to, reference, values } of rows) {
      // It was forgotten.
      if (to === null) continue;
      line += 1;
      const own = stored.map((name) => values?.[name] ?? '');
      yield [{ line, fields: [to, ...own, ...(hasReference ? [] : [reference ?? ''])], fault: null }];
    }
    if (line > 0) return;
    const reason = `no recipient of campaign ${campaign} has ${status.length > 1 ? 'one of these states' : `the state ${status[0]}`}`;
    throw new InputError(reason, { field: 'toResultsOf' });
  }
  return {
    columns,
    numberColumn: meta.numberColumn,
    lacksBecause: `A list of results has the columns that the text of campaign ${campaign} uses, and the references`,
    batches: inRowBatches(portions()),
    close: () => void rows.return(undefined),
  };
}
