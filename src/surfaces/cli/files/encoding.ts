import { inUtf8 as decoded, EncodingError, type OnEncoding } from '../../../campaign/lists/list-encoding.js';
import { ListError } from '../../../intake/import/rows/rows.js';

/** A text in UTF-8, whatever its encoding was (campaign/lists/list-encoding.ts). Throws a {@link ListError} for a text that is damaged. */
export async function* inUtf8(chunks: AsyncIterable<Buffer>, onEncoding: OnEncoding): AsyncGenerator<Buffer> {
  try {
    for await (const { buffer, byteOffset, byteLength } of decoded(chunks, onEncoding))
      yield Buffer.from(buffer, byteOffset, byteLength);
  } catch (error) {
    throw error instanceof EncodingError ? new ListError(error.message, { cause: error }) : error;
  }
}
