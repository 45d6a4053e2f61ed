import { CsvReader, type CsvRecord, CsvRecordError } from '../../../campaign/lists/csv-records.js';
import { ListError } from '../rows/rows.js';

/** The records of a file that have any content, including the header, chunk by chunk. Throws a {@link ListError} if one is too long. */
export async function* recordsOf(
  chunks: AsyncIterable<Buffer>,
  dialect: ConstructorParameters<typeof CsvReader>[0],
): AsyncGenerator<readonly CsvRecord[]> {
  const reader = new CsvReader(dialect);
  const read = (text: string, isLast: boolean): readonly CsvRecord[] => {
    try {
      return reader.read(text, isLast).filter(hasContent);
    } catch (error) {
      throw error instanceof CsvRecordError ? new ListError(error.message) : error;
    }
  };
  for await (const chunk of chunks) yield read(chunk.toString(), false);
  yield read('', true);
}

/** Spreadsheets leave rows behind that contain only delimiters. */
function hasContent({ fields, fault }: CsvRecord): boolean {
  return fault !== undefined || fields.some((field) => field.trim() !== '');
}
