import { CsvReader, type CsvRecord, CsvRecordError } from '../../../campaign/lists/csv-records.js';
import { BATCH_BYTES, ListError, ROWS_PER_BATCH, rowBytes } from '../rows/rows.js';

/** Batches of the records of a file that have any content, including the header. Throws a {@link ListError} if one is too long. */
export async function* recordsOf(
  chunks: AsyncIterable<Buffer>,
  dialect: ConstructorParameters<typeof CsvReader>[0],
): AsyncGenerator<readonly CsvRecord[]> {
  const reader = new CsvReader(dialect);
  let batch: CsvRecord[] = [];
  let bytes = 0;
  function* batches(text: string, isLast: boolean): Generator<readonly CsvRecord[]> {
    for (const record of reader.read(text, isLast)) {
      if (!hasContent(record)) continue;
      batch.push(record);
      bytes += rowBytes(record.fields);
      if (batch.length < ROWS_PER_BATCH && bytes < BATCH_BYTES) continue;
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  try {
    for await (const chunk of chunks) yield* batches(chunk.toString(), false);
    yield* batches('', true);
  } catch (error) {
    throw error instanceof CsvRecordError ? new ListError(error.message) : error;
  }
  if (batch.length > 0) yield batch;
}

/** Spreadsheets leave rows behind that contain only delimiters. */
function hasContent({ fields, fault }: CsvRecord): boolean {
  return fault !== undefined || fields.some((field) => field.trim() !== '');
}
