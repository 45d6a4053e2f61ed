import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { RECIPIENT_STATE, type RecipientState } from '../../campaign/states/recipient.js';
import { costsKey, statusesKey } from './campaign-keys.js';
import { SLICE } from './slice-blob.js';

/*
 * What each message of a campaign costs. Most campaigns need to know it only once, because all messages cost the same. Where they do
 * not, a number of two bytes per ordinal says which of the campaign's costs it is.
 */

/** With more different costs, they are not stored: the list of them would grow like the list of recipients. */
const MAX_COSTS = 4_096;
const BYTES_PER_ORDINAL = 2;
/** Ordinals per field of the hash: 32 kB. */
const ORDINALS_PER_CHUNK = 16_384;
/** Chunks that are written, or read, at once. */
const CHUNKS_AT_ONCE = 16;
const FIRST_BYTES = 2_048;

/** Collects what the messages of a list cost, in the order of their ordinals. Memory: nothing while all cost the same, else 2 to 4 bytes each. */
export class CostCollector {
  readonly #numbers = new Map<number, number>();
  /** By their parts, in which the ordinals will be (zoned-slices.ts). */
  readonly #parts = new Map<string, { bytes?: Buffer; count: number }>();

  /** Adds the cost of the next message, in micros. `part`: that of its recipient, if the list has parts. */
  add(micros: number, part = ''): void {
    if (this.#numbers.size > MAX_COSTS) return;
    const number = this.#numbers.get(micros) ?? this.#numbers.size;
    this.#numbers.set(micros, number);
    const own = this.#parts.get(part) ?? { count: 0 };
    this.#parts.set(part, own);
    const at = own.count * BYTES_PER_ORDINAL;
    own.count += 1;
    if (number === 0 && own.bytes === undefined) return;
    // All earlier ones are number 0.
    if (own.bytes === undefined || own.bytes.length < at + BYTES_PER_ORDINAL) {
      const larger = Buffer.alloc(Math.max(FIRST_BYTES, 2 * (at + BYTES_PER_ORDINAL)));
      own.bytes?.copy(larger);
      own.bytes = larger;
    }
    own.bytes.writeUInt16LE(number, at);
  }

  /** The different costs, in micros; null if there are too many. */
  costs(): number[] | null {
    return this.#numbers.size > MAX_COSTS ? null : [...this.#numbers.keys()];
  }

  /** Groups of fields and values for the hash; none if all messages cost the same. */
  *chunks(): Generator<(string | Buffer)[]> {
    if (this.#numbers.size < 2 || this.#numbers.size > MAX_COSTS) return;
    const parts = [...this.#parts.values()].map(({ bytes, count }) => {
      const own = Buffer.alloc(count * BYTES_PER_ORDINAL);
      bytes?.copy(own);
      return {
        own,
        full: (this.#parts.size > 1 ? Math.floor(count / SLICE) * SLICE : count) * BYTES_PER_ORDINAL,
      };
    });
    const stored = Buffer.concat([
      ...parts.map(({ own, full }) => own.subarray(0, full)),
      ...parts.map(({ own, full }) => own.subarray(full)),
    ]);
    const step = ORDINALS_PER_CHUNK * BYTES_PER_ORDINAL;
    let group: (string | Buffer)[] = [];
    for (let from = 0; from < stored.length; from += step) {
      group.push(String(from / step), stored.subarray(from, from + step));
      if (group.length < 2 * CHUNKS_AT_ONCE) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
  }
}

/** The states of recipients whose message the service has accepted, and charges. */
export const ACCEPTED_STATES = [
  'deliveredToNetwork',
  'deliveredToTerminal',
  'deliveryImpossible',
  'unconfirmed',
] as const satisfies readonly RecipientState[];

const ACCEPTED_LETTERS = new Set(ACCEPTED_STATES.map((state) => RECIPIENT_STATE[state].letter.charCodeAt(0)));

/** What the accepted messages of a campaign cost together, in micros, where messages cost different amounts. `costs`: the different costs. */
export async function acceptedCost(
  redis: Redis,
  keys: Keys,
  { lane, id, costs, ordinals }: { lane: LaneId; id: string; costs: readonly number[]; ordinals: number },
): Promise<bigint> {
  const [numbersIn, lettersIn] = [costsKey(keys, lane, id), statusesKey(keys, lane, id)];
  const messages = new Array<number>(costs.length).fill(0);
  const addChunk = async (chunk: number): Promise<void> => {
    const first = chunk * ORDINALS_PER_CHUNK;
    const letters = await redis.getrangeBuffer(lettersIn, first, first + ORDINALS_PER_CHUNK - 1);
    if (!letters.some((letter) => ACCEPTED_LETTERS.has(letter))) return;
    const numbers = await redis.hgetBuffer(numbersIn, String(chunk));
    for (const [at, letter] of letters.entries()) {
      if (!ACCEPTED_LETTERS.has(letter) || numbers === null) continue;
      const number = numbers.readUInt16LE(at * BYTES_PER_ORDINAL);
      messages[number] = (messages[number] ?? 0) + 1;
    }
  };
  const chunks = Math.ceil(ordinals / ORDINALS_PER_CHUNK);
  for (let from = 0; from < chunks; from += CHUNKS_AT_ONCE) {
    const count = Math.min(CHUNKS_AT_ONCE, chunks - from);
    await Promise.all(Array.from({ length: count }, (_, at) => addChunk(from + at)));
  }
  return messages.reduce((sum, count, number) => sum + BigInt(costs[number] ?? 0) * BigInt(count), 0n);
}
