type Cells = Float64Array | Uint32Array | Uint16Array | Uint8Array;

const CHUNK_BITS = 16;
const CHUNK_MASK = (1 << CHUNK_BITS) - 1;

/**
 * A growing column of numbers outside the JavaScript heap. It grows by chunks of 65,536 cells without copying, so that
 * millions of rows cause no pauses.
 */
export class Column {
  readonly #allocate: (cells: number) => Cells;
  readonly #chunks: Cells[] = [];
  #length = 0;

  constructor(
    cells: Float64ArrayConstructor | Uint32ArrayConstructor | Uint16ArrayConstructor | Uint8ArrayConstructor,
  ) {
    this.#allocate = (length) => new cells(length);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    let chunk = this.#chunks[this.#length >>> CHUNK_BITS];
    if (chunk === undefined) {
      chunk = this.#allocate(1 << CHUNK_BITS);
      this.#chunks.push(chunk);
    }
    chunk[this.#length & CHUNK_MASK] = value;
    this.#length += 1;
  }

  /** The value in a row; 0 for a row that does not exist. */
  at(row: number): number {
    return this.#chunks[row >>> CHUNK_BITS]?.[row & CHUNK_MASK] ?? 0;
  }

  set(row: number, value: number): void {
    const chunk = this.#chunks[row >>> CHUNK_BITS];
    if (chunk === undefined || row >= this.#length)
      throw new RangeError(`no row ${row} in a column of ${this.#length}`);
    chunk[row & CHUNK_MASK] = value;
  }
}
