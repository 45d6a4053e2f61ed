import { packSlice, SLICE, type StoredRecipient } from './slice-blob.js';

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
  #command: (string | Buffer)[] = [];
  #bytes = 0;
  readonly #pending: Promise<void>[] = [];
  readonly #write: (slices: readonly (string | Buffer)[]) => Promise<void>;

  /** `write` receives slice numbers and blobs in turn. */
  constructor(write: (slices: readonly (string | Buffer)[]) => Promise<void>) {
    this.#write = write;
  }

  /** Adds a recipient. Returns true if {@link flushed} should be awaited before the next one. */
  add(recipient: StoredRecipient): boolean {
    this.count += 1;
    this.#slice.push(recipient);
    if (this.#slice.length === SLICE) this.#pack();
    return this.#bytes >= COMMAND_BYTES;
  }

  /** Writes the packed slices. Rejects with the error of an earlier write. */
  async flushed(): Promise<void> {
    this.#send();
    while (this.#pending.length > MAX_PENDING) await this.#pending.shift();
  }

  /** Writes everything that is left; resolves when it is written. */
  async end(): Promise<void> {
    if (this.#slice.length > 0) this.#pack();
    this.#send();
    while (this.#pending.length > 0) await this.#pending.shift();
  }

  #pack(): void {
    const blob = packSlice(this.#slice);
    this.#command.push(String(this.#slices), blob);
    this.#bytes += blob.length;
    this.#slices += 1;
    this.#slice = [];
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
