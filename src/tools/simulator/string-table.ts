import { Column } from './columns.js';
import { RowIndex } from './row-index.js';

const CHUNK_BYTES = 4 * 1024 * 1024;

/** Stores each distinct string once, as UTF-8 outside the heap, under a small whole number. */
export class StringTable {
  readonly #chunks: Buffer[] = [Buffer.allocUnsafeSlow(CHUNK_BYTES)];
  readonly #starts = new Column(Float64Array);
  readonly #lengths = new Column(Uint32Array);
  readonly #index = new RowIndex();
  #tail = 0;

  get size(): number {
    return this.#starts.length;
  }

  /** The number of this string if it is stored. */
  find(text: string): number | undefined {
    const bytes = Buffer.from(text);
    return this.#index.find(hashOf(bytes, 0, bytes.length), (row) => this.#bytes(row).equals(bytes));
  }

  /** Stores the string if it is new and returns its number. At most 1 Mi characters. */
  intern(text: string): number {
    const chunk = this.#roomFor(text);
    const start = this.#tail;
    // Write at the tail first. If the string is already stored, the next one overwrites it.
    const end = start + chunk.write(text, start);
    const hash = hashOf(chunk, start, end);
    const known = this.#index.find(hash, (row) => this.#bytes(row).equals(chunk.subarray(start, end)));
    if (known !== undefined) return known;
    const row = this.size;
    this.#starts.push((this.#chunks.length - 1) * CHUNK_BYTES + start);
    this.#lengths.push(end - start);
    this.#index.add(hash, row);
    this.#tail = end;
    return row;
  }

  /** The string with this number; empty for an unknown number. */
  at(row: number): string {
    return row < this.size ? this.#bytes(row).toString() : '';
  }

  #bytes(row: number): Buffer {
    const position = this.#starts.at(row);
    const start = position % CHUNK_BYTES;
    const chunk = this.#chunks[(position - start) / CHUNK_BYTES];
    if (chunk === undefined) throw new RangeError(`no string ${row}`);
    return chunk.subarray(start, start + this.#lengths.at(row));
  }

  #roomFor(text: string): Buffer {
    const maxBytes = text.length * 3;
    if (maxBytes > CHUNK_BYTES)
      throw new RangeError(`a string of ${text.length} characters is too long to store`);
    const last = this.#chunks.at(-1);
    if (last !== undefined && this.#tail + maxBytes <= CHUNK_BYTES) return last;
    const fresh = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    this.#chunks.push(fresh);
    this.#tail = 0;
    return fresh;
  }
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
