import { CsvReader, type CsvRecord, dialectOf } from '../../../../campaign/lists/csv-records.js';
import {
  FORMAT_BYTES,
  isWorkbook,
  MAX_WORKBOOK_BYTES,
  WORKBOOK_TOO_LONG,
} from '../../../../campaign/lists/file-format.js';
import { type Encoding, EncodingError, inUtf8 } from '../../../../campaign/lists/list-encoding.js';

/*
 * The list that a person has chosen. It may have a million rows, so it is read as a stream, part by part, and never as a whole.
 */

/** The beginning of a list, in which columns and first errors are found at once. */
const HEAD_BYTES = 256 * 1024;
/** Short lists are checked again by themselves. */
export const SHORT_BYTES = 1_000_000;

export interface ChosenList {
  readonly file: File;
  /** Tells a list from the same file that was corrected and chosen again. */
  readonly key: string;
  /** Null: UTF-8. */
  readonly encoding: Encoding | null;
  /** The complete records of its first 256 kB; an Excel workbook can only be read as a whole. */
  readonly head: string | File;
  /** Whether that is all of it, and short enough to be checked whenever the text changes. */
  readonly isWhole: boolean;
}

/** Reads the beginning of a list. Throws a {@link EncodingError} if it is damaged. */
export async function choose(file: File): Promise<ChosenList> {
  if (file.size === 0) throw new EncodingError('The file is empty. Add at least one row.');
  const key = `${file.name} ${performance.now()}`;
  if (isWorkbook(new Uint8Array(await file.slice(0, FORMAT_BYTES).arrayBuffer()))) {
    if (file.size > MAX_WORKBOOK_BYTES) throw new EncodingError(WORKBOOK_TOO_LONG);
    return { file, key, encoding: null, head: file, isWhole: file.size <= SHORT_BYTES };
  }
  const isWhole = file.size <= HEAD_BYTES;
  let encoding: Encoding | null = null;
  const decoder = new TextDecoder();
  let text = '';
  const bytes = chunksOf(file.slice(0, HEAD_BYTES));
  for await (const chunk of inUtf8(bytes, (found) => (encoding = found)))
    text += decoder.decode(chunk, { stream: true });
  return { file, key, encoding, head: isWhole ? text : wholeRecords(text), isWhole };
}

/** The whole list in UTF-8: the file itself, or what it says, written anew. The browser keeps both outside the tab. */
export async function inWhole({ file, head }: ChosenList, signal: AbortSignal): Promise<Blob> {
  if (typeof head !== 'string') return file;
  let [isOther, passed] = [false, 0];
  const written: Blob[] = [];
  for await (const chunk of inUtf8(chunksOf(file), () => (isOther = true))) {
    signal.throwIfAborted();
    if (isOther) written.push(new Blob([chunk as Uint8Array<ArrayBuffer>]));
    else passed += chunk.length;
  }
  // Everything before the first character that is not ASCII is the same in both encodings.
  return isOther ? new Blob([file.slice(0, passed), ...written], { type: 'text/csv' }) : file;
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

/** The records of the beginning of a list, and what follows the last complete one. */
function recordsIn(text: string, isLast: boolean) {
  const dialect = dialectOf(text);
  const reader = new CsvReader(dialect);
  const records = reader.read(text.slice(dialect.skipped.length), isLast);
  return { records, rest: reader.rest };
}

/** The text as far as its last complete record: what a preview can be asked about before the rest has been read. */
export const wholeRecords = (text: string): string =>
  text.slice(0, text.length - recordsIn(text, false).rest.length);

/** The records of a list by their lines, as far as its beginning has them; a workbook has none. */
export const recordsOf = (head: string | File): ReadonlyMap<number, CsvRecord> =>
  new Map(typeof head === 'string' ? recordsIn(head, true).records.map((each) => [each.line, each]) : []);

/** No header that a person chooses from is longer. */
const HEADER_CHARACTERS = 20_000;

/** The columns of a list: to choose from when the server cannot tell which has the numbers. */
export function columnsOf(text: string | File): string[] {
  if (typeof text !== 'string') return [];
  const [header] = recordsIn(text.slice(0, HEADER_CHARACTERS), true).records;
  return header?.fields.map((name) => name.trim()).filter((name) => name !== '') ?? [];
}
