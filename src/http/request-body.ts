import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { abortOnClose, onClose } from './connections.js';
import { parseInSlices } from './json-slices.js';
import type { ListMemory } from './list-memory.js';
import { Problem } from './problem.js';

/** What a route accepts as its body: `upload` is JSON or a form with a list. */
export type BodyFormat = 'none' | 'json' | 'upload';

const EXPECTED = {
  none: 'This request takes no body.',
  json: 'Send JSON with `Content-Type: application/json`.',
  upload:
    'Send JSON with `Content-Type: application/json`, or a form (`multipart/form-data`) with the list as CSV.',
} as const satisfies Record<BodyFormat, string>;

/** What the requested route accepts; `none` if there is no route. */
export function acceptedBody({ routeOptions }: FastifyRequest): BodyFormat {
  if (routeOptions.config?.acceptsUpload === true) return 'upload';
  return routeOptions.schema?.body === undefined ? 'none' : 'json';
}

/** Says what to send instead of a body of another type. */
export function expectedBody(accepted: BodyFormat): string {
  return EXPECTED[accepted];
}

/** Says what to do about JSON that exceeds its limit. */
export function bodyLimitExceeded(accepted: BodyFormat, maxJsonBytes: number): string {
  const limit = `The limit for JSON is ${maxJsonBytes / 1_000_000} MB (HTTP_MAX_JSON_MB).`;
  return accepted === 'upload'
    ? `${limit} Send a longer list as CSV in a form (\`multipart/form-data\`).`
    : limit;
}

/**
 * Parses JSON bodies. A body that is not UTF-8 is rejected; decoded anyway, a name in Latin-1 would arrive on a phone as
 * "S�ren". An empty body counts as no body, because many clients send a content type without one.
 */
export function parseJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      if (bytes.length === 0) return null;
      if (!isUtf8(bytes)) throw new Problem('badInput', 'The body is not UTF-8. Encode JSON as UTF-8.');
      const value = await parseInSlices(bytes, (text) => {
        let parsed: unknown;
        parse(request, text, (error: Error | null, result?: unknown) => {
          if (error !== null) throw error;
          parsed = result;
        });
        return parsed;
      }).catch(() => {
        const detail = 'The body is not valid JSON, or has a member `__proto__` or `constructor.prototype`.';
        throw new Problem('badInput', detail);
      });
      if (acceptedBody(request) === 'none' && !isEmpty(value)) throw new Problem('badInput', EXPECTED.none);
      return value;
    },
  );
}

/** Smaller bodies are not worth counting. */
const SMALL_BODY_BYTES = 100_000;
/** How much memory JSON takes once it is parsed, for each of its bytes: short strings in small objects. */
const BYTES_PER_JSON_BYTE = 8;

/**
 * Waits for memory before it reads a long JSON body, and reserves it until the response is sent. Forms reserve memory as their
 * list is read.
 */
export async function reserveForJson(
  request: FastifyRequest,
  reply: FastifyReply,
  memory: ListMemory,
  maxJsonBytes: number,
): Promise<void> {
  const { headers, method } = request;
  if (method !== 'POST' || !/^application\/json\b/i.test(headers['content-type'] ?? '')) return;
  const bytes = Math.min(Number(headers['content-length'] ?? maxJsonBytes), maxJsonBytes);
  if (bytes <= SMALL_BODY_BYTES) return;
  const share = memory.open();
  onClose(request, reply, share.close);
  await share.resize(bytes * BYTES_PER_JSON_BYTE, abortOnClose(request, reply));
}

/** Some clients send an empty object where no body is needed. */
function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** Throws for a compressed body: a small one could unpack to any size. */
export async function rejectCompressed({ method, headers }: FastifyRequest): Promise<void> {
  const encoding = headers['content-encoding'] ?? 'identity';
  if ((method !== 'POST' && method !== 'PUT') || encoding.toLowerCase() === 'identity') return;
  throw new Problem(
    'unsupported',
    'Compressed bodies are not supported. Send the body without `Content-Encoding`.',
  );
}
