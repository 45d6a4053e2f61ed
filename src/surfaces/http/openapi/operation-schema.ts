import type { FastifySchema, RouteOptions } from 'fastify';
import { z } from 'zod';
import type { ProblemCode } from '../../../campaign/errors/error-codes.js';
import type { Cost, Operation, Page } from '../../../operations/operation.js';
import { wholeNumber } from '../../../operations/schemas/schemas.js';
import { cursor, nextCursor } from '../answers/cursor.js';
import { LINES } from '../bodies/lines.js';
import type { RouteCost } from '../limits/rate-limit.js';
import { jsonResponse, problemResponses } from '../route.js';

/*
 * What Fastify and the OpenAPI document need to know about an operation.
 */

/** The schemas of a route, and what its documentation says. */
export function schemaOf(operation: Operation, method: string, path: string): FastifySchema {
  return {
    operationId: operation.name,
    summary: operation.summary,
    ...descriptionOf(operation),
    tags: [operation.tag],
    ...requestSchema(operation, method, path),
    response: { ...responsesOf(operation), ...problemResponses(...outcomesOf(operation)) },
  };
}

/** The outcomes of a row, and that a lane which it may name does not exist. */
function outcomesOf({ access, input, outcomes = [] }: Operation): readonly ProblemCode[] {
  const mayNameLane = access.rule === 'lane' || access.rule === 'named' || 'lane' in input.shape;
  return mayNameLane ? [...outcomes, 'notFound'] : outcomes;
}

const PAGES = 'A page may be short or empty before the last one: continue until `nextCursor` is null.';

function descriptionOf(operation: Operation): { description?: string } {
  const { kind, description, httpNote } = operation;
  const pages = kind === 'page' ? PAGES : undefined;
  const sentences = [description, pages, httpNote, jsonLimit(operation)].filter((each) => each !== undefined);
  return sentences.length === 0 ? {} : { description: sentences.join(' ') };
}

function jsonLimit(operation: Operation): string | undefined {
  if (operation.kind === 'upload')
    return operation.isForm ? undefined : 'JSON may have 1 MB; send a longer list as CSV in a form.';
  return operation.list === undefined ? undefined : 'JSON may have 1 MB; send a longer list in parts.';
}

/** What the hooks of a route need to know about its operation. */
export function configOf(operation: Operation): RouteOptions['config'] {
  const { kind, scope, bucket, cost, list } = operation;
  const isLong =
    list !== undefined || ['upload', 'rows', 'file'].includes(kind) || (kind === 'call' && operation.isLong);
  return {
    ...(scope && { scope }),
    ...(bucket && { limit: bucket }),
    ...(kind === 'feed' && { limit: 'stream' }),
    ...(cost && { cost: costOf(operation, cost) }),
    ...(list !== undefined && { list }),
    ...(kind === 'upload' && { acceptsUpload: true, list: 'recipients' }),
    ...(kind === 'upload' && operation.isForm && { showsForm: true }),
    ...(list !== undefined && { list }),
    ...(kind === 'rows' && operation.body !== undefined && { acceptsLines: true }),
    ...(isLong && { transfersList: true }),
    ...((kind === 'call' || kind === 'rows') && operation.version && { hasEtag: true }),
  };
}

function costOf(operation: Operation, cost: Cost): RouteCost {
  if ('tokens' in cost) return cost;
  const usual =
    operation.kind === 'page' ? operation.limit.usual : Number(defaultOf(operation.input.shape['limit']));
  return { ...cost, defaultLimit: usual };
}

function defaultOf(schema: unknown): unknown {
  return schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
}

/** Where a request has the members of the input: those that the path names, those of the query, and the body of POST, PUT, and PATCH. */
function requestSchema(operation: Operation, method: string, path: string): FastifySchema {
  // What else an upload takes is in its address.
  if (operation.kind === 'upload') return schemaFor('querystring', Object.entries(operation.input.shape));
  const { access, body, input, kind } = operation;
  const hasBody = body === undefined && ['POST', 'PUT', 'PATCH'].includes(method);
  const members = Object.entries(input.shape).filter(([name]) => name !== body);
  const inPath = members.filter(([name]) => path.includes(`{${name}}`));
  // Where an object is, is a part of its address. That of one that may be new may be in the body, too.
  const isObjectLane = (name: string): boolean =>
    name === 'lane' && (access.rule === 'object' || (access.rule === 'lane' && inPath.length > 0));
  const isInQuery = (name: string): boolean => !hasBody || isObjectLane(name);
  const isInBody = (name: string): boolean =>
    !isInQuery(name) || (isObjectLane(name) && access.rule === 'lane');
  const others = members.filter(([name]) => !path.includes(`{${name}}`));
  const query = [
    ...others.filter(([name]) => isInQuery(name)),
    ...(kind === 'page' ? Object.entries(pageQuery(operation.limit)) : []),
  ];
  return {
    ...(kind === 'feed' && { headers: resumeHeader }),
    ...schemaFor('params', inPath),
    ...schemaFor('querystring', query),
    ...schemaFor('body', hasBody ? others.filter(([name]) => isInBody(name)) : []),
    ...(body !== undefined && { body: input.shape[body] }),
    // With its name in the OpenAPI document.
    ...(hasBody && inPath.length === 0 && { body: input }),
    ...(kind === 'rows' && body !== undefined && { consumes: LINES }),
  };
}

/** Lines of JSON, which clients receive as one text. They have a type for what each line says. */
const linesOf = (item: z.ZodType) =>
  z.string().meta({
    format: 'binary',
    contentMediaType: 'application/x-ndjson',
    contentSchema: { $ref: `#/components/schemas/${item.meta()?.id}` },
    description: 'A JSON object per line',
  });

const schemaFor = (place: string, members: readonly (readonly [string, z.core.$ZodType])[]) =>
  members.length === 0 ? {} : { [place]: z.strictObject(Object.fromEntries(members)) };

const pageQuery = ({ max, usual }: Page['limit']) => ({
  limit: wholeNumber(1, max).default(usual).describe('The page size'),
  cursor,
});

/** Where an event stream begins. */
const resumeHeader = z.looseObject({
  'last-event-id': z
    .string()
    .regex(
      /^(?:0-0|\d{1,15}-\d{1,10}|[\w-]{20,100})?$/,
      'Use the id of an event, or 0-0 for all stored events',
    )
    .optional()
    .describe(
      'The `id` of the last event you received; the stream continues after it. `0-0` starts with all stored events.',
    ),
});

function responsesOf(operation: Operation): object {
  switch (operation.kind) {
    case 'call':
    case 'upload': {
      const { creates, output, returns } = operation;
      if (operation.kind === 'call' && operation.isLater) return { 202: jsonResponse(returns, output) };
      return creates === undefined
        ? { 200: jsonResponse(returns, output) }
        : {
            ...(creates.existing !== undefined && { 200: jsonResponse(creates.existing, output) }),
            201: jsonResponse(returns, output),
          };
    }
    case 'page': {
      const { member, item, returns } = operation;
      return { 200: jsonResponse(returns, z.object({ [member]: z.array(item), nextCursor })) };
    }
    case 'rows': {
      const { member, item, returns } = operation;
      if (member !== undefined) return { 200: jsonResponse(returns, z.object({ [member]: z.array(item) })) };
      const content = Object.keys(operation.formats).map((format) =>
        format === 'ndjson'
          ? ['application/x-ndjson', { schema: linesOf(item) }]
          : ['text/csv', { schema: z.string() }],
      );
      return { 200: { description: returns, content: Object.fromEntries(content) } };
    }
    case 'file': {
      const schema = z.string().meta({ format: 'binary' });
      return {
        200: { description: operation.returns, content: { 'application/octet-stream': { schema } } },
      };
    }
    case 'feed': {
      const description =
        'An endless stream of server-sent events. The schema is that of the `data` of each event.';
      return { 200: { description, content: { 'text/event-stream': { schema: operation.item } } } };
    }
    default:
      return operation satisfies never;
  }
}
