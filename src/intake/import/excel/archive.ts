import { type Entry, fromFdPromise } from 'yauzl';
import { MAX_UNPACKED_BYTES, SAVE_AS_CSV, WorkbookError } from './limits.js';

/** More parts than any workbook has. */
const MAX_PARTS = 10_000;
/** What is wrong with a file that cannot be read, or lacks a part. */
export const NOT_READABLE =
  'This file is damaged, or is not an Excel workbook (.xlsx). Open it in Excel, and save it again.';

/** The parts of a workbook, which is a ZIP archive of XML files. */
export interface Archive {
  has(part: string): boolean;
  /** A part as text. Throws a {@link WorkbookError} for a damaged one, and when all that was read exceeds the limit. */
  read(part: string): AsyncGenerator<string>;
}

/** Opens the workbook in an open file. Throws a {@link WorkbookError} if it is no archive. */
export async function openArchive(fd: number): Promise<Archive> {
  const zip = await orDamaged(fromFdPromise(fd, { autoClose: false }));
  if (zip.entryCount > MAX_PARTS) throw new WorkbookError(NOT_READABLE);
  const entries = new Map<string, Entry>();
  const all = zip.eachEntry();
  for (let next = await orDamaged(all.next()); next.done !== true; next = await orDamaged(all.next()))
    entries.set(next.value.fileName.toLowerCase(), next.value);
  let left = MAX_UNPACKED_BYTES;
  return {
    has: (part) => entries.has(part.toLowerCase()),
    async *read(part) {
      const entry = entries.get(part.toLowerCase());
      if (entry === undefined) throw new WorkbookError(NOT_READABLE);
      // No more than the archive declares is unpacked: yauzl fails at the first byte beyond.
      left -= entry.uncompressedSize;
      if (left < 0) throw tooLarge();
      const decoder = new TextDecoder('utf-8', { fatal: true });
      const chunks: AsyncIterator<Buffer> = (await orDamaged(zip.openReadStreamPromise(entry)))[
        Symbol.asyncIterator
      ]();
      for (;;) {
        const { done, value } = await orDamaged(chunks.next());
        yield decoded(decoder, value, done !== true);
        if (done === true) return;
      }
    },
  };
}

/** The workbook is too large when it is unpacked. */
export const tooLarge = (): WorkbookError =>
  new WorkbookError(
    `The workbook has more than ${MAX_UNPACKED_BYTES / 1_000_000} MB when it is unpacked. ${SAVE_AS_CSV}, or remove what is not part of the list.`,
  );

function decoded(
  decoder: InstanceType<typeof TextDecoder>,
  bytes: Buffer | undefined,
  stream: boolean,
): string {
  try {
    return decoder.decode(bytes, { stream });
  } catch (error) {
    throw new WorkbookError(NOT_READABLE, { cause: error });
  }
}

async function orDamaged<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw new WorkbookError(NOT_READABLE, { cause: error });
  }
}
