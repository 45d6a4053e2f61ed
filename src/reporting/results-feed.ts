import { z } from 'zod';
import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { loadScript } from '../base/redis/script.js';
import { GoneError, InputError } from '../campaign/errors.js';
import { returnedOf } from '../campaign/field-sets.js';
import { RESULT_STATES } from '../campaign/recipient.js';
import type { RecipientResult, ReportRow, ResultPage } from '../campaign/recipient-views.js';
import { type CampaignMeta, readMeta } from '../engine/lane/campaign-meta.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import { inBatches } from './in-batches.js';
import { type RecipientReader, recipientReader } from './recipient-reader.js';
import { listedRows, reportRow } from './report-rows.js';

/*
 * The results feed: the recipients whose state has changed to settled or unknown. Each lane has a log of such changes
 * (lane/results.lua), which says where the recipients are. The feed returns the state that they have when it is read:
 *
 *   log of a lane: [campaign 7, ordinals 0–255] [campaign 9, ordinal 3] …   ──►   { campaign, recipient, reference, status, … }
 *        ▲                                     ▲
 *        └ appended by the script that         └ the cursor: of each lane, the server that wrote the chunk, the chunk, the entry,
 *          changes the state                     and how many of its recipients were returned
 *
 * A message that ends while it waits in its outbox is in no campaign. Its id is in a list of its outbox, which the log names instead.
 *
 * So a result is delivered at least once, a later state never before an earlier one, and a reader that was away for long gets the
 * latest state only.
 */

/** Which results {@link ResultsFeed.results} returns. */
export interface ResultsOptions {
  /** `next` of the page before; default: the oldest result that is kept. */
  readonly after?: string | undefined;
  /** At most 10,000; default 1,000. */
  readonly limit?: number | undefined;
  /** Only results of these lanes; default all, if there are at most 100. */
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
const MAX_LANES = 100;
/** Parts of chunks that are read for a page: most entries may be of campaigns that are removed. */
const MAX_READS_PER_PAGE = 50;
/** The lists of a campaign, in the order of their numbers in lane/results.lua. */
const LISTS = ['recipients', 'suppressed', 'leftOut'] as const;
const VALUES_PER_ENTRY = 4;
const CAMPAIGNS_AT_ONCE = 50;

/** A position in the log of a lane. */
interface Position {
  /** The server that wrote the chunk; '' for the beginning of the log. */
  readonly run: string;
  readonly chunk: number;
  readonly entry: number;
  /** How many positions of the entry have been returned. */
  readonly within: number;
}

const BEGINNING: Position = { run: '', chunk: 0, entry: 0, within: 0 };
const CURSOR_START = 'results';
const CURSOR_PART = /^([^:,]+):([0-9a-f]{1,8}):(\d{1,15}):(\d{1,4}):(\d{1,10})$/;

/** The positions of a cursor, the lane to read next first. */
function parseCursor(cursor: string): Map<LaneId, Position> {
  const positions = new Map<LaneId, Position>();
  if (cursor !== '' && cursor.split(',', 1)[0] !== CURSOR_START) throw invalidCursor();
  for (const part of cursor.split(',').slice(1)) {
    const [, lane, run, chunk, entry, within] = CURSOR_PART.exec(part) ?? [];
    if (lane === undefined || run === undefined) throw invalidCursor();
    positions.set(lane, { run, chunk: Number(chunk), entry: Number(entry), within: Number(within) });
  }
  return positions;
}

const invalidCursor = (): InputError =>
  new InputError('the cursor is invalid: use `next` of an earlier page', { field: 'after' });

function formatCursor(positions: ReadonlyMap<LaneId, Position>): string {
  const parts = [...positions].map(([lane, { run, chunk, entry, within }]) =>
    [lane, run, chunk, entry, within].join(':'),
  );
  return [CURSOR_START, ...parts].join(',');
}

/** What an entry of the log names. */
interface Entry {
  /** Number of the campaign in the lane's log. */
  readonly campaign: number;
  readonly list: (typeof LISTS)[number];
  readonly first: number;
  readonly count: number;
}

const found = z.tuple([
  z.literal('found'),
  z.string(),
  z.string(),
  z.number(),
  z.number(),
  z.array(z.number()),
]);
const readReply = z.union([found, z.tuple([z.enum(['lost', 'removed', 'empty'])])]);
const readScript = loadScript(import.meta.url, './read-results.lua', (reply) => {
  const parsed = readReply.parse(reply);
  if (parsed[0] !== 'found') return { kind: parsed[0] };
  const [kind, run, chunk, entry, hasMore, values] = parsed;
  const entries: Entry[] = [];
  for (let at = 0; at < values.length; at += VALUES_PER_ENTRY) {
    const [campaign = 0, list = 0, first = 0, count = 0] = values.slice(at, at + VALUES_PER_ENTRY);
    entries.push({ campaign, list: LISTS[list] ?? 'recipients', first, count });
  }
  return { kind, run, chunk: Number(chunk), entry, hasMore: hasMore === 1, entries };
});

/** A recipient that an entry names. */
interface Place {
  readonly lane: LaneId;
  readonly campaign: number;
  readonly list: Entry['list'];
  readonly position: number;
}

/** What a page needs of a campaign: the places that its entries name. */
interface Wanted {
  readonly lane: LaneId;
  readonly number: number;
  readonly positions: Record<Entry['list'], Set<number>>;
}

const keyOf = ({ lane, campaign }: Pick<Place, 'lane' | 'campaign'>): string => `${lane} ${campaign}`;

/** Ids of campaigns in one field of a log, as in lane/results.lua. */
const IDS_TOGETHER = 32;

/** The id of the campaign with a number in a lane's log; null if it is removed. */
async function readCampaignId(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  number: number,
): Promise<string | null> {
  const field = Math.floor(number / IDS_TOGETHER);
  const ids = await redis.hget(keys.lane(lane, 'results'), `i${field}`);
  return ids?.split(',')[number % IDS_TOGETHER] || null;
}

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
  readonly rows: Record<Entry['list'], Map<number, ResultOnLane>>;
}

/** Creates the feed. It does not access Redis before the first call. */
export function createResultsFeed({ redis, keys, finder, outboxes }: ResultsFeedOptions): ResultsFeed {
  /** Reads places of a lane from a position on, at most `most`. */
  const readPlaces = async (lane: LaneId, from: Position, most: number, reads: { left: number }) => {
    const places: Place[] = [];
    let position = from;
    while (places.length < most && reads.left > 0) {
      reads.left -= 1;
      const { run, chunk, entry } = position;
      const read = await readScript.run(
        redis,
        { results: keys.lane(lane, 'results'), latestResults: keys.lane(lane, 'latestResults') },
        { run, chunk, entry, most: most - places.length },
      );
      if (read.kind === 'empty') return { places, position, hasMore: false };
      if (read.kind !== 'found') throw gone(read.kind, await finder.nameOf(lane));
      // The position of an entry that is read to its end is that of the next one, so only the first may be read in part.
      const isSame = read.chunk === chunk && read.entry === entry && read.run === run;
      let within = isSame ? position.within : 0;
      let at = read.entry;
      for (const { campaign, list, first, count } of read.entries) {
        const end = Math.min(count, within + most - places.length);
        for (let place = within; place < end; place++)
          places.push({ lane, campaign, list, position: first + place });
        within = end < count ? end : 0;
        if (end < count) break;
        at += 1;
      }
      position = { run: read.run, chunk: read.chunk, entry: at, within };
      const isRead = at - read.entry === read.entries.length;
      if (isRead && !read.hasMore) return { places, position, hasMore: false };
    }
    return { places, position, hasMore: true };
  };

  const readCampaign = async ({ lane, number, positions }: Wanted): Promise<CampaignResults | null> => {
    const id = await readCampaignId(redis, keys, lane, number);
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
    const resultsOf = (list: Entry['list']) =>
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
    async results({ after = '', limit = DEFAULT_LIMIT, lanes } = {}) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT))
        throw new InputError(`\`limit\` must be a number from 1 to ${MAX_LIMIT}`, { field: 'limit' });
      const cursor = parseCursor(after);
      const ids =
        lanes === undefined ? await redis.smembers(keys.lanes) : await Promise.all(lanes.map(finder.idOf));
      if (ids.length > MAX_LANES)
        throw new InputError(
          `there are ${ids.length} lanes, and a cursor covers at most ${MAX_LANES}: name the lanes, for example one per reader`,
          { field: 'lane' },
        );
      const reads = { left: MAX_READS_PER_PAGE };
      const positions = new Map(cursor);
      const places: Place[] = [];
      let hasMore = false;
      // Lanes that the cursor does not have yet come first, and then those that the page before read last.
      const isNew = (lane: LaneId): boolean => !cursor.has(lane);
      const order = [...ids.filter(isNew).sort(), ...[...cursor.keys()].filter((lane) => ids.includes(lane))];
      for (const lane of order) {
        const most = limit - places.length;
        const read =
          most === 0 || reads.left === 0
            ? { places: [], position: cursor.get(lane) ?? BEGINNING, hasMore: true }
            : await readPlaces(lane, cursor.get(lane) ?? BEGINNING, most, reads);
        for (const place of read.places) places.push(place);
        hasMore ||= read.hasMore;
        if (read.position === BEGINNING) continue;
        // A lane that was read goes to the end.
        if (read.places.length > 0) positions.delete(lane);
        positions.set(lane, read.position);
      }
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
      return { results, campaigns, next: formatCursor(positions), hasMore };
    },
  };
}

function gone(kind: 'lost' | 'removed', lane: string): GoneError {
  return new GoneError(
    kind === 'removed'
      ? `results after the cursor were removed with their campaigns (lane ${lane}); start again without a cursor`
      : `Redis has lost the results that the cursor belongs to (lane ${lane}); start again without a cursor`,
  );
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
): Promise<Record<Entry['list'], Map<number, ReportRow>>> {
  const rows = new Map<number, ReportRow>();
  for await (const record of reader.records([...recipients].sort((a, b) => a - b)))
    if (RESULT_STATES.includes(record.state)) rows.set(record.ordinal, reportRow(meta, record));
  const [suppressedRows, leftOutRows] = await Promise.all([
    listedRows(reader, meta, 'suppressed', [...suppressed]),
    listedRows(reader, meta, 'leftOut', [...leftOut]),
  ]);
  return { recipients: rows, suppressed: suppressedRows, leftOut: leftOutRows };
}

async function* asyncOf<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
