import { z } from 'zod';
import type { RecipientState } from '../campaign/recipient.js';
import { parseState, readState } from '../lane/campaigns.js';
import {
  RECORDS_IN_A_HASH,
  recordsKey,
  type Series,
  slicesKey,
  statusesKey,
} from '../recipients/campaign-keys.js';
import { parseRecord, type RequestRecord } from '../recipients/records.js';
import { SLICE, unpackNumbers } from '../recipients/slices.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

/** How a recipient with an ordinal stands. */
export interface OrdinalRecord {
  readonly ordinal: number;
  /** E.164 with its plus. */
  readonly number: string;
  readonly state: RecipientState;
  /** The request that it went out with; null while there was none. */
  readonly request: RequestRecord | null;
  /** Number of the claim that is in flight or of unknown outcome; null for others. */
  readonly claim: number | null;
  /** When that was claimed, ms. */
  readonly since: number | null;
}

/** A run of ordinals, those that were wanted of it, and where the next one begins. */
export interface Chunk {
  readonly records: readonly OrdinalRecord[];
  readonly next: number;
}

/** The bytes of `statuses`; 0 follows from where the ordinal lies. */
const STATE_OF: Readonly<Record<string, RecipientState>> = {
  U: 'unknown',
  N: 'deliveredToNetwork',
  T: 'deliveredToTerminal',
  I: 'deliveryImpossible',
  R: 'rejected',
  S: 'suppressed',
  A: 'abandoned',
  C: 'unconfirmed',
};

/** Slices of a chunk: few enough to hold nobody up, enough that a million recipients take 500 readings. */
const SLICES_AT_ONCE = 8;
const CHUNK = SLICES_AT_ONCE * SLICE;
/** Slices read at once where only numbers are looked at. */
const SEARCHED_AT_ONCE = 64;

const batch = z.object({ c: z.string(), f: z.number(), k: z.number(), at: z.number() });
interface Batch {
  readonly claim: number;
  readonly first: number;
  readonly count: number;
  readonly at: number;
}

const standing = loadScript(import.meta.url, './recipient-range.lua', (reply) =>
  z.tuple([z.string(), z.string().array(), z.string().array(), z.string()]).nullable().parse(reply),
);

/** Reads how the recipients of one campaign stand. */
export function campaignReader(redis: Redis, keys: Keys, lane: string, campaign: string) {
  const standingKeys = [
    keys.lane(lane, 'states'),
    keys.lane(lane, 'claims'),
    keys.lane(lane, 'unknown'),
    statusesKey(keys, lane, campaign),
  ];

  const chunk = async (
    from: number,
    isWanted: (state: RecipientState) => boolean,
    count = CHUNK,
  ): Promise<Chunk | null> => {
    const seen = await standing.run(redis, standingKeys, [campaign, from, count]);
    if (seen === null) return null;
    const [json, allClaims, allUnknown, statuses] = seen;
    const state = parseState(json);
    if (from >= state.end) return null;
    const claims = own(allClaims, campaign);
    const unknown = own(allUnknown, campaign);
    const next = Math.min(from + count, state.end);
    const stands: { ordinal: number; state: RecipientState; batch: Batch | undefined }[] = [];
    for (let ordinal = from; ordinal < next; ordinal++) {
      const settled = STATE_OF[statuses[ordinal - from] ?? ''];
      const inFlight = settled === undefined ? holding(claims, ordinal) : undefined;
      const stand = settled ?? (inFlight === undefined ? state.rest : 'sending');
      if (!isWanted(stand)) continue;
      const unresolved = stand === 'unknown' ? holding(unknown, ordinal) : undefined;
      stands.push({ ordinal, state: stand, batch: inFlight ?? unresolved });
    }
    const [numbers, records] = await Promise.all([
      readNumbers(stands.map(({ ordinal }) => ordinal)),
      readRecords(stands.filter(({ state: s }) => s !== state.rest).map(({ ordinal }) => ordinal)),
    ]);
    return {
      next,
      records: stands.map(({ ordinal, state: stand, batch: held }, at) => ({
        ordinal,
        number: numbers[at] ?? '',
        state: stand,
        request: stand === state.rest || stand === 'sending' ? null : requestOf(records, ordinal),
        claim: held?.claim ?? null,
        since: held?.at ?? null,
      })),
    };
  };

  const slicesOf = async (series: Series, numbers: readonly number[]): Promise<number[][]> => {
    if (numbers.length === 0) return [];
    const blobs = await redis.hmgetBuffer(slicesKey(keys, lane, campaign, series), ...numbers.map(String));
    return blobs.map((blob) => (blob === null ? [] : unpackNumbers(blob)));
  };

  const readNumbers = async (ordinals: readonly number[]): Promise<string[]> => {
    const wanted = [...new Set(ordinals.map((ordinal) => Math.floor(ordinal / SLICE)))];
    const slices = await slicesOf('slices', wanted);
    const bySlice = new Map(wanted.map((number, at) => [number, slices[at] ?? []]));
    return ordinals.map((ordinal) => `+${bySlice.get(Math.floor(ordinal / SLICE))?.[ordinal % SLICE] ?? ''}`);
  };

  /** A request lies within one slice, so its record is in the slice's hashes, at its first ordinal. */
  const readRecords = async (ordinals: readonly number[]): Promise<Map<number, RequestRecord>> => {
    const slices = new Set(ordinals.map((ordinal) => Math.floor(ordinal / SLICE)));
    const names = [...slices].flatMap((slice) =>
      Array.from({ length: SLICE / RECORDS_IN_A_HASH }, (_, at) =>
        recordsKey(keys, lane, campaign, slice * SLICE + at * RECORDS_IN_A_HASH),
      ),
    );
    const hashes = await Promise.all(names.map((name) => redis.hgetall(name)));
    return new Map(
      hashes.flatMap((hash) =>
        Object.entries(hash).map(([first, text]) => [Number(first), parseRecord(text)] as const),
      ),
    );
  };

  const search = async (series: Series, number: string): Promise<number | null> => {
    const wanted = Number(number);
    const slices = await redis.hlen(slicesKey(keys, lane, campaign, series));
    for (let first = 0; first < slices; first += SEARCHED_AT_ONCE) {
      const count = Math.min(SEARCHED_AT_ONCE, slices - first);
      const found = await slicesOf(
        series,
        Array.from({ length: count }, (_, at) => first + at),
      );
      for (const [at, numbers] of found.entries()) {
        const place = numbers.indexOf(wanted);
        if (place !== -1) return (first + at) * SLICE + place;
      }
    }
    return null;
  };

  return {
    /** The recipients from ordinal `from` on whose state is wanted; null where there are no more. */
    chunk,
    /** How one ordinal stands; null if there is none. */
    async record(ordinal: number): Promise<OrdinalRecord | null> {
      return (await chunk(ordinal, () => true, 1))?.records[0] ?? null;
    },
    /** The ordinal of a number, null if it has none. */
    ordinalOf: (number: string): Promise<number | null> => search('slices', number),
    /** Whether the number was suppressed when the list was imported. */
    isSuppressed: async (number: string): Promise<boolean> => (await search('suppressed', number)) !== null,
    /** The numbers that were suppressed when the list was imported. */
    async *suppressed(): AsyncGenerator<string> {
      if ((await readState(redis, keys, lane, campaign)) === null) return;
      const slices = await redis.hlen(slicesKey(keys, lane, campaign, 'suppressed'));
      for (let slice = 0; slice < slices; slice++) {
        const [numbers = []] = await slicesOf('suppressed', [slice]);
        for (const number of numbers) yield `+${number}`;
      }
    },
  };
}

/** The batches of a campaign, of a hash told as names and values in turn. */
function own(all: readonly string[], campaign: string): Batch[] {
  return all.flatMap((json, at) => {
    if (at % 2 === 0) return [];
    const { c, f, k, at: since } = batch.parse(JSON.parse(json));
    return c === campaign ? [{ claim: Number(all[at - 1]), first: f, count: k, at: since }] : [];
  });
}

function holding(batches: readonly Batch[], ordinal: number): Batch | undefined {
  return batches.find(({ first, count }) => ordinal >= first && ordinal < first + count);
}

/** The record of the request whose range holds the ordinal. */
function requestOf(records: ReadonlyMap<number, RequestRecord>, ordinal: number): RequestRecord | null {
  const begin = ordinal - (ordinal % SLICE);
  for (let first = ordinal; first >= begin; first--) {
    const record = records.get(first);
    if (record !== undefined) return ordinal < first + record.count ? record : null;
  }
  return null;
}
