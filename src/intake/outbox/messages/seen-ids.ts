import { hash } from 'node:crypto';

const INITIAL_SLOTS = 64;
/** Load factor at which the slots double, so that searches stay short. */
const MAX_LOAD = 0.75;
const ENTRIES_PER_CHUNK = 1 << 12;

/** Integers of 32 bits per entry: three of a hash of the id, two of one of the content, and the line. */
const WIDTH = 6;
const [CONTENT, LINE] = [3, 5];

/**
 * Finds the messages of a list that repeat the id of an earlier one with different content. It takes 29 to 35 bytes for each id, however
 * long that is. It is an open-addressing table of indices, as that of an import; 96 bits of a hash stand for an id, so no two ids of a
 * list are ever mistaken for each other.
 */
export class SeenIds {
  /** Indices of entries, from 1; 0 is an empty slot. */
  #slots = new Uint32Array(INITIAL_SLOTS);
  readonly #chunks: Uint32Array[] = [];
  #size = 0;

  /** The memory that the table takes. */
  get bytes(): number {
    return this.#slots.byteLength + this.#chunks.length * ENTRIES_PER_CHUNK * WIDTH * 4;
  }

  /** Adds the message of a line, from 1. Returns the line of the earlier one with its id if their contents differ, otherwise null. */
  add(id: string, content: Buffer, line: number): number | null {
    const ofId = hash('sha1', id, 'buffer');
    const ofContent = hash('sha1', content, 'buffer');
    const entry = [
      ...[0, 4, 8].map((at) => ofId.readUInt32LE(at)),
      ...[0, 4].map((at) => ofContent.readUInt32LE(at)),
      line,
    ];
    const slot = this.#slotOf(entry);
    const earlier = this.#slots[slot] ?? 0;
    if (earlier !== 0) {
      const known = this.#entry(earlier);
      const isSame = known[CONTENT] === entry[CONTENT] && known[CONTENT + 1] === entry[CONTENT + 1];
      return isSame ? null : (known[LINE] ?? 0);
    }
    if (this.#size % ENTRIES_PER_CHUNK === 0) this.#chunks.push(new Uint32Array(ENTRIES_PER_CHUNK * WIDTH));
    this.#size += 1;
    this.#slots[slot] = this.#size;
    this.#entry(this.#size).set(entry);
    if (this.#size > this.#slots.length * MAX_LOAD) this.#grow();
    return null;
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let index = 1; index <= this.#size; index += 1)
      this.#slots[this.#slotOf(this.#entry(index))] = index;
  }

  /** The slot of the entry with this id, or the empty one where it belongs. The number of slots is a power of two. */
  #slotOf(wanted: ArrayLike<number>): number {
    const mask = this.#slots.length - 1;
    for (let slot = (wanted[0] ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const index = this.#slots[slot] ?? 0;
      if (index === 0) return slot;
      const entry = this.#entry(index);
      if ([0, 1, 2].every((at) => entry[at] === wanted[at])) return slot;
    }
  }

  #entry(index: number): Uint32Array {
    const from = ((index - 1) % ENTRIES_PER_CHUNK) * WIDTH;
    const chunk = this.#chunks[Math.floor((index - 1) / ENTRIES_PER_CHUNK)] ?? new Uint32Array(0);
    return chunk.subarray(from, from + WIDTH);
  }
}
