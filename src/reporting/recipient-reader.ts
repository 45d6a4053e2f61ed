import { z } from 'zod';
import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { loadScript } from '../base/redis/script.js';
import {
  RECIPIENT_STATE,
  RECIPIENT_STATES,
  type RecipientState,
  type StatusWord,
} from '../campaign/states/recipient.js';
import {
  RECORDS_PER_HASH,
  recordsKey,
  type Series,
  statusesKey,
} from '../engine/recipients/campaign-keys.js';
import { type LeftOutRow, readLeftOut } from '../engine/recipients/left-out.js';
import {
  parseRecords,
  type RequestRecord,
  type StoredRecords,
} from '../engine/recipients/request-records.js';
import { SLICE, unpackNumbers, unpackReferences, unpackSlice } from '../engine/recipients/slice-blob.js';
import { countSlices, readSlices } from '../engine/recipients/stored-slices.js';
import { laneKeys } from '../engine/scripts/lane-script.js';
import { parseState } from '../engine/store/campaigns.js';

/** A recipient with its state and its last request. */
export interface OrdinalRecord {
  readonly ordinal: number;
  /** E.164 with its plus; empty once it is forgotten. */
  readonly number: string;
  /** Empty if it has none. */
  readonly reference: string;
  readonly state: RecipientState;
  /** The request that contained the recipient; null if there was none, as for a suppressed one, or if it is in flight. */
  readonly request: RequestRecord | null;
  /** The service's own word for its status, if it says more than the state; otherwise null. */
  readonly word: StatusWord | null;
  /** The number of its claim while that is in flight or has an unknown outcome; otherwise null. */
  readonly claim: number | null;
  /** When that claim was taken, in ms; otherwise null. */
  readonly claimedAt: number | null;
  /** When it was suppressed, lapsed, or was cancelled without a request, in ms; otherwise null. */
  readonly givenUpAt: number | null;
  /** The values that the text uses, in its order; none unless they are read. */
  readonly values: readonly string[];
}

/** What is read of a recipient. */
export type Detail = 'withValues' | 'withoutValues';

/** The number and the reference of a recipient. */
export interface NamedRecipient {
  /** E.164 with its plus. */
  readonly number: string;
  /** Empty if it has none. */
  readonly reference: string;
  /** The values that the text uses, in its order; none unless they are read. */
  readonly values: readonly string[];
}

/** The wanted recipients of a range of ordinals, and the ordinal after the range. */
interface Chunk {
  readonly records: readonly OrdinalRecord[];
  readonly next: number;
}

/** The states by their letter in `statuses`. A zero byte says nothing: the state is `sending` if a claim holds the recipient, otherwise the campaign's remainder. */
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

const rangeReply = z.tuple([z.string(), z.string().array(), z.string().array(), z.string()]).nullable();
const recipientRange = loadScript(import.meta.url, './recipient-range.lua', (reply) =>
  rangeReply.parse(reply),
);

/** Reads the recipients of one campaign. */
export function recipientReader(redis: Redis, keys: Keys, lane: LaneId, campaign: string) {
  const rangeKeys = {
    ...laneKeys(keys, lane, ['states', 'claims', 'unknown']),
    statuses: statusesKey(keys, lane, campaign),
  };

  /** The wanted recipients of a range at one moment; null if there are none from `first` on. */
  const readStates = async (
    first: number,
    count: number,
    isWanted: (state: RecipientState, ordinal: number) => boolean,
  ) => {
    const range = await recipientRange.run(redis, rangeKeys, { campaign, first, count });
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
      if (!isWanted(state, ordinal)) continue;
      wanted.push({ ordinal, state, claim: state === 'unknown' ? claimWith(ordinal, unknown) : inFlight });
    }
    return { wanted, next, campaignState };
  };

  const chunk = async (
    first: number,
    isWanted: (state: RecipientState, ordinal: number) => boolean,
    count = CHUNK,
    detail: Detail = 'withoutValues',
  ): Promise<Chunk | null> => {
    const states = await readStates(first, count, isWanted);
    if (states === null) return null;
    const { wanted, next, campaignState } = states;
    const [named, { requests, words }] = await Promise.all([
      readNamed(
        wanted.map(({ ordinal }) => ordinal),
        'slices',
        detail,
      ),
      readRequests(
        wanted.filter(({ state }) => state !== campaignState.remainder).map(({ ordinal }) => ordinal),
      ),
    ]);
    return {
      next,
      records: wanted.map(({ ordinal, state, claim }, index) => {
        const isLeft = state === campaignState.remainder;
        const settled = isLeft || state === 'sending' ? null : requestWith(ordinal, requests);
        // The request of its batch was made without it, or not at all.
        const isSuppressed = state === 'suppressed';
        return {
          ordinal,
          number: named[index]?.number ?? '',
          reference: named[index]?.reference ?? '',
          values: named[index]?.values ?? [],
          state,
          request: isSuppressed ? null : settled,
          word: words.get(ordinal) ?? null,
          claim: claim?.number ?? null,
          claimedAt: claim?.claimedAt ?? null,
          givenUpAt: (isLeft ? campaignState.remainderAt : isSuppressed ? settled?.updatedAt : null) ?? null,
        };
      }),
    };
  };

  const readUnpacked = async <Slice>(
    series: Series,
    indices: readonly number[],
    unpack: (slice: Buffer) => Slice,
  ): Promise<Map<number, Slice>> => {
    if (indices.length === 0) return new Map();
    const slices = await readSlices(redis, keys, { lane, campaign, series }, indices);
    return new Map(
      indices.flatMap((index, at) => {
        const slice = slices[at] ?? null;
        return slice === null ? [] : [[index, unpack(slice)] as const];
      }),
    );
  };

  const readNamed = async (
    positions: readonly number[],
    series: Series,
    detail: Detail,
  ): Promise<NamedRecipient[]> => {
    const slices = await readUnpacked(series, slicesOf(positions), (slice) => ({
      numbers: unpackNumbers(slice),
      references: unpackReferences(slice),
      recipients: detail === 'withValues' ? unpackSlice(slice) : [],
    }));
    return positions.map((position) => {
      const slice = slices.get(Math.floor(position / SLICE));
      const place = position % SLICE;
      return {
        // Of a recipient that was forgotten, there is no number.
        number: slice?.numbers[place] === 0 ? '' : `+${slice?.numbers[place] ?? ''}`,
        reference: slice?.references[place] ?? '',
        values: slice?.recipients[place]?.values ?? [],
      };
    });
  };

  /** A request never spans two slices, so its record is in the hashes of its slice, at its first ordinal. */
  const readRequests = async (ordinals: readonly number[]): Promise<StoredRecords> => {
    const slices = new Set(ordinals.map((ordinal) => Math.floor(ordinal / SLICE)));
    const names = [...slices].flatMap((slice) =>
      Array.from({ length: SLICE / RECORDS_PER_HASH }, (_, at) =>
        recordsKey(keys, lane, campaign, slice * SLICE + at * RECORDS_PER_HASH),
      ),
    );
    const hashes = await Promise.all(names.map((name) => redis.hgetall(name)));
    return parseRecords(Object.assign({}, ...hashes));
  };

  /** The positions of numbers in a series, in order. */
  const positionsOf = async (series: Series, wanted: readonly string[]): Promise<number[]> => {
    const positions: number[] = [];
    const placesIn = (numbers: readonly number[], index: number): void => {
      for (const number of wanted.map(Number))
        for (let place = numbers.indexOf(number); place !== -1; place = numbers.indexOf(number, place + 1))
          positions.push(index * SLICE + place);
    };
    const total = await countSlices(redis, keys, { lane, campaign, series });
    for (let first = 0; first < total; first += SLICES_PER_SEARCH) {
      const length = Math.min(SLICES_PER_SEARCH, total - first);
      const indices = Array.from({ length }, (_, at) => first + at);
      for (const [index, numbers] of await readUnpacked(series, indices, unpackNumbers))
        placesIn(numbers, index);
    }
    return positions.sort((one, other) => one - other);
  };

  const leftOutAt = async (positions: readonly number[]): Promise<Map<number, LeftOutRow>> => {
    const slices = await readUnpacked('leftOut', slicesOf(positions), unpackSlice);
    const rows = new Map<number, LeftOutRow>();
    for (const position of positions) {
      const row = slices.get(Math.floor(position / SLICE))?.[position % SLICE];
      if (row !== undefined) rows.set(position, readLeftOut(row));
    }
    return rows;
  };

  return {
    /** The recipients from ordinal `first` whose state is wanted; null if there are no more recipients. */
    chunk,
    /** The numbers, without their plus, of all recipients whose state is wanted, some of them at a time. */
    async *numbers(isWanted: (state: RecipientState) => boolean): AsyncGenerator<readonly number[]> {
      for (let first = 0; ; ) {
        const states = await readStates(first, SLICES_PER_SEARCH * SLICE, isWanted);
        if (states === null) return;
        const ordinals = states.wanted.map(({ ordinal }) => ordinal);
        const slices = await readUnpacked('slices', slicesOf(ordinals), unpackNumbers);
        yield ordinals.flatMap((ordinal) => slices.get(Math.floor(ordinal / SLICE))?.[ordinal % SLICE] ?? []);
        first = states.next;
      }
    },
    /** The recipient with an ordinal; null if there is none. */
    async record(ordinal: number, detail?: Detail): Promise<OrdinalRecord | null> {
      return (await chunk(ordinal, () => true, 1, detail))?.records[0] ?? null;
    },
    /** The recipients with these ordinals, which ascend. */
    async *records(ordinals: readonly number[]): AsyncGenerator<OrdinalRecord> {
      const wanted = new Set(ordinals);
      for (let at = 0; at < ordinals.length; ) {
        const first = ordinals[at] ?? 0;
        const end = first + CHUNK;
        let last = first;
        for (; (ordinals[at] ?? end) < end; at += 1) last = ordinals[at] ?? last;
        const range = await chunk(first, (_, ordinal) => wanted.has(ordinal), last - first + 1);
        if (range === null) return;
        yield* range.records;
      }
    },
    /** The ordinals of a subscriber's numbers: several if the campaign has a text of its own for each of them. */
    ordinalsOf: (numbers: readonly string[]): Promise<number[]> => positionsOf('slices', numbers),
    /** The recipients with these numbers that were suppressed when the list was imported. */
    suppressedOf: async (numbers: readonly string[]): Promise<NamedRecipient[]> =>
      readNamed(await positionsOf('suppressed', numbers), 'suppressed', 'withoutValues'),
    /** The recipients that were suppressed when the list was imported, at some positions among them. */
    suppressedAt: (
      positions: readonly number[],
      detail: Detail = 'withoutValues',
    ): Promise<NamedRecipient[]> => readNamed(positions, 'suppressed', detail),
    /** The rows that were left out, by their positions among those. */
    leftOutAt,
    /** The rows with these numbers that were left out. */
    leftOutOf: async (numbers: readonly string[]): Promise<LeftOutRow[]> => [
      ...(await leftOutAt(await positionsOf('leftOut', numbers))).values(),
    ],
  };
}

/** See {@link recipientReader}. */
export type RecipientReader = ReturnType<typeof recipientReader>;

const slicesOf = (positions: readonly number[]): number[] => [
  ...new Set(positions.map((position) => Math.floor(position / SLICE))),
];

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
