import { Readable } from 'node:stream';

/** First rows so long that the rest of the file comes in chunks, after the part that is read to detect the dialect. */
export const LONG = 'x'.repeat(4_900);
export const LONG_ROWS = 15;

/** The bytes in chunks of the given size; the first one reaches to the end of the long rows, if there are any. */
export function streamOf(bytes: string | Buffer, chunk = 1 << 16): Readable {
  const whole = Buffer.from(bytes);
  const first = Math.max(chunk, whole.lastIndexOf(LONG) + LONG.length);
  const chunks = [whole.subarray(0, first)];
  for (let at = first; at < whole.length; at += chunk) chunks.push(whole.subarray(at, at + chunk));
  return Readable.from(chunks);
}
