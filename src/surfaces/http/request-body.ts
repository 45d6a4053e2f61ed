import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiKeyOf } from './access.js';
import { abortOnClose, onClose } from './connections.js';
import { type JsonSize, MAX_ARRAY_BYTES, MAX_JSON_BYTES, measureJson, tooLong } from './json-limits.js';
import { parseInSlices } from './json-slices.js';
import type { ListMemory } from './list-memory.js';
import { Problem } from './problem.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Resizes the memory that is reserved for a list in JSON; null if nothing is. */
    reserve: ((bytes: number) => Promise<void>) | null;
  }
}

/** What a route accepts as its body: `upload` is JSON or a form with a list, `lines` a list that is read from the connection. */
export type BodyFormat = 'none' | 'json' | 'upload' | 'lines';

const EXPECTED = {
  none: 'This request takes no body.',
  json: 'Send JSON with `Content-Type: application/json`.',
  upload:
    'Send JSON with `Content-Type: application/json`, or a form (`multipart/form-data`) with the list as CSV.',
  lines: 'Send NDJSON (`application/x-ndjson`), CSV (`text/csv`), or a JSON array (`application/json`).',
} as const satisfies Record<BodyFormat, string>;

/** What the requested route accepts; `none` if there is no route. */
export function acceptedBody({ routeOptions }: FastifyRequest): BodyFormat {
  if (routeOptions.config?.acceptsUpload === true) return 'upload';
  if (routeOptions.config?.acceptsLines === true) return 'lines';
  return routeOptions.schema?.body === undefined ? 'none' : 'json';
}

/** Says what to send instead of a body of another type. */
export function expectedBody(accepted: BodyFormat): string {
  return EXPECTED[accepted];
}

/** The response to JSON that exceeds the limit of the requested route. */
export function bodyTooLarge(request: FastifyRequest, maxJsonBytes: number): Problem {
  const { list, isSecret } = request.routeOptions.config ?? {};
  if (isSecret === true) return new Problem('tooLarge', 'The notification is too large.');
  if (acceptedBody(request) === 'lines')
    return new Problem(
      'tooLarge',
      `The limit for a JSON array is ${MAX_ARRAY_BYTES / 1_000_000} MB. Send a longer list as NDJSON (\`application/x-ndjson\`) or CSV (\`text/csv\`).`,
    );
  if (list === undefined) return tooLong(undefined);
  const limit = `The limit for JSON with a list is ${maxJsonBytes / 1_000_000} MB (HTTP_MAX_JSON_MB).`;
  return new Problem(
    'tooLarge',
    acceptedBody(request) === 'upload'
      ? `${limit} Send a longer list as CSV in a form (\`multipart/form-data\`).`
      : limit,
  );
}

/** Allows long bodies on the routes that take a list. */
export function allowLists(scope: FastifyInstance, maxJsonBytes: number): void {
  scope.addHook('onRoute', (route) => {
    if (route.config?.list !== undefined) route.bodyLimit = maxJsonBytes;
    if (route.config?.acceptsLines === true) route.bodyLimit = MAX_ARRAY_BYTES;
  });
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
      if (acceptedBody(request) === 'lines') return Readable.from([bytes]);
      const { list, keepsList = false } = request.routeOptions.config;
      const size = await measureJson(bytes, list);
      request.rowsSent += size.items;
      await request.reserve?.(parsedBytes(bytes.length, size, keepsList));
      const parsed = (text: string): unknown => {
        let value: unknown;
        parse(request, text, (error: Error | null, result?: unknown) => {
          if (error !== null) throw notJson();
          value = result;
        });
        return value;
      };
      const value = await parseInSlices(bytes, parsed, { maxParsedBytes: MAX_JSON_BYTES }).catch(() => {
        throw notJson();
      });
      if (acceptedBody(request) === 'none' && !isEmpty(value)) throw new Problem('badInput', EXPECTED.none);
      return value;
    },
  );
}

const notJson = (): Problem =>
  new Problem(
    'badInput',
    'The body is not valid JSON, or has a member `__proto__` or `constructor.prototype`.',
  );

const BYTES_PER_JSON_BYTE = 4;
const BYTES_PER_ITEM = 70;
const BYTES_PER_MEMBER = 32;
const BYTES_PER_SHAPE = 400;
const BYTES_PER_SHAPE_MEMBER = 300;

/**
 * What JSON with a list takes: its text, twice while it arrives, what finds repeated numbers, and what V8 keeps of each new combination of
 * member names. `keepsList`: the objects of the list are kept as well.
 */
export function parsedBytes(length: number, size: JsonSize, keepsList: boolean): number {
  const { items, members, shapes, shapeMembers } = size;
  const kept = keepsList ? items * BYTES_PER_ITEM + members * BYTES_PER_MEMBER : 0;
  return (
    length * BYTES_PER_JSON_BYTE + kept + shapes * BYTES_PER_SHAPE + shapeMembers * BYTES_PER_SHAPE_MEMBER
  );
}

/**
 * Waits for memory before it reads a long JSON body, and reserves it until the response is sent: what the text takes now, and the rest when its
 * members have been counted. Other lists reserve memory as they are read.
 */
export async function reserveForJson(
  request: FastifyRequest,
  reply: FastifyReply,
  memory: ListMemory,
  maxJsonBytes: number,
): Promise<void> {
  const { headers, routeOptions } = request;
  const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '');
  if (routeOptions.config.list === undefined || !isJson) return;
  const bytes = Math.min(Number(headers['content-length'] ?? maxJsonBytes), maxJsonBytes);
  if (bytes <= MAX_JSON_BYTES) return;
  request.reserve = reservation(request, reply, memory);
  await request.reserve(bytes * BYTES_PER_JSON_BYTE);
}

/** Opens the share of the memory for the list of a request, until its response is sent. The returned function resizes it. */
export function reservation(
  request: FastifyRequest,
  reply: FastifyReply,
  memory: ListMemory,
): (bytes: number) => Promise<void> {
  const share = memory.open(apiKeyOf(request).id);
  const signal = abortOnClose(request, reply);
  onClose(request, reply, share.close);
  return (bytes) => share.resize(bytes, signal);
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
