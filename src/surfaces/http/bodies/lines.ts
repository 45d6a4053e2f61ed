import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ListError } from '../../../intake/import/rows/rows.js';
import { Problem } from '../server/problem.js';
import { acceptedBody, expectedBody } from './request-body.js';

/*
 * Lists that an operation reads from the connection, no faster than it uses them: as NDJSON, or as CSV with a header line. A
 * JSON array has arrived as a whole, and is parsed as it is read.
 */

/** An Excel workbook is read as CSV is. */
const WORKBOOK = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
/** The content types of such lists. */
export const LINES = ['application/x-ndjson', 'text/csv', WORKBOOK, 'application/json'] as const;
/** Those that are read from the connection. The parser of JSON bodies leaves an array for such a route as text. */
const STREAMED = ['application/x-ndjson', 'text/csv', WORKBOOK];

/** A list of one of the types. */
type Lines = { readonly csv: Readable } | { readonly ndjson: Readable } | { readonly json: Readable };

/** Accepts such lists as the bodies of the routes that take them. */
export function acceptLines(app: FastifyInstance): void {
  app.addContentTypeParser(STREAMED, async (request: FastifyRequest, body: Readable) => {
    const accepted = acceptedBody(request);
    if (accepted !== 'lines') throw new Problem('unsupported', expectedBody(accepted));
    return body;
  });
}

/** The list that is the body of a request. It throws when it is longer than `maxBytes`. */
export function linesOf({ body, headers }: FastifyRequest, maxBytes: number): Lines {
  if (!(body instanceof Readable)) throw new Problem('unsupported', expectedBody('lines'));
  const list = Readable.from(limited(body, maxBytes), { objectMode: false });
  const type = headers['content-type'] ?? '';
  if (/^application\/json\b/i.test(type)) return { json: list };
  return /^(?:text\/csv|application\/vnd\.openxml)/i.test(type) ? { csv: list } : { ndjson: list };
}

async function* limited(body: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  // The connection is needed for the response if the list is not read to its end.
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new Problem(
        'tooLarge',
        `The limit for a list is ${maxBytes / 1_000_000} MB (HTTP_MAX_UPLOAD_MB).`,
      );
    yield chunk;
  }
}

/** What comes of a list, a result for each row. A list that cannot be used is the body itself, not a member of it. */
export async function* ofWholeBody<Result>(
  request: FastifyRequest,
  results: AsyncIterable<Result>,
): AsyncGenerator<Result> {
  try {
    for await (const result of results) {
      request.rowsSent += 1;
      yield result;
    }
  } catch (error) {
    throw error instanceof ListError ? new Problem('badInput', error.message) : error;
  }
}
