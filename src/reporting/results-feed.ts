import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { InputError } from '../campaign/errors/errors.js';
import type { ResultPage } from '../campaign/views/recipient-views.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';
import { asyncOf, inBatches } from './in-batches.js';
import { MAX_LANES, type ResultsCursor, readCursor } from './results-cursor.js';
import { type Place, type Position, resultsLogs } from './results-log.js';
import { type OutboxResults, resultsReader } from './results-reader.js';

/*
 * The results feed: the recipients whose state has changed to settled or unknown. Each lane has a log of such changes
 * (store/results.lua), which says where the recipients are. The feed returns the state that they have when it is read:
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
const LANES_AT_ONCE = 50;

/** What {@link createResultsFeed} needs. */
interface ResultsFeedOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'idOf' | 'nameOf'>;
  readonly outboxes: OutboxResults;
}

/** Creates the feed. It does not access Redis before the first call. */
export function createResultsFeed({ redis, keys, finder, outboxes }: ResultsFeedOptions): ResultsFeed {
  const logs = resultsLogs(redis, keys, finder);
  const { read } = resultsReader({ redis, keys, finder, outboxes });

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
      const { results, campaigns } = await read(places);
      return { results, campaigns, nextCursor: cursor.next(positions, last), hasMore };
    },
  };
}
