import { z } from 'zod';
import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { loadScript } from '../base/redis/script.js';
import { GoneError } from '../campaign/errors/errors.js';
import type { LaneFinder } from '../engine/lane/lane-finder.js';

/*
 * Reads the logs of results (store/results.lua), which say where recipients are whose state has become settled or unknown.
 */

/** What an entry may be about, with the numbers of store/results.lua. */
const LIST_NUMBERS = {
  recipients: 0,
  unknown: 1,
  unconfirmed: 2,
  suppressed: 4,
  leftOut: 8,
  state: 12,
} as const;
export const RESULT_LISTS = Object.keys(LIST_NUMBERS) as (keyof typeof LIST_NUMBERS)[];
const LIST_OF_NUMBER = new Map<number, (typeof RESULT_LISTS)[number]>(
  RESULT_LISTS.map((list) => [LIST_NUMBERS[list], list]),
);
const VALUES_PER_ENTRY = 4;
/** Ids of campaigns in one field of a log, as in store/results.lua. */
const IDS_TOGETHER = 32;

/** A position in the log of a lane. */
export interface Position {
  /** The server that wrote the chunk, 8 hexadecimal digits; '' for the beginning of the log. */
  readonly run: string;
  readonly chunk: number;
  readonly entry: number;
  /** How many positions of the entry have been returned. */
  readonly within: number;
}

const BEGINNING: Position = { run: '', chunk: 0, entry: 0, within: 0 };
const END: Position = { ...BEGINNING, run: 'end' };

/** A recipient that an entry names. */
export interface Place {
  readonly lane: LaneId;
  /** Number of the campaign in the lane's log. */
  readonly campaign: number;
  /**
   * `recipients`, `unknown`, `unconfirmed`: the position is an ordinal. A recipient that became unknown or unconfirmed may have another
   * result since, and then a later entry names it. `state`: the campaign itself has another state.
   */
  readonly list: (typeof RESULT_LISTS)[number];
  readonly position: number;
}

/** Which rows of a campaign the positions of a list are. */
export function rowsOf(list: Place['list']): Exclude<Place['list'], 'unknown' | 'unconfirmed'> {
  return list === 'unknown' || list === 'unconfirmed' ? 'recipients' : list;
}

/** What an entry of the log names. */
interface Entry extends Pick<Place, 'campaign' | 'list'> {
  readonly first: number;
  readonly count: number;
}

/** Places of a lane, and where they end. */
interface ReadPlaces {
  readonly places: readonly Place[];
  /** Undefined: the lane has no log yet. */
  readonly position: Position | undefined;
  readonly hasMore: boolean;
}

const found = z.tuple([
  z.literal('found'),
  z.string(),
  z.string(),
  z.number(),
  z.number(),
  z.array(z.number()),
]);
const removed = z.tuple([z.literal('removed'), z.string(), z.string(), z.number()]);
const readReply = z.union([found, removed, z.tuple([z.enum(['lost', 'empty'])])]);
const readScript = loadScript(import.meta.url, './read-results.lua', (reply) => {
  const parsed = readReply.parse(reply);
  if (parsed[0] === 'removed') {
    const [kind, run, chunk, removedCount] = parsed;
    return { kind, next: { run, chunk: Number(chunk), entry: 0, within: 0 }, removedCount };
  }
  if (parsed[0] !== 'found') return { kind: parsed[0] };
  const [kind, run, chunk, entry, hasMore, values] = parsed;
  const entries: Entry[] = [];
  for (let at = 0; at < values.length; at += VALUES_PER_ENTRY) {
    const [campaign = 0, list = 0, first = 0, count = 0] = values.slice(at, at + VALUES_PER_ENTRY);
    entries.push({ campaign, list: LIST_OF_NUMBER.get(list) ?? 'recipients', first, count });
  }
  return { kind, run, chunk: Number(chunk), entry, hasMore: hasMore === 1, entries };
});

/** The logs of all lanes. */
export interface ResultsLogs {
  /**
   * Whether a lane may have entries from a position on; default: the beginning of its log. If not, `position` is where it ends. Rejects with a
   * GoneError if they no longer exist.
   */
  peek(lane: LaneId, from: Position | undefined): Promise<Omit<ReadPlaces, 'places'>>;
  /** Reads at most `most` places of a lane from a position on. `reads`: how many parts of chunks may be read, which it reduces. */
  read(lane: LaneId, from: Position | undefined, most: number, reads: { left: number }): Promise<ReadPlaces>;
  /** Where the log of a lane ends now; undefined: the lane has no log yet. */
  end(lane: LaneId): Promise<Position | undefined>;
}

/** Opens the logs. It does not access Redis before the first call. */
export function resultsLogs(redis: Redis, keys: Keys, { nameOf }: Pick<LaneFinder, 'nameOf'>): ResultsLogs {
  /** Null: the lane has no log yet. */
  const readEntries = async (lane: LaneId, { run, chunk, entry }: Position, most: number) => {
    const read = await readScript.run(
      redis,
      { results: keys.lane(lane, 'results'), latestResults: keys.lane(lane, 'latestResults') },
      { run, chunk, entry, most },
    );
    if (read.kind === 'found') return read;
    if (read.kind === 'empty') return null;
    throw new ResultsGoneError(await nameOf(lane), read.kind === 'removed' ? read : undefined);
  };

  return {
    async end(lane) {
      const read = await readEntries(lane, END, 1);
      return read === null ? undefined : { run: read.run, chunk: read.chunk, entry: read.entry, within: 0 };
    },

    async peek(lane, from = BEGINNING) {
      const read = await readEntries(lane, from, 1);
      if (read === null) return { position: undefined, hasMore: false };
      const { run, chunk, entry, entries, hasMore } = read;
      const isSame = run === from.run && chunk === from.chunk && entry === from.entry;
      const position = isSame ? from : { run, chunk, entry, within: 0 };
      return { position, hasMore: hasMore || entries.length > 0 };
    },

    async read(lane, from = BEGINNING, most, reads) {
      const places: Place[] = [];
      let position = from;
      while (places.length < most && reads.left > 0) {
        reads.left -= 1;
        const read = await readEntries(lane, position, most - places.length);
        if (read === null) return { places, position: undefined, hasMore: false };
        // The position of an entry that is read to its end is that of the next one, so only the first may be read in part.
        const isSame =
          read.chunk === position.chunk && read.entry === position.entry && read.run === position.run;
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
    },
  };
}

/** The id of the campaign with a number in a lane's log; null if it is removed. */
export async function campaignIdIn(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  number: number,
): Promise<string | null> {
  const field = Math.floor(number / IDS_TOGETHER);
  const ids = await redis.hget(keys.lane(lane, 'results'), `i${field}`);
  return ids?.split(',')[number % IDS_TOGETHER] || null;
}

/** The entries after a position no longer exist. */
export class ResultsGoneError extends GoneError {
  /** Where the next entries are that still exist; undefined: anywhere from the beginning on, because Redis has lost data. */
  readonly next: Position | undefined;
  /** How many results were removed, at least. */
  readonly removedCount: number;

  constructor(lane: string, removed?: { readonly next: Position; readonly removedCount: number }) {
    super(
      removed === undefined
        ? `Redis has lost the results that the cursor belongs to (lane ${lane}); start again without a cursor`
        : `results after the cursor were removed with their campaigns (lane ${lane}); start again without a cursor`,
    );
    this.next = removed?.next;
    this.removedCount = removed?.removedCount ?? 0;
  }
}
