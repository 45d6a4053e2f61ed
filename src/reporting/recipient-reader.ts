import { z } from 'zod';
import { RECIPIENT_STATE, RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';
import { parseState, readState } from '../lane/campaigns.js';
import {
  RECORDS_PER_HASH,
  recordsKey,
  type Series,
  slicesKey,
  statusesKey,
} from '../recipients/campaign-keys.js';
import { type DuplicateRow, readDuplicate } from '../recipients/duplicates.js';
import { parseRecord, type RequestRecord } from '../recipients/records.js';
import { SLICE, unpackNumbers, unpackSlice } from '../recipients/slices.js';
import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

/** A recipient with its state and its last request. */
export interface OrdinalRecord {
  readonly ordinal: number;
  /** E.164 with its plus. */
  readonly number: string;
  readonly state: RecipientState;
  /** The request that contained the recipient; null if there was none, or if it is in flight. */
  readonly request: RequestRecord | null;
  /** The number of its claim while that is in flight or has an unknown outcome; otherwise null. */
  readonly claim: number | null;
  /** When that claim was taken, in ms; otherwise null. */
  readonly claimedAt: number | null;
}

/** The wanted recipients of a range of ordinals, and the ordinal after the range. */
interface Chunk {
  readonly records: readonly OrdinalRecord[];
  readonly next: number;
}

/** The states by their letter in `statuses`. A zero byte says nothing: the state follows from claims and cursor. */
const STATE_OF: ReadonlyMap<string | null, RecipientState> = new Map(
  RECIPIENT_STATES.map((state) => [RECIPIENT_STATE[state].letter, state]),
);

/** Slices in a chunk. Small, so that one read does not block Redis; a million recipients take 500 reads. */
const SLICES_PER_CHUNK = 8;
const CHUNK = SLICES_PER_CHUNK * SLICE;
/** Slices that a search by number reads at once. */
const SLICES_PER_SEARCH = 64;

const storedClaim = z.object({ campaign: z.string(), first: z.number(), count: z.number(), at: z.number() });

/** A claim that is in flight or has an unknown outcome. */
interface Claim {
  readonly number: number;
  readonly first: number;
  readonly count: number;
  readonly claimedAt: number;
}

const recipientRange = loadScript(import.meta.url, './recipient-range.lua', (reply) =>
  z.tuple([z.string(), z.string().array(), z.string().array(), z.string()]).nullable().parse(reply),
);

/** Reads the recipients of one campaign. */
export function recipientReader(redis: Redis, keys: Keys, lane: LaneId, campaign: string) {
  const rangeKeys = [
    keys.lane(lane, 'states'),
    keys.lane(lane, 'claims'),
    keys.lane(lane, 'unknown'),
    statusesKey(keys, lane, campaign),
  ];

  const chunk = async (
    first: number,
    isWanted: (state: RecipientState) => boolean,
    count = CHUNK,
  ): Promise<Chunk | null> => {
    const range = await recipientRange.run(redis, rangeKeys, [campaign, first, count]);
    if (range === null) return null;
    const [stateJson, allClaims, allUnknown, letters] = range;
    const campaignState = parseState(stateJson);
    if (first >= campaignState.ordinals) return null;
    const claims = claimsOf(campaign, allClaims);
    const unknown = claimsOf(campaign, allUnknown);
    const next = Math.min(first + count, campaignState.ordinals);
    const wanted: { ordinal: number; state: RecipientState; claim: Claim | undefined }[] = [];
    for (let ordinal = first; ordinal < next; ordinal++) {
      const settled = STATE_OF.get(letters[ordinal - first] ?? '');
      const inFlight = settled === undefined ? claimWith(ordinal, claims) : undefined;
      const state = settled ?? (inFlight === undefined ? campaignState.remainder : 'sending');
      if (!isWanted(state)) continue;
      wanted.push({ ordinal, state, claim: state === 'unknown' ? claimWith(ordinal, unknown) : inFlight });
    }
    const [numbers, requests] = await Promise.all([
      readNumbers(wanted.map(({ ordinal }) => ordinal)),
      readRequests(
        wanted.filter(({ state }) => state !== campaignState.remainder).map(({ ordinal }) => ordinal),
      ),
    ]);
    return {
      next,
      records: wanted.map(({ ordinal, state, claim }, index) => ({
        ordinal,
        number: numbers[index] ?? '',
        state,
        request:
          state === campaignState.remainder || state === 'sending' ? null : requestWith(ordinal, requests),
        claim: claim?.number ?? null,
        claimedAt: claim?.claimedAt ?? null,
      })),
    };
  };

  const readSlices = async (series: Series, indices: readonly number[]): Promise<number[][]> => {
    if (indices.length === 0) return [];
    const blobs = await redis.hmgetBuffer(slicesKey(keys, lane, campaign, series), ...indices.map(String));
    return blobs.map((blob) => (blob === null ? [] : unpackNumbers(blob)));
  };

  const readNumbers = async (ordinals: readonly number[]): Promise<string[]> => {
    const indices = [...new Set(ordinals.map((ordinal) => Math.floor(ordinal / SLICE)))];
    const slices = await readSlices('slices', indices);
    const byIndex = new Map(indices.map((index, at) => [index, slices[at] ?? []]));
    return ordinals.map((ordinal) => `+${byIndex.get(Math.floor(ordinal / SLICE))?.[ordinal % SLICE] ?? ''}`);
  };

  /** A request never spans two slices, so its record is in the hashes of its slice, at its first ordinal. */
  const readRequests = async (ordinals: readonly number[]): Promise<Map<number, RequestRecord>> => {
    const slices = new Set(ordinals.map((ordinal) => Math.floor(ordinal / SLICE)));
    const names = [...slices].flatMap((slice) =>
      Array.from({ length: SLICE / RECORDS_PER_HASH }, (_, at) =>
        recordsKey(keys, lane, campaign, slice * SLICE + at * RECORDS_PER_HASH),
      ),
    );
    const hashes = await Promise.all(names.map((name) => redis.hgetall(name)));
    return new Map(
      hashes.flatMap((hash) =>
        Object.entries(hash).map(([first, text]) => [Number(first), parseRecord(text)] as const),
      ),
    );
  };

  /** The positions of a number in a series, in order. */
  const positionsOf = async (series: Series, number: string): Promise<number[]> => {
    const found: number[] = [];
    const wanted = Number(number);
    const total = await redis.hlen(slicesKey(keys, lane, campaign, series));
    for (let first = 0; first < total; first += SLICES_PER_SEARCH) {
      const length = Math.min(SLICES_PER_SEARCH, total - first);
      const slices = await readSlices(
        series,
        Array.from({ length }, (_, at) => first + at),
      );
      for (const [at, numbers] of slices.entries()) {
        for (let place = numbers.indexOf(wanted); place !== -1; place = numbers.indexOf(wanted, place + 1))
          found.push((first + at) * SLICE + place);
      }
    }
    return found;
  };

  return {
    /** The recipients from ordinal `first` whose state is wanted; null if there are no more recipients. */
    chunk,
    /** The recipient with an ordinal; null if there is none. */
    async record(ordinal: number): Promise<OrdinalRecord | null> {
      return (await chunk(ordinal, () => true, 1))?.records[0] ?? null;
    },
    /** The ordinals of a number: several if the campaign has a text of its own for each of them. */
    ordinalsOf: (number: string): Promise<number[]> => positionsOf('slices', number),
    /** How many recipients with this number were suppressed when the list was imported. */
    timesSuppressed: async (number: string): Promise<number> =>
      (await positionsOf('suppressed', number)).length,
    /** The rows that were left out because their number is that of an earlier row: all of them, or those with a number. */
    async *duplicates(number?: string): AsyncGenerator<DuplicateRow> {
      const key = slicesKey(keys, lane, campaign, 'duplicates');
      const total = await redis.hlen(key);
      for (let index = 0; index < total; index++) {
        const blob = await redis.hgetBuffer(key, String(index));
        if (blob === null) return;
        if (number !== undefined && !unpackNumbers(blob).includes(Number(number))) continue;
        for (const row of unpackSlice(blob).map(readDuplicate))
          if (number === undefined || row.number === number) yield row;
      }
    },
    /** The numbers that were suppressed when the list was imported. */
    async *suppressed(): AsyncGenerator<string> {
      if ((await readState(redis, keys, lane, campaign)) === null) return;
      const total = await redis.hlen(slicesKey(keys, lane, campaign, 'suppressed'));
      for (let index = 0; index < total; index++) {
        const [numbers = []] = await readSlices('suppressed', [index]);
        for (const number of numbers) yield `+${number}`;
      }
    },
  };
}

/** The claims of a campaign in the reply to HGETALL, which alternates names and values. */
function claimsOf(campaign: string, reply: readonly string[]): Claim[] {
  return reply.flatMap((json, index) => {
    if (index % 2 === 0) return [];
    const { campaign: of, first, count, at } = storedClaim.parse(JSON.parse(json));
    return of === campaign ? [{ number: Number(reply[index - 1]), first, count, claimedAt: at }] : [];
  });
}

function claimWith(ordinal: number, claims: readonly Claim[]): Claim | undefined {
  return claims.find(({ first, count }) => ordinal >= first && ordinal < first + count);
}

/** The request whose range includes the ordinal; `requests` has each request at its first ordinal. */
function requestWith(ordinal: number, requests: ReadonlyMap<number, RequestRecord>): RequestRecord | null {
  const sliceStart = ordinal - (ordinal % SLICE);
  for (let first = ordinal; first >= sliceStart; first--) {
    const request = requests.get(first);
    if (request !== undefined) return ordinal < first + request.count ? request : null;
  }
  return null;
}
