import type { FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify';
import { allowedLanes } from '../../operations/access.js';
import { OPERATIONS } from '../../operations/index.js';
import { type Creates, type Hooks, isThere, type Operation } from '../../operations/operation.js';
import { Refused } from '../../operations/outcomes.js';
import { actingFor, apiKeyOf } from './access.js';
import { sendStream } from './body-stream.js';
import { isUnchanged, sendUnchanged } from './conditional.js';
import { abortOnClose } from './connections.js';
import { campaignReader } from './create-campaign.js';
import { cursorOf, positionOf } from './cursor.js';
import { configOf, schemaOf } from './operation-schema.js';
import { Problem } from './problem.js';
import { redactedFor } from './redact.js';
import type { Routes } from './routes.js';

/*
 * Makes the routes of all operations from their rows: the schemas for validation and the OpenAPI document, the check of scope, rate limit, and
 * lanes, and the response.
 */

/** Registers every operation that HTTP has. */
export const operations: Routes = (app, options, memory) => {
  const { volley } = options;
  const reader = campaignReader(app, options, memory);

  /** Checks the lanes of the input. Returns what the operation runs with: the schema of the route has validated the input. */
  const prepared = async (
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
    input: unknown,
  ) => {
    const key = apiKeyOf(request);
    const lanes = await allowedLanes<never>(operation.access, key, volley, input as never);
    const acting = operation.audit === undefined ? volley : actingFor(volley, request);
    const hooks: Hooks = {
      lanes,
      get signal() {
        return abortOnClose(request, reply);
      },
    };
    return { acting, key, hooks, own: input as never };
  };

  const handle = async (
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> => {
    const given = { ...Object(request.body), ...Object(request.query), ...Object(request.params) };
    switch (operation.kind) {
      case 'call': {
        const { acting, key, hooks, own } = await prepared(operation, request, reply, given);
        const result = await operation.run(acting, own, hooks);
        if (result instanceof Refused) throw new Problem(result.code, result.message);
        const output = operation.scope === 'status' ? redactedFor(key, result) : result;
        const version = operation.version?.(output);
        if (version !== undefined && isUnchanged(request, reply, version)) return sendUnchanged(reply);
        return created(reply, operation.creates, output);
      }
      case 'page': {
        const { cursor: token, ...filters } = given;
        const { acting, key, hooks } = await prepared(operation, request, reply, filters);
        const after = await positionOf(volley, operation.position, token);
        const { items, next } = await operation.run(acting, { ...filters, after }, hooks);
        const shown = operation.scope === 'status' ? redactedFor(key, items) : items;
        return {
          [operation.member]: shown,
          nextCursor: await cursorOf(volley, operation.position, next),
        };
      }
      case 'rows': {
        const { acting, hooks, own } = await prepared(operation, request, reply, given);
        const version = await operation.version?.(volley, own);
        if (version !== undefined && isUnchanged(request, reply, JSON.stringify(version)))
          return sendUnchanged(reply);
        const format: keyof typeof operation.formats = given.format ?? 'ndjson';
        reply.type(operation.formats[format] ?? 'application/x-ndjson');
        const file = operation.file?.(own);
        if (file !== undefined) reply.header('content-disposition', `attachment; filename="${file}"`);
        return sendStream(reply, operation.text(operation.run(acting, own, hooks), own), volley);
      }
      case 'upload': {
        const input = await reader.read(operation, request, reply);
        const { acting, hooks } = await prepared(operation, request, reply, input);
        const result = await reader.untilClosed(operation.run(acting, input, hooks));
        if (result instanceof Refused) throw await reader.refusal(request, result);
        return created(reply, operation.creates, result);
      }
      default:
        return operation satisfies never;
    }
  };

  for (const operation of OPERATIONS) {
    if (!isThere(operation.http)) continue;
    const [method = '', path = ''] = operation.http.split(' ');
    const body = operation.kind === 'upload' ? reader.schemaOf(operation) : {};
    app.route({
      method: method as HTTPMethods,
      url: path.replace(/\{(\w+)\}/g, ':$1'),
      config: configOf(operation),
      schema: { ...schemaOf(operation, method, path), ...body },
      ...(operation.kind === 'upload' && { attachValidation: true }),
      handler: (request: FastifyRequest, reply: FastifyReply) => handle(operation, request, reply),
    } as RouteOptions);
  }
};

/** Answers with what was created, or existed already. */
function created<Output>(reply: FastifyReply, creates: Creates<Output> | undefined, output: Output): unknown {
  if (creates === undefined) return output;
  return reply
    .code(creates.isNew(output) ? 201 : 200)
    .header('location', `/v1${creates.at(output)}`)
    .send(output);
}
