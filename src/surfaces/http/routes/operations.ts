import type { FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify';
import { requireSimulators } from '../../../app/access/test-keys.js';
import { admit } from '../../../operations/access.js';
import { OPERATIONS } from '../../../operations/index.js';
import {
  type Creates,
  type Hooks,
  isThere,
  type Operation,
  oneObject,
} from '../../../operations/operation.js';
import { Refused } from '../../../operations/outcomes.js';
import { actingFor, callerOf } from '../access/access.js';
import { attachment } from '../answers/attachment.js';
import { sendStream } from '../answers/body-stream.js';
import { isUnchanged } from '../answers/conditional.js';
import { cursorOf, positionOf } from '../answers/cursor.js';
import { openEventStreams } from '../answers/event-streams.js';
import { fileSender } from '../answers/files.js';
import { redactedFor } from '../answers/redact.js';
import { acceptLines, linesOf, ofWholeBody } from '../bodies/lines.js';
import { reservation } from '../bodies/request-body.js';
import { configOf, schemaOf } from '../openapi/operation-schema.js';
import type { HttpOptions, Routes } from '../route.js';
import { abortOnClose } from '../server/connections.js';
import { invalidMember, invalidParts, itemOf, Problem } from '../server/problem.js';
import { campaignReader } from './create-campaign.js';

/*
 * Makes the routes of all operations from their rows: the schemas for validation and the OpenAPI document, the check of scope, rate limit, and
 * lanes, and the response.
 */

/** How long an operation waits for others that it must not overlap. A client that waits longer would rather retry. */
const WAIT = '20s';

/** Registers every operation that HTTP has. */
export const operations: Routes = (app, options, memory) => {
  const { volley, config } = options;
  const reader = campaignReader(app, options, memory);
  const sendFile = fileSender(options);
  const streams = openEventStreams(options);
  app.addHook('preClose', async () => streams.close());
  // A variable that is not set leaves an empty text, which would be the number 0.
  app.addHook('preValidation', async ({ query }) => {
    const empty = Object.entries(Object(query)).find(([, value]) => String(value).trim() === '');
    if (empty !== undefined)
      throw invalidParts([itemOf(`query/${empty[0]}`, 'It is empty: give it a value, or leave it out')]);
  });
  acceptLines(app);

  /** Checks the lanes of the input. Returns what the operation runs with: the schema of the route has validated the input. */
  const prepared = async (
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
    given: unknown,
  ) => {
    const caller = callerOf(request, config);
    const { input, lanes, found } = await admit<never>(operation.access, caller, volley, given as never);
    const { id, ...limits } = caller.key;
    if (!isReading(operation)) await requireSimulators(volley, { key: id, limits }, lanes);
    const hooks: Hooks = {
      key: caller.key,
      lanes,
      wait: WAIT,
      found,
      get signal() {
        return abortOnClose(request, reply);
      },
    };
    return {
      acting: changes(operation) ? actingFor(volley, request) : volley,
      key: caller.key,
      hooks,
      input,
    };
  };

  /** The members of the input that the request has, by the schema of the route. */
  const membersOf = ({ kind, body }: Operation, request: FastifyRequest) => {
    const whole = kind === 'rows' ? () => linesOf(request, config.http.maxUploadBytes) : () => request.body;
    const members = body === undefined ? Object(request.body) : { [body]: whole() };
    const { lane = members.lane } = Object(request.query);
    if (members.lane !== undefined && lane !== members.lane)
      throw invalidMember('lane', 'It differs from the lane in the address');
    return { ...members, ...Object(request.query), ...Object(request.params) };
  };

  const handle = async (
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> => {
    switch (operation.kind) {
      case 'call': {
        const given = membersOf(operation, request);
        const { acting, key, hooks, input } = await prepared(operation, request, reply, given);
        const { position } = operation;
        const from = position && { cursor: await positionOf(volley, position, given.cursor) };
        const result = await operation.run(acting, { ...Object(input), ...from }, hooks);
        if (result instanceof Refused) throw refusedProblem(result);
        if (operation.creates !== undefined) return created(reply, operation.creates, result, options);
        if (position !== undefined) {
          const { nextCursor, ...results } = Object(result);
          return { ...results, nextCursor: await cursorOf(volley, position, nextCursor) };
        }
        const output = isShownWithoutRead(operation) ? redactedFor(key, result) : result;
        const version = operation.version?.(output);
        if (version !== undefined && isUnchanged(request, reply, version)) return reply.code(304).send();
        return operation.isLater ? reply.code(202).send(output) : output;
      }
      case 'page': {
        const { cursor: token, ...given } = membersOf(operation, request);
        const { acting, key, hooks, input } = await prepared(operation, request, reply, given);
        const cursor = await positionOf(volley, operation.position, token);
        const { items, nextCursor } = await operation.run(acting, { ...Object(input), cursor }, hooks);
        const shown = isShownWithoutRead(operation) ? redactedFor(key, items) : items;
        return {
          [operation.member]: shown,
          nextCursor: await cursorOf(volley, operation.position, nextCursor),
        };
      }
      case 'rows': {
        const given = membersOf(operation, request);
        const { acting, hooks, input } = await prepared(operation, request, reply, given);
        const version = await operation.version?.(volley, input);
        if (version !== undefined && isUnchanged(request, reply, JSON.stringify(version)))
          return reply.code(304).send();
        if (operation.member !== undefined) {
          const text = oneObject(operation.member, operation.run(acting, input, hooks));
          return sendStream(reply.type('application/json'), text, volley);
        }
        const format: keyof typeof operation.formats = given.format ?? 'ndjson';
        reply.type(operation.formats[format] ?? 'application/x-ndjson');
        const file = await operation.file?.(volley, input);
        if (file !== undefined) reply.header('content-disposition', attachment(file));
        const send = (rows: ReturnType<typeof operation.run>) =>
          sendStream(reply, operation.text(rows, input, volley), volley);
        if (operation.body === undefined) return send(operation.run(acting, input, hooks));
        const onMemory = reservation(request, reply, memory);
        await onMemory(0);
        return send(ofWholeBody(request, operation.run(acting, input, { ...hooks, onMemory })));
      }
      case 'upload': {
        const campaign = await reader.read(operation, request, reply);
        const { acting, hooks, input } = await prepared(operation, request, reply, campaign);
        const result = await reader.untilClosed(operation.run(acting, input, hooks));
        if (result instanceof Refused) throw refusedProblem(result);
        return operation.creates === undefined ? result : created(reply, operation.creates, result, options);
      }
      case 'file': {
        const given = membersOf(operation, request);
        const { acting, hooks, input } = await prepared(operation, request, reply, given);
        return sendFile(request, reply, () => operation.run(acting, input, hooks));
      }
      case 'feed': {
        const given = membersOf(operation, request);
        const { acting, hooks, input } = await prepared(operation, request, reply, given);
        return streams.send(request, reply, operation.run(acting, input, hooks));
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
      // A HEAD would open the file to discard it.
      ...(operation.kind === 'file' && { exposeHeadRoute: false }),
      handler: (request: FastifyRequest, reply: FastifyReply) => handle(operation, request, reply),
    } as RouteOptions);
  }
};

/** Whether an operation may change something, so that it runs as the key: the key is checked again, and pays for what is stored. */
function changes({ audit, scope }: Operation): boolean {
  return audit !== undefined || scope === 'send' || scope === 'operate' || scope === 'inbound';
}

/** Whether an operation only reads. A search is a POST, so that no number is in its address. */
function isReading({ scope, http }: Operation): boolean {
  return scope === 'read' || (isThere(http) && http.startsWith('GET '));
}

/** Whether keys that may not read texts see what an operation returns. With the scope `send`, it is what they have sent. */
function isShownWithoutRead({ scope }: Operation): boolean {
  return scope === 'status' || scope === 'operate';
}

const refusedProblem = ({ code, message, members }: Refused): Problem =>
  new Problem(code, message, { members });

/** Answers with what was created, or with what its outcome is instead. */
function created<Output>(
  reply: FastifyReply,
  { at }: Creates<Output>,
  output: Output,
  { mountedAt = '' }: HttpOptions,
) {
  const { outcome = 'created' } = Object(output);
  return reply
    .code(outcome === 'created' ? 201 : 200)
    .header('location', `${mountedAt}/v1${at(output)}`)
    .send(output);
}
