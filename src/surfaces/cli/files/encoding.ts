import { inUtf8 as decoded, EncodingError, type OnEncoding } from '../../../campaign/lists/list-encoding.js';
import { ListError } from '../../../intake/import/rows/rows.js';

/** A text in UTF-8, whatever its encoding was, or an Excel workbook as it is (campaign/lists/list-encoding.ts). Throws a {@link ListError} for a text that is damaged. */
export async function* inUtf8(
  chunks: AsyncIterable<Buffer>,
  onEncoding: OnEncoding,
  passesWorkbook = false,
): AsyncGenerator<Buffer> {
  try {
    for await (const { buffer, byteOffset, byteLength } of decoded(chunks, onEncoding, passesWorkbook))
      yield Buffer.from(buffer, byteOffset, byteLength);
  } catch (error) {
    throw error instanceof EncodingError ? new ListError(error.message, { cause: error }) : error;
  }
}
