import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { returnedOf } from '../campaign/fields/field-sets.js';
import { RESULT_STATES } from '../campaign/states/recipient.js';
import type { RecipientResult, ReportedRecipient, ResultPage } from '../campaign/views/recipient-views.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import { orNull } from '../engine/recipients/damaged.js';
import { type CampaignMeta, readMeta } from '../engine/store/campaign-meta.js';
import { asyncOf, inBatches } from './in-batches.js';
import { type RecipientReader, recipientReader } from './recipient-reader.js';
import { listedRows, reportRow } from './report-rows.js';
import { campaignIdIn, type Place, rowsOf } from './results-log.js';

/*
 * Reads the results at some places of the logs: the state that those recipients have now.
 */

/** Campaigns that are read together. */
const CAMPAIGNS_AT_ONCE = 50;

/** The lists of a campaign that have recipients. */
type RowList = Exclude<ReturnType<typeof rowsOf>, 'state'>;

/** What a page needs of a campaign: the places that its entries name. */
interface Wanted {
  readonly lane: LaneId;
  readonly number: number;
  readonly positions: Record<RowList, Set<number>>;
}

const keyOf = ({ lane, campaign }: Pick<Place, 'lane' | 'campaign'>): string => `${lane} ${campaign}`;

/** A result without its lane, which its place says. */
export type ResultOnLane = Omit<RecipientResult, 'lane'>;

/** What the feed needs to know of outboxes. */
export interface OutboxResults {
  /** Messages of an outbox by their positions in a list that the log names; null if this is no such list. */
  results(
    lane: LaneId,
    list: string,
    positions: readonly number[],
  ): Promise<ReadonlyMap<number, ResultOnLane> | null>;
}

/** What a page has of a campaign, or of a list of messages of an outbox: that has no meta. */
interface CampaignResults {
  readonly meta: CampaignMeta | null;
  /** By list and position. */
  readonly rows: Record<RowList, Map<number, ResultOnLane>>;
}

/** What {@link resultsReader} needs. */
export interface ResultsReaderOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'nameOf'>;
  readonly outboxes: OutboxResults;
}

/** The results at some places. */
export interface ReadResults extends Pick<ResultPage, 'campaigns'> {
  /** In the order of the places, each recipient once. Those that are neither settled nor unknown now are left out, or named by a later entry. */
  readonly results: readonly RecipientResult[];
  /** Places whose campaign, or whose list of messages, was removed. */
  readonly removedCount: number;
}

/** Opens the reader. It does not access Redis before the first call. */
export function resultsReader({ redis, keys, finder, outboxes }: ResultsReaderOptions) {
  const readCampaign = async ({ lane, number, positions }: Wanted): Promise<CampaignResults | null> => {
    const id = await campaignIdIn(redis, keys, lane, number);
    if (id === null) return null;
    const messages = await outboxes.results(lane, id, [...positions.recipients]);
    if (messages !== null)
      return {
        meta: null,
        rows: { recipients: new Map(messages), suppressed: new Map(), leftOut: new Map() },
      };
    const meta = await orNull(readMeta(redis, keys, lane, id));
    if (meta === null) return null;
    const reader = recipientReader(redis, keys, lane, meta.id);
    const rows = await readRows(reader, meta, positions);
    const resultsOf = (list: RowList) =>
      new Map(
        [...rows[list]].map(([position, row]) => [
          position,
          {
            campaign: meta.id,
            outbox: null,
            message: null,
            ...row,
          },
        ]),
      );
    return {
      meta,
      rows: {
        recipients: resultsOf('recipients'),
        suppressed: resultsOf('suppressed'),
        leftOut: resultsOf('leftOut'),
      },
    };
  };

  return {
    async read(places: readonly Place[]): Promise<ReadResults> {
      const wanted = wantedOf(places.filter(({ list }) => list !== 'state'));
      const read = new Map<string, Awaited<ReturnType<typeof readCampaign>>>();
      const each = async (one: Wanted) => ({ one, campaign: await readCampaign(one) });
      for await (const { one, campaign } of inBatches(asyncOf(wanted), CAMPAIGNS_AT_ONCE, each))
        read.set(keyOf({ lane: one.lane, campaign: one.number }), campaign);
      const laneIds = [...new Set(places.map(({ lane }) => lane))];
      const laneNames = new Map(
        await Promise.all(laneIds.map(async (id) => [id, await finder.nameOf(id)] as const)),
      );
      const results: RecipientResult[] = [];
      const campaigns: Record<string, ResultPage['campaigns'][string]> = {};
      let removedCount = 0;
      for (const place of places) {
        const campaign = read.get(keyOf(place)) ?? null;
        const list = rowsOf(place.list);
        if (list === 'state') continue;
        if (campaign === null) removedCount += 1;
        const result = campaign?.rows[list].get(place.position);
        if (campaign === null || result === undefined) continue;
        // It has another result since: the entry for that one names it.
        if (place.list !== list && place.list !== result.status) continue;
        // Once, however often it is named.
        campaign.rows[list].delete(place.position);
        const { meta } = campaign;
        const lane = laneNames.get(place.lane) ?? place.lane;
        if (meta !== null)
          campaigns[meta.id] ??= {
            name: meta.name,
            lane,
            idempotencyKey: meta.idempotencyKey ?? null,
            ...returnedOf(meta),
          };
        results.push({ ...result, lane });
      }
      return { results, campaigns, removedCount };
    },
  };
}

function wantedOf(places: readonly Place[]): Wanted[] {
  const wanted = new Map<string, Wanted>();
  for (const place of places) {
    const { lane, campaign, position } = place;
    const list = rowsOf(place.list);
    const known = wanted.get(keyOf(place)) ?? {
      lane,
      number: campaign,
      positions: { recipients: new Set(), suppressed: new Set(), leftOut: new Set() },
    };
    if (list !== 'state') known.positions[list].add(position);
    wanted.set(keyOf(place), known);
  }
  return [...wanted.values()];
}

/** The rows of some places of a campaign, by their positions; without recipients that are neither settled nor unknown now. */
async function readRows(
  reader: RecipientReader,
  meta: CampaignMeta,
  { recipients, suppressed, leftOut }: Wanted['positions'],
): Promise<Record<RowList, Map<number, ReportedRecipient>>> {
  const rows = new Map<number, ReportedRecipient>();
  for await (const record of reader.records([...recipients].sort((a, b) => a - b)))
    if (RESULT_STATES.includes(record.state)) rows.set(record.ordinal, reportRow(meta, record));
  const listed = async (list: 'suppressed' | 'leftOut', positions: ReadonlySet<number>) => {
    const found = await listedRows(reader, meta, list, [...positions]);
    return new Map([...found].map(([position, { row }]) => [position, row]));
  };
  const [suppressedRows, leftOutRows] = await Promise.all([
    listed('suppressed', suppressed),
    listed('leftOut', leftOut),
  ]);
  return { recipients: rows, suppressed: suppressedRows, leftOut: leftOutRows };
}
