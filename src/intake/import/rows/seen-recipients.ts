/** Slots of a new table. Most lists of a platform have one recipient. */
const INITIAL_SLOTS = 16;

/** Load factor at which the table doubles, so that searches stay short. */
const MAX_LOAD = 0.75;

const ENTRIES_PER_CHUNK = 1 << 14;
/** Entries of the first chunk, which grows until it has the size of the others. V8 keeps an array of at most 64 bytes within its heap. */
const INITIAL_ENTRIES = 4;

/** Recipients in the order in which they were added. Full chunks are never copied. */
interface Chunk {
  readonly numbers: Float64Array;
  readonly lines: Uint32Array;
  readonly digests: Float64Array;
}

function emptyChunk(entries: number, hasDigests: boolean): Chunk {
  return {
    numbers: new Float64Array(entries),
    lines: new Uint32Array(entries),
    digests: new Float64Array(hasDigests ? entries : 0),
  };
}

/** An earlier row with the number of this one. */
export interface EarlierRow {
  /** The line of that row. */
  readonly line: number;
  /** Whether that row has the same text. */
  readonly isSameText: boolean;
}

/**
 * Finds the rows of a list that repeat the number of an earlier row, and says whether they repeat its text. It takes 17 to 23
 * bytes per recipient, or 25 to 31 if each has a text of its own: a double holds every E.164 number exactly, and 53 bits of a
 * hash stand for the text. It is an open-addressing table of indices; the recipients themselves are in chunks.
 */
export class SeenRecipients {
  /** Indices of recipients, from 1; 0 is an empty slot. */
  #slots = new Uint32Array(INITIAL_SLOTS);
  readonly #chunks: Chunk[] = [];
  #size = 0;
  readonly #hasDigests: boolean;

  /** `hasDigests`: the recipients have texts of their own; otherwise all digests are ignored. */
  constructor({ hasDigests }: { readonly hasDigests: boolean }) {
    this.#hasDigests = hasDigests;
  }

  /** How many recipients were added. */
  get size(): number {
    return this.#size;
  }

  /** Their numbers, in the order in which they were added. A number that was added with several texts appears as often. */
  *[Symbol.iterator](): Generator<string> {
    for (let index = 1; index <= this.#size; index += 1) yield `+${Math.abs(this.#keyOf(index))}`;
  }

  /** The memory that the table takes. */
  get bytes(): number {
    const perEntry = this.#hasDigests ? 20 : 12;
    const first = this.#chunks[0]?.lines.length ?? 0;
    const further = Math.max(0, this.#chunks.length - 1) * ENTRIES_PER_CHUNK;
    return this.#slots.byteLength + (first + further) * perEntry;
  }

  /**
   * Adds a row with its number (`+` and at most 15 digits), its line, and the digest of its text. Returns null if the number is
   * new, otherwise the earlier row: the one with the same text if there is one, else the first with that number. If
   * `keepsTexts`, a row with a new text is added as well. Throws a RangeError for a number that is not normalised.
   */
  add(number: string | number, line: number, digest: number, { keepsTexts = false } = {}): EarlierRow | null {
    const key = Number(number);
    if (!Number.isSafeInteger(key) || key <= 0) throw new RangeError(`Not an E.164 number: ${number}`);
    const slot = this.#slotOf(key, digest);
    const first = this.#slots[slot] ?? 0;
    if (first === 0) {
      this.#put(slot, key, line, digest);
      return null;
    }
    const earlier = { line: this.#lineOf(first), isSameText: this.#digestOf(first) === this.#digest(digest) };
    if (earlier.isSameText || !keepsTexts) return earlier;
    // The further texts of a number have its negative as their key, and the digest is part of their hash: a number with a
    // million texts takes no longer to find.
    const ownSlot = this.#slotOf(-key, digest);
    const place = this.#slots[ownSlot] ?? 0;
    if (place !== 0) return { line: this.#lineOf(place), isSameText: true };
    this.#put(ownSlot, -key, line, digest);
    return earlier;
  }

  /** The line of the first row with a number; null if there is none. Only for rows without digests. */
  lineOf(number: string): number | null {
    const index = this.#slots[this.#slotOf(Number(number), 0)] ?? 0;
    return index === 0 ? null : this.#lineOf(index);
  }

  /** Whether a row with this number was added. */
  has(number: string): boolean {
    return this.#slots[this.#slotOf(Number(number), 0)] !== 0;
  }

  #put(slot: number, key: number, line: number, digest: number): void {
    const place = this.#size % ENTRIES_PER_CHUNK;
    if (place === 0) {
      const entries = this.#size === 0 ? INITIAL_ENTRIES : ENTRIES_PER_CHUNK;
      this.#chunks.push(emptyChunk(entries, this.#hasDigests));
    } else if (place === this.#chunks.at(-1)?.lines.length) {
      this.#growFirstChunk();
    }
    const chunk = this.#chunks.at(-1);
    if (chunk === undefined) throw new Error('there is no chunk');
    chunk.numbers[place] = key;
    chunk.lines[place] = line;
    if (this.#hasDigests) chunk.digests[place] = digest;
    this.#size += 1;
    this.#slots[slot] = this.#size;
    if (this.#size > this.#slots.length * MAX_LOAD) this.#grow();
  }

  #growFirstChunk(): void {
    const [first] = this.#chunks;
    if (first === undefined) throw new Error('there is no chunk');
    const grown = emptyChunk(first.lines.length * 4, this.#hasDigests);
    grown.numbers.set(first.numbers);
    grown.lines.set(first.lines);
    grown.digests.set(first.digests);
    this.#chunks[0] = grown;
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let index = 1; index <= this.#size; index++)
      this.#slots[this.#slotOf(this.#keyOf(index), this.#digestOf(index))] = index;
  }

  /** The slot of the recipient with this key, or the empty one where it belongs. The table's length is a power of two. */
  #slotOf(key: number, digest: number): number {
    const mask = this.#slots.length - 1;
    let slot = (key > 0 ? hash(key) : hash(key) ^ hash(digest)) & mask;
    for (;;) {
      const index = this.#slots[slot] ?? 0;
      if (index === 0) return slot;
      if (this.#keyOf(index) === key && (key > 0 || this.#digestOf(index) === digest)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #keyOf(index: number): number {
    return this.#chunkOf(index)?.numbers[(index - 1) % ENTRIES_PER_CHUNK] ?? 0;
  }

  #lineOf(index: number): number {
    return this.#chunkOf(index)?.lines[(index - 1) % ENTRIES_PER_CHUNK] ?? 0;
  }

  #digestOf(index: number): number {
    return this.#chunkOf(index)?.digests[(index - 1) % ENTRIES_PER_CHUNK] ?? 0;
  }

  #digest(digest: number): number {
    return this.#hasDigests ? digest : 0;
  }

  #chunkOf(index: number): Chunk | undefined {
    return this.#chunks[Math.floor((index - 1) / ENTRIES_PER_CHUNK)];
  }
}

/** Mixes all bits of the integer, because numbers of one list differ in few digits, often by one. */
function hash(key: number): number {
  const integer = Math.abs(key);
  const low = integer >>> 0;
  const high = Math.floor(integer / 0x1_0000_0000);
  let mixed = Math.imul(low ^ Math.imul(high, 0x9e37_79b1), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
