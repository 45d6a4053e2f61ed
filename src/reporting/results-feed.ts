import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { InputError } from '../campaign/errors.js';
import { returnedOf } from '../campaign/field-sets.js';
import { RESULT_STATES } from '../campaign/recipient.js';
import type { RecipientResult, ReportedRecipient, ResultPage } from '../campaign/recipient-views.js';
import { type CampaignMeta, readMeta } from '../engine/lane/campaign-meta.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import { inBatches } from './in-batches.js';
import { type RecipientReader, recipientReader } from './recipient-reader.js';
import { listedRows, reportRow } from './report-rows.js';
import { MAX_LANES, type ResultsCursor, readCursor } from './results-cursor.js';
import { type Place, type Position, resultsLogs } from './results-log.js';

/*
 * The results feed: the recipients whose state has changed to settled or unknown. Each lane has a log of such changes
 * (lane/results.lua), which says where the recipients are. The feed returns the state that they have when it is read:
 *
 *   log of a lane: [campaign 7, ordinals 0–255] [campaign 9, ordinal 3] …   ──►   { campaign, recipient, reference, status, … }
 *        ▲                                     ▲
 *        └ appended by the script that         └ the cursor (results-cursor.ts): of each lane, the server that wrote the chunk, the
 *          changes the state                     chunk, the entry, and how many of its recipients were returned
 *
 * A message that ends while it waits in its outbox is in no campaign. Its id is in a list of its outbox, which the log names instead.
 *
 * So a result is delivered at least once, a later state never before an earlier one, and a reader that was away for long gets the
 * latest state only.
 */

/** Which results {@link ResultsFeed.results} returns. */
export interface ResultsOptions {
  /** `nextCursor` of the page before; default: the oldest result that is kept. */
  readonly cursor?: string | undefined;
  /** At most 10,000; default 1,000. */
  readonly limit?: number | undefined;
  /** Only results of these lanes; at most 500; default all, if there are at most so many. */
  readonly lanes?: readonly string[] | undefined;
}

/** The results of all campaigns. */
export interface ResultsFeed {
  /**
   * Returns recipients that have become settled or unknown since the page before, each at least once and with its current state. The
   * results of a campaign can be read as long as the campaign is kept. Rejects with a `GoneError` if results after the cursor have
   * been removed, or Redis has lost the data that the cursor belongs to: read from the beginning then.
   */
  results(options?: ResultsOptions): Promise<ResultPage>;
}

const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 10_000;
/** Parts of chunks that are read for a page: most entries may be of campaigns that are removed. */
const MAX_READS_PER_PAGE = 50;
const [LANES_AT_ONCE, CAMPAIGNS_AT_ONCE] = [50, 50];

/** What a page needs of a campaign: the places that its entries name. */
interface Wanted {
  readonly lane: LaneId;
  readonly number: number;
  readonly positions: Record<Place['list'], Set<number>>;
}

const keyOf = ({ lane, campaign }: Pick<Place, 'lane' | 'campaign'>): string => `${lane} ${campaign}`;

/** The outbox of a campaign that is a wave, and the ids of its messages. */
export interface WaveIds {
  readonly outbox: string;
  /** By ordinal. */
  readonly ids: ReadonlyMap<number, string>;
}

/** A result without its lane, which its place says. */
export type ResultOnLane = Omit<RecipientResult, 'lane'>;

/** What the feed needs to know of outboxes. */
export interface OutboxResults {
  /** The ids of messages in a wave; null if the campaign is none. */
  idsInWave(lane: LaneId, meta: CampaignMeta, ordinals: readonly number[]): Promise<WaveIds | null>;
  /** Messages that ended while they waited, by their positions in a list that the log names; null if this is no such list. */
  ended(
    lane: LaneId,
    list: string,
    positions: readonly number[],
  ): Promise<ReadonlyMap<number, ResultOnLane> | null>;
}

/** What {@link createResultsFeed} needs. */
interface ResultsFeedOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'idOf' | 'nameOf'>;
  readonly outboxes: OutboxResults;
}

/** What a page has of a campaign, or of a list of messages that ended while they waited: those have no meta. */
interface CampaignResults {
  readonly meta: CampaignMeta | null;
  /** By list and position. */
  readonly rows: Record<Place['list'], Map<number, ResultOnLane>>;
}

/** Creates the feed. It does not access Redis before the first call. */
export function createResultsFeed({ redis, keys, finder, outboxes }: ResultsFeedOptions): ResultsFeed {
  const logs = resultsLogs(redis, keys, finder);

  /** Reads the logs of some lanes in turn, until a page is full. `last`: the lane that was read last. */
  const readPlaces = async (cursor: ResultsCursor, lanes: readonly LaneId[], most: number) => {
    const places: Place[] = [];
    const positions = new Map<LaneId, Position>();
    const note = (lane: LaneId, position = cursor.positionOf(lane)): void => {
      if (position !== undefined) positions.set(lane, position);
    };
    const reads = { left: MAX_READS_PER_PAGE };
    let last: LaneId | undefined;
    let hasMore = false;
    const isFull = (): boolean => places.length === most || reads.left === 0;
    const peek = async (lane: LaneId) => ({
      lane,
      ahead: isFull() ? undefined : await logs.peek(lane, cursor.positionOf(lane)),
    });
    // Most lanes have nothing new. Only those that have count for the reads of the page.
    for await (const { lane, ahead } of inBatches(asyncOf(cursor.inTurn(lanes)), LANES_AT_ONCE, peek)) {
      if (ahead?.hasMore === false) {
        note(lane, ahead.position);
        continue;
      }
      if (isFull()) {
        note(lane);
        hasMore = true;
        continue;
      }
      const read = await logs.read(lane, cursor.positionOf(lane), most - places.length, reads);
      for (const place of read.places) places.push(place);
      note(lane, read.position);
      last = lane;
      hasMore ||= read.hasMore;
    }
    return { places, positions, last, hasMore };
  };

  const readCampaign = async ({ lane, number, positions }: Wanted): Promise<CampaignResults | null> => {
    const id = await logs.campaignId(lane, number);
    if (id === null) return null;
    const ended = await outboxes.ended(lane, id, [...positions.recipients]);
    if (ended !== null)
      return {
        meta: null,
        rows: { recipients: new Map(ended), suppressed: new Map(), leftOut: new Map() },
      };
    const meta = await readMeta(redis, keys, lane, id);
    if (meta === null) return null;
    const reader = recipientReader(redis, keys, lane, meta.id);
    const [rows, wave] = await Promise.all([
      readRows(reader, meta, positions),
      outboxes.idsInWave(lane, meta, [...positions.recipients]),
    ]);
    const resultsOf = (list: Place['list']) =>
      new Map(
        [...rows[list]].map(([position, row]) => [
          position,
          {
            campaign: meta.id,
            outbox: wave?.outbox ?? '',
            message: wave?.ids.get(position) ?? '',
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
    async results({ cursor: token = '', limit = DEFAULT_LIMIT, lanes } = {}) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT))
        throw new InputError(`\`limit\` must be a number from 1 to ${MAX_LIMIT}`, { field: 'limit' });
      const all = await redis.smembers(keys.lanes);
      const ids = lanes === undefined ? all : [...new Set(await Promise.all(lanes.map(finder.idOf)))];
      if (ids.length > MAX_LANES)
        throw new InputError(
          `there are ${ids.length} lanes, and a cursor covers at most ${MAX_LANES}: name the lanes, for example some per reader`,
          { field: 'lane' },
        );
      const cursor = readCursor(token, [...new Set([...all, ...ids])]);
      const { places, positions, last, hasMore } = await readPlaces(cursor, ids, limit);
      const wanted = wantedOf(places);
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
      for (const place of places) {
        const campaign = read.get(keyOf(place));
        const result = campaign?.rows[place.list].get(place.position);
        if (!campaign || result === undefined) continue;
        // Once, however often it is named.
        campaign.rows[place.list].delete(place.position);
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
      return { results, campaigns, nextCursor: cursor.next(positions, last), hasMore };
    },
  };
}

function wantedOf(places: readonly Place[]): Wanted[] {
  const wanted = new Map<string, Wanted>();
  for (const place of places) {
    const { lane, campaign, list, position } = place;
    const known = wanted.get(keyOf(place)) ?? {
      lane,
      number: campaign,
      positions: { recipients: new Set(), suppressed: new Set(), leftOut: new Set() },
    };
    known.positions[list].add(position);
    wanted.set(keyOf(place), known);
  }
  return [...wanted.values()];
}

/** The rows of some places of a campaign, by their positions; without recipients that are neither settled nor unknown now. */
async function readRows(
  reader: RecipientReader,
  meta: CampaignMeta,
  { recipients, suppressed, leftOut }: Wanted['positions'],
): Promise<Record<Place['list'], Map<number, ReportedRecipient>>> {
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

async function* asyncOf<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
