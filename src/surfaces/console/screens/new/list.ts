import { type Encoding, EncodingError, inUtf8 } from '../../../../campaign/list-encoding.js';
import { type CsvRecord, CsvSplitter, wholeRecords } from './records.js';

/*
 * The list that a person has chosen. It may have a million rows, so it is read as a stream, part by part, and never as a whole.
 */

/** The beginning of a list, in which columns and first errors are found at once. */
const HEAD_BYTES = 256 * 1024;
/** The parts of a list that is written anew in UTF-8. The browser keeps them outside the tab. */
const PART_BYTES = 4 * 1024 * 1024;

export interface ChosenList {
  readonly file: File;
  /** Null: UTF-8. */
  readonly encoding: Encoding | null;
  /** The complete records of its first 256 kB. */
  readonly head: string;
  /** Whether that is all of it. */
  readonly isWhole: boolean;
}

/** Reads the beginning of a list. Throws a {@link EncodingError} if it is damaged. */
export async function choose(file: File): Promise<ChosenList> {
  if (file.size === 0) throw new EncodingError('The file is empty. Add at least one row.');
  const isWhole = file.size <= HEAD_BYTES;
  let encoding: Encoding | null = null;
  const decoder = new TextDecoder();
  let text = '';
  const bytes = chunksOf(file.slice(0, HEAD_BYTES));
  for await (const chunk of inUtf8(bytes, (found) => (encoding = found)))
    text += decoder.decode(chunk, { stream: true });
  return { file, encoding, head: isWhole ? text : wholeRecords(text), isWhole };
}

/** The whole list in UTF-8: the file itself, or what it says, written anew. */
export async function inWhole({ file }: ChosenList, signal: AbortSignal): Promise<Blob> {
  let isOther = false;
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const flush = (): void => {
    parts.push(new Blob(chunks));
    chunks = [];
    bytes = 0;
  };
  let passed = 0;
  for await (const chunk of inUtf8(chunksOf(file), () => (isOther = true))) {
    signal.throwIfAborted();
    passed += chunk.length;
    if (!isOther) continue;
    // Everything before the first character that is not ASCII is the same in both encodings.
    if (parts.length === 0 && chunks.length === 0) parts.push(file.slice(0, passed - chunk.length));
    chunks.push(chunk as Uint8Array<ArrayBuffer>);
    bytes += chunk.length;
    if (bytes >= PART_BYTES) flush();
  }
  if (!isOther) return file;
  flush();
  return new Blob(parts, { type: 'text/csv' });
}

/** The records of a list that begin in these lines. It is read only as far as the last of them. */
export async function recordsAt(
  { file }: ChosenList,
  lines: readonly number[],
  delimiter: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, CsvRecord>> {
  const wanted = new Set(lines);
  const found = new Map<number, CsvRecord>();
  const splitter = new CsvSplitter(delimiter);
  const decoder = new TextDecoder();
  const take = (records: readonly CsvRecord[]): void => {
    for (const record of records) if (wanted.has(record.line)) found.set(record.line, record);
  };
  for await (const chunk of inUtf8(chunksOf(file), () => {})) {
    signal.throwIfAborted();
    take(splitter.push(decoder.decode(chunk, { stream: true })));
    if (found.size === wanted.size) return found;
  }
  take(splitter.push(decoder.decode(), true));
  return found;
}

async function* chunksOf(file: Blob): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
