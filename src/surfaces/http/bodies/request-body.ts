import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiKeyOf } from '../access/access.js';
import {
  MAX_JSON_BYTES,
  MAX_PLAIN_BYTES,
  requireFewMembers,
  requireParsable,
  tooLong,
} from '../limits/json-limits.js';
import type { ListMemory } from '../limits/list-memory.js';
import { abortOnClose, onClose } from '../server/connections.js';
import { Problem } from '../server/problem.js';

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
export function bodyTooLarge(request: FastifyRequest): Problem {
  const { list, isSecret } = request.routeOptions.config ?? {};
  if (isSecret === true) return new Problem('tooLarge', 'The notification is too large.');
  const accepted = acceptedBody(request);
  if (list === undefined && accepted !== 'lines') return tooLong();
  const longer = LONGER[accepted] ?? 'in parts';
  return new Problem(
    'tooLarge',
    `The limit for JSON is ${MAX_JSON_BYTES / 1_000_000} MB. Send a longer list ${longer}.`,
  );
}

/** How a list is sent that is too long for JSON, where a route takes it in another form. */
const LONGER: { readonly [Format in BodyFormat]?: string } = {
  upload: 'as CSV in a form (`multipart/form-data`)',
  lines: 'as NDJSON (`application/x-ndjson`) or CSV (`text/csv`)',
};

/** Allows long bodies on the routes that take a list. */
export function allowLists(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    const { list, acceptsLines } = route.config ?? {};
    if (list !== undefined || acceptsLines === true) route.bodyLimit = MAX_JSON_BYTES;
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
      const { list } = request.routeOptions.config;
      requireParsable(bytes);
      let value: unknown;
      parse(request, bytes.toString(), (error: Error | null, result?: unknown) => {
        if (error !== null) throw notJson();
        value = result;
      });
      // Each step takes up to a few tens of milliseconds: other work of the process runs in between.
      if (bytes.length > MAX_PLAIN_BYTES) await nextTick();
      requireFewMembers(value, list);
      if (bytes.length > MAX_PLAIN_BYTES) await nextTick();
      const items: unknown = list === undefined ? undefined : Object(value)[list];
      if (Array.isArray(items)) request.rowsSent += items.length;
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

/** What a byte of JSON takes at most: as text, as objects, and while its rows are checked and stored. */
export const MEMORY_PER_BYTE = 30;

/** Waits for memory before it reads a long JSON body, and reserves it until the response is sent. Other lists reserve memory as they are read. */
export async function reserveForJson(
  request: FastifyRequest,
  reply: FastifyReply,
  memory: ListMemory,
): Promise<void> {
  const { headers, routeOptions } = request;
  const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '');
  if (routeOptions.config.list === undefined || !isJson) return;
  const bytes = Math.min(Number(headers['content-length'] ?? MAX_JSON_BYTES), MAX_JSON_BYTES);
  if (bytes > MAX_PLAIN_BYTES) await reservation(request, reply, memory)(bytes * MEMORY_PER_BYTE);
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
  if (!['POST', 'PUT', 'PATCH'].includes(method) || encoding.toLowerCase() === 'identity') return;
  throw new Problem(
    'unsupported',
    'Compressed bodies are not supported. Send the body without `Content-Encoding`.',
  );
}
