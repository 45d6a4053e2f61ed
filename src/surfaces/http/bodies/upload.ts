import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import multipart, { type MultipartFile } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { CsvStream } from '../../../intake/import/campaign-input.js';
import { MAX_PLAIN_BYTES, requireFewMembers, requireParsable } from '../limits/json-limits.js';
import { invalidMember, Problem } from '../server/problem.js';
import { acceptedBody, expectedBody } from './request-body.js';

/** Accepts forms on the routes with `acceptsUpload`, which read the body themselves. */
export async function acceptUploads(scope: FastifyInstance): Promise<void> {
  await scope.register(multipart, { throwFileSizeLimit: true });
  scope.addHook('preValidation', async (request) => {
    if (!request.isMultipart() || request.routeOptions.config.acceptsUpload === true) return;
    throw new Problem('unsupported', expectedBody(acceptedBody(request)));
  });
}

interface Upload<Campaign> {
  readonly campaign: Campaign;
  /**
   * The list, read from the connection no faster than it is imported. The stream ends only when the whole form has arrived.
   * Otherwise it fails with a Problem, and the caller discards the rows read so far.
   */
  readonly list: CsvStream;
}

/**
 * Reads `multipart/form-data` as far as its list: first the part `campaign`, a JSON object that `parse` accepts, then the
 * part `recipients`, a CSV. Throws a Problem for any other form.
 */
export async function readUpload<Campaign>(
  request: FastifyRequest,
  parse: (json: unknown) => Campaign,
  maxBytes: number,
): Promise<Upload<Campaign>> {
  const parts = request.parts({
    // One more than a form may have: at its limit the parser stops without naming the part.
    limits: { parts: 3, fileSize: maxBytes },
    // Treat every part as a file: clients need not send file names, and the bytes arrive as sent. In a field, the parser
    // silently replaces bytes that are not UTF-8.
    isPartAFile: () => true,
  });
  const nextPart = async () => {
    try {
      const { done, value } = await parts.next();
      return done === true || value.type !== 'file' ? undefined : value;
    } catch (error) {
      throw formError(error);
    }
  };
  const first = await nextPart();
  if (first?.fieldname !== 'campaign') {
    throw invalidMember('campaign', 'The first part of the form must be `campaign`, a JSON object');
  }
  const campaign = parse(await readJson(first.file));
  const second = await nextPart();
  if (second?.fieldname !== 'recipients') {
    throw invalidMember(
      'recipients',
      'The second part of the form must be `recipients`, a CSV with a header',
    );
  }
  const { file } = second;
  const requireEnd = async (): Promise<void> => {
    if (file.truncated) {
      const limit = `The limit for a list is ${maxBytes / 1_000_000} MB (HTTP_MAX_UPLOAD_MB).`;
      throw new Problem('tooLarge', limit);
    }
    const third = await nextPart();
    if (third === undefined) return;
    const { fieldname } = third;
    throw invalidMember(
      fieldname,
      fieldname === 'campaign' || fieldname === 'recipients'
        ? 'The form has this part twice'
        : 'The form may have only the parts `campaign` and `recipients`',
    );
  };
  return {
    campaign,
    list: { csv: Readable.from(wholeFile(request, file, requireEnd), { objectMode: false }) },
  };
}

/** The bytes of a file, and after the last of them any error in the rest of the form. */
async function* wholeFile(
  request: FastifyRequest,
  file: MultipartFile['file'],
  requireEnd: () => Promise<void>,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of file) {
      request.rowsSent += linesIn(chunk);
      yield chunk;
    }
  } catch (error) {
    throw formError(error);
  }
  await requireEnd();
}

const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];

/** About how many lines a part of a CSV has, whatever its line ends are. */
function linesIn(bytes: Buffer): number {
  let [feeds, returns] = [0, 0];
  for (const byte of bytes) {
    if (byte === LINE_FEED) feeds += 1;
    else if (byte === CARRIAGE_RETURN) returns += 1;
  }
  return Math.max(feeds, returns);
}

/** An error of the parser. Only its limits have a status of their own. */
function formError(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error) || 'statusCode' in error) return error;
  return new Problem('badInput', `The form is invalid. ${error.message}`);
}

async function readJson(part: MultipartFile['file']): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of part) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_PLAIN_BYTES) {
        throw invalidMember('campaign', `It is longer than ${MAX_PLAIN_BYTES} bytes`);
      }
    }
  } catch (error) {
    throw formError(error);
  }
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw invalidMember('campaign', 'It is not UTF-8. Encode JSON as UTF-8');
  try {
    requireParsable(bytes);
    // Unlike `toString`, this removes a byte order mark.
    const campaign: unknown = JSON.parse(new TextDecoder().decode(bytes));
    requireFewMembers(campaign);
    return campaign;
  } catch (error) {
    if (error instanceof Problem)
      throw invalidMember('campaign', 'It has too many members, or is nested too deeply');
    throw invalidMember('campaign', 'It is not valid JSON');
  }
}
