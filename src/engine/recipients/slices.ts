import { LRUCache } from 'lru-cache';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { slicesKey } from './campaign-keys.js';
import { DamagedError } from './damaged.js';
import { readBatchMessage } from './outbox-messages.js';
import type { Located } from './request-index.js';
import { packSlice, SLICE, type StoredRecipient, unpackNumbers, unpackSlice } from './slice-blob.js';
import { readSlices } from './stored-slices.js';
import { type Parts, ZonedSlices } from './zoned-slices.js';

export { SLICE, type StoredRecipient } from './slice-blob.js';

/** Returns the value of a key, from the cache or by `read`. */
type ReadCache<Value> = (key: string, read: () => Promise<Value>) => Promise<Value>;

/**
 * Makes a cache of the `max` values used most recently, for values that change only when a number is forgotten. Calls for a key that is
 * being read share that read. A failed read is not kept. After `keptMs`, no process has a number that was forgotten.
 */
export function createReadCache<Value>(max: number, keptMs = 60_000): ReadCache<Value> {
  // Made on first use: the cache allocates room for all its values, and most lanes of a large fleet are idle.
  let cache: LRUCache<string, Promise<Value>> | undefined;
  return (key, read) => {
    const known = cache?.get(key);
    if (known !== undefined) return known;
    cache ??= new LRUCache({ max, ttl: keptMs, ttlAutopurge: true });
    const reading = read();
    cache.set(key, reading);
    reading.catch(() => cache?.delete(key));
    return reading;
  };
}

/** A lane sends a few campaigns in turn, and its polls go through the same lists behind the sends. */
const CACHED_SLICES = 16;

/** Reads the recipients of a lane's campaigns by their ordinals. Sends and polls go through the slices in order. */
export function sliceReader(redis: Redis, keys: Keys, lane: LaneId) {
  const cached = createReadCache<readonly StoredRecipient[]>(CACHED_SLICES);
  const slice = (campaign: string, number: number): Promise<readonly StoredRecipient[]> =>
    cached(`${campaign} ${number}`, () => readSlice(redis, keys, { lane, campaign }, number, unpackSlice));

  return {
    /** Reads `count` recipients from the ordinal `from` on. Throws a {@link DamagedError} if any of them is missing. */
    async recipients(campaign: string, from: number, count: number): Promise<readonly StoredRecipient[]> {
      const first = Math.floor(from / SLICE);
      const last = Math.floor((from + count - 1) / SLICE);
      const within = from - first * SLICE;
      if (first === last) {
        return exactly(count, (await slice(campaign, first)).slice(within, within + count));
      }
      const numbers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
      const slices = await Promise.all(numbers.map((number) => slice(campaign, number)));
      return exactly(count, slices.flat().slice(within, within + count));
    },
  };
}

/** Notifications arrive in any order, so more slices are cached. Numbers take 2 kB a slice: 9 MB for a million recipients. */
const CACHED_NUMBER_SLICES = 4_096;

/**
 * Reads the phone numbers of batches, on any lane: the digits of its recipients, which must lie
 * in one slice. Throws a {@link DamagedError} if any of them is missing.
 */
export function ordinalNumbers(redis: Redis, keys: Keys) {
  const cached = createReadCache<readonly number[]>(CACHED_NUMBER_SLICES);
  return async (lane: LaneId, batch: Located): Promise<readonly number[]> => {
    const { campaign, first: from, count } = batch;
    if (batch.message !== undefined) {
      const message = await readBatchMessage(redis, keys, lane, batch);
      if (message === null) throw new DamagedError(`${campaign} has no message ${batch.message} any more`);
      return [Number(message.to)];
    }
    const slice = Math.floor(from / SLICE);
    const within = from - slice * SLICE;
    const read = () => readSlice(redis, keys, { lane, campaign }, slice, unpackNumbers);
    const key = `${lane} ${campaign} ${slice}`;
    return exactly(count, (await cached(key, read)).slice(within, within + count));
  };
}

/** See {@link ordinalNumbers}. */
export type OrdinalNumbers = ReturnType<typeof ordinalNumbers>;

function exactly<Recipient>(count: number, found: readonly Recipient[]): readonly Recipient[] {
  if (found.length !== count)
    throw new DamagedError(`expected ${count} recipients, but only ${found.length} are stored`);
  return found;
}

async function readSlice<Slice>(
  redis: Redis,
  keys: Keys,
  { lane, campaign }: { readonly lane: LaneId; readonly campaign: string },
  number: number,
  unpack: (slice: Buffer) => Slice,
): Promise<Slice> {
  const key = slicesKey(keys, lane, campaign, 'slices');
  const [slice = null] = await readSlices(redis, keys, { lane, campaign, series: 'slices' }, [number]);
  if (slice === null) throw new DamagedError(`there is no slice ${number} in ${key}`);
  try {
    return unpack(slice);
  } catch (error) {
    throw new DamagedError(`slice ${number} in ${key} cannot be read`, { cause: error });
  }
}

/** Bytes of slices per command. */
const COMMAND_BYTES = 64 * 1024;
/** Commands that may be pending: Redis runs one while the next is packed, and no more is kept in memory. */
const MAX_PENDING = 2;

/** Packs recipients into slices and writes them, with a bounded number of writes pending. */
export class SliceWriter {
  /** Recipients added so far. */
  count = 0;
  #slice: StoredRecipient[] = [];
  #slices = 0;
  #zoned: ZonedSlices | undefined;
  #command: (string | Buffer)[] = [];
  #bytes = 0;
  readonly #pending: Promise<void>[] = [];
  readonly #write: (slices: readonly (string | Buffer)[]) => Promise<void>;

  /** `write` receives slice numbers and blobs in turn. */
  constructor(write: (slices: readonly (string | Buffer)[]) => Promise<void>) {
    this.#write = write;
  }

  /** About how much memory its recipients take until their slices are full. */
  get bytes(): number {
    return this.#zoned?.bytes ?? 0;
  }

  /** Adds a recipient; all or none have a part. Returns true if {@link flushed} should be awaited before the next one. */
  add(recipient: StoredRecipient, part?: string): boolean {
    this.count += 1;
    if (part === undefined) {
      this.#slice.push(recipient);
      if (this.#slice.length === SLICE) this.#pack();
    } else {
      this.#zoned ??= new ZonedSlices();
      const filled = this.#zoned.add(part, recipient);
      if (filled !== undefined) this.#store(filled.name, filled.rows);
    }
    return this.#bytes >= COMMAND_BYTES;
  }

  /** Writes the packed slices. Rejects with the error of an earlier write. */
  async flushed(): Promise<void> {
    this.#send();
    while (this.#pending.length > MAX_PENDING) await this.#pending.shift();
  }

  /**
   * Ends the list: waits for the writes, and returns the slices that are left, which the caller stores. Rejects with the error of an
   * earlier write.
   */
  async rest(): Promise<readonly (string | Buffer)[]> {
    if (this.#slice.length > 0) this.#pack();
    while (this.#pending.length > 0) await this.#pending.shift();
    return this.#command;
  }

  /**
   * Ends a list with parts, before its {@link rest}: waits until its full slices are stored, lets `arrange` give them their numbers, in the
   * order of their names, and returns its parts. Null if it has none.
   */
  async arranged(arrange: (names: readonly string[]) => Promise<void>): Promise<Parts | null> {
    if (this.#zoned === undefined) return null;
    const { parts, names, rest } = this.#zoned.end();
    this.#send();
    while (this.#pending.length > 0) await this.#pending.shift();
    await arrange(names);
    this.#slices = names.length;
    for (let from = 0; from < rest.length; from += SLICE) {
      this.#slice = rest.slice(from, from + SLICE);
      this.#pack();
      if (this.#bytes >= COMMAND_BYTES) await this.flushed();
    }
    return parts;
  }

  #pack(): void {
    this.#store(String(this.#slices), this.#slice);
    this.#slices += 1;
    this.#slice = [];
  }

  #store(name: string, recipients: readonly StoredRecipient[]): void {
    const blob = packSlice(recipients);
    this.#command.push(name, blob);
    this.#bytes += blob.length;
  }

  #send(): void {
    if (this.#command.length === 0) return;
    const writing = this.#write(this.#command);
    // It is awaited later; until then a failure must not count as an unhandled rejection.
    writing.catch(() => {});
    this.#pending.push(writing);
    this.#command = [];
    this.#bytes = 0;
  }
}
