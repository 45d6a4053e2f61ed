import { packSlice, SLICE, type StoredRecipient } from './slice-blob.js';

/** Bytes of blobs that go in one command. */
const COMMAND_BYTES = 64 * 1024;
/** Commands that may be under way: Redis writes one while the next is packed, and no more lies in memory. */
const UNDER_WAY = 2;

/** Packs recipients as they come and writes the slices, a bounded number ahead. */
export class SliceWriter {
  /** Recipients added. */
  count = 0;
  #slice: StoredRecipient[] = [];
  #slices = 0;
  #command: (string | Buffer)[] = [];
  #bytes = 0;
  readonly #underWay: Promise<void>[] = [];
  readonly #write: (slices: readonly (string | Buffer)[]) => Promise<void>;

  /** `write` is given slice numbers and blobs in turn. */
  constructor(write: (slices: readonly (string | Buffer)[]) => Promise<void>) {
    this.#write = write;
  }

  /** True if {@link flushed} should be awaited before more is added. */
  add(recipient: StoredRecipient): boolean {
    this.count += 1;
    this.#slice.push(recipient);
    if (this.#slice.length === SLICE) this.#pack();
    return this.#bytes >= COMMAND_BYTES;
  }

  /** Sends what is packed on its way. Rejects with the error of an earlier write. */
  async flushed(): Promise<void> {
    this.#send();
    while (this.#underWay.length > UNDER_WAY) await this.#underWay.shift();
  }

  /** Resolves when everything is written. */
  async end(): Promise<void> {
    if (this.#slice.length > 0) this.#pack();
    this.#send();
    while (this.#underWay.length > 0) await this.#underWay.shift();
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
    // It is awaited later; until then its failure must not count as one that nobody sees.
    writing.catch(() => {});
    this.#underWay.push(writing);
    this.#command = [];
    this.#bytes = 0;
  }
}
