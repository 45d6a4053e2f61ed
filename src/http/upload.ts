import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import multipart, { type MultipartFile } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { CsvStream } from '../import/campaign-input.js';
import { type CampaignOrder, campaignOrder } from './campaign-request.js';
import { bodyTaken, bodyWanted } from './consumed-body.js';
import { Problem } from './problem.js';
import { readBy } from './validation.js';

/** Far more than a campaign without its list takes. */
const MOST_ORDER_BYTES = 100_000;

/** Lets forms in at the routes that take them; their bodies are left to be read there. */
export async function takeUploads(scope: FastifyInstance): Promise<void> {
  await scope.register(multipart, { throwFileSizeLimit: true });
  scope.addHook('preValidation', async (request) => {
    if (!request.isMultipart() || request.routeOptions.config.takesUpload === true) return;
    throw new Problem('unsupported', bodyWanted({ body: bodyTaken(request) }));
  });
}

/** A campaign whose list is on its way. */
export interface Upload {
  readonly order: CampaignOrder;
  /**
   * A CSV that is taken no faster than it is imported. It ends when the form has come whole, and breaks off with a Problem
   * otherwise: what was read of it until then is not the list.
   */
  readonly recipients: CsvStream;
}

/**
 * Reads `multipart/form-data` as far as its list: first the part `campaign`, a JSON object, then the part `recipients`,
 * a CSV. Throws a Problem for a form that is none such.
 */
export async function readUpload(request: FastifyRequest, maxBytes: number): Promise<Upload> {
  const parts = request.parts({
    // One more than there may be: at a limit the reader breaks off, and does not say at which part.
    limits: { parts: 3, fileSize: maxBytes },
    // Whatever it is called, so that nobody has to give file names, and its bytes are seen as they came: of a field
    // those that are not UTF-8 are replaced without a word.
    isPartAFile: () => true,
  });
  const next = async () => {
    try {
      return await parts.next();
    } catch (error) {
      throw broken(error);
    }
  };
  const first = await next();
  if (first.done === true || first.value.type !== 'file' || first.value.fieldname !== 'campaign') {
    throw wrong(
      'campaign',
      'the first part of the form must be `campaign`, a JSON object; the list comes after it',
    );
  }
  const order = readBy(campaignOrder, await jsonOf(first.value.file));
  const second = await next();
  if (second.done === true || second.value.type !== 'file' || second.value.fieldname !== 'recipients') {
    throw wrong('recipients', 'the second part of the form must be `recipients`, a CSV with a header line');
  }
  const { file } = second.value;
  const rest = async (): Promise<void> => {
    if (file.truncated) throw tooLong(maxBytes);
    const third = await next();
    if (third.done === true) return;
    const { fieldname } = third.value;
    throw wrong(
      fieldname,
      fieldname === 'campaign' || fieldname === 'recipients'
        ? 'is in the form twice'
        : 'the form takes no such part, only `campaign` and `recipients`',
    );
  };
  return { order, recipients: { csv: Readable.from(wholeList(file, rest), { objectMode: false }) } };
}

/** The bytes of the list, and after the last of them whatever is wrong with what follows. */
async function* wholeList(file: MultipartFile['file'], rest: () => Promise<void>): AsyncGenerator<Buffer> {
  try {
    for await (const piece of file) yield piece;
  } catch (error) {
    throw broken(error);
  }
  await rest();
}

/** What the reader of forms throws, which has a status only where a limit was met. */
function broken(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error) || 'statusCode' in error) return error;
  return new Problem('badInput', `the form: ${error.message}`);
}

async function jsonOf(part: MultipartFile['file']): Promise<unknown> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of part) {
      pieces.push(piece);
      length += piece.length;
      if (length > MOST_ORDER_BYTES) throw wrong('campaign', `is longer than ${MOST_ORDER_BYTES} bytes`);
    }
  } catch (error) {
    throw broken(error);
  }
  const bytes = Buffer.concat(pieces);
  if (!isUtf8(bytes)) throw wrong('campaign', 'is not UTF-8, as JSON must be: encode it as that');
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw wrong('campaign', 'is no JSON');
  }
}

function wrong(part: string, message: string): Problem {
  return new Problem('badInput', `${part}: ${message}`, { errors: [{ pointer: `/${part}`, message }] });
}

function tooLong(maxBytes: number): Problem {
  return new Problem('tooLarge', `the list is longer than ${maxBytes / 1_000_000} MB (HTTP_MAX_UPLOAD_MB)`);
}
