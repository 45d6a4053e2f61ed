import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type LaneStatus, laneStatus } from '../../campaign/views.js';
import { allowsLane, requireAllLanes, requireLane } from '../../operations/access.js';
import { actingFor, apiKeyOf } from './access.js';
import { Problem } from './problem.js';
import { redactedFor } from './redact.js';
import { CONTROL, jsonResponse, problemResponses, type Routes } from './routes.js';

const laneName = z.strictObject({ name: z.string().min(1).max(100) });
const laneState = z.object({ lane: z.string(), state: z.string() });

/** The headers of the earlier name of `/hold` (RFC 9745 and RFC 8594). */
const PAUSE_IS_DEPRECATED = {
  deprecation: `@${Date.UTC(2026, 10, 22) / 1_000}`,
  sunset: new Date(Date.UTC(2027, 6, 1)).toUTCString(),
  link: '</docs>; rel="deprecation"',
};

/** Shows the status of lanes, and holds, resumes, and renames them. */
export const lanes: Routes = (app, { volley }) => {
  const requireStatus = async (request: FastifyRequest, wanted: string): Promise<LaneStatus> => {
    requireLane(apiKeyOf(request), wanted);
    const found = (await volley.lanes()).find(({ name }) => name === wanted);
    if (found === undefined) throw new Problem('notFound', `There is no lane ${wanted}.`);
    return found;
  };

  app.get(
    '/lanes',
    {
      config: { cost: { tokens: 1 }, scope: 'status' },
      schema: {
        operationId: 'listLanes',
        summary: 'List the lanes and their status',
        description: 'Only the lanes that the key may use.',
        tags: ['Lanes'],
        response: { 200: jsonResponse('The lanes', z.object({ lanes: z.array(laneStatus) })) },
      },
    },
    async (request) => {
      const key = apiKeyOf(request);
      const lanes = (await volley.lanes()).filter(({ name }) => allowsLane(key, name));
      return { lanes: redactedFor(key, lanes) };
    },
  );

  app.get(
    '/lanes/:name',
    {
      config: { scope: 'status' },
      schema: {
        operationId: 'getLane',
        summary: 'Get the status of a lane',
        tags: ['Lanes'],
        params: laneName,
        response: { 200: jsonResponse('The current status', laneStatus), ...problemResponses('notFound') },
      },
    },
    async (request) => redactedFor(apiKeyOf(request), await requireStatus(request, request.params.name)),
  );

  const hold = async (request: FastifyRequest, wanted: string) => {
    const { name } = await requireStatus(request, wanted);
    await actingFor(volley, request).pauseLane(name);
    return { lane: name, state: 'held' };
  };
  const holdSchema = {
    summary: 'Hold a lane',
    description: 'No request of the lane starts until you resume it. Its state becomes `held`.',
    tags: ['Lanes'],
    params: laneName,
    response: { 200: jsonResponse('The lane is held', laneState), ...problemResponses('notFound') },
  };

  app.post(
    '/lanes/:name/hold',
    { config: CONTROL, schema: { ...holdSchema, operationId: 'holdLane' } },
    (request) => hold(request, request.params.name),
  );

  app.post(
    '/lanes/:name/pause',
    {
      config: CONTROL,
      schema: {
        ...holdSchema,
        operationId: 'pauseLane',
        summary: 'Hold a lane (earlier name)',
        description: 'Use `/v1/lanes/{name}/hold`, which does the same.',
        deprecated: true,
      },
    },
    (request, reply) => {
      reply.headers(PAUSE_IS_DEPRECATED);
      return hold(request, request.params.name);
    },
  );

  app.post(
    '/lanes/:name/resume',
    {
      config: CONTROL,
      schema: {
        operationId: 'resumeLane',
        summary: 'Resume a held, paused, or stopped lane',
        description: 'If an error stopped the lane, fix its cause first.',
        tags: ['Lanes'],
        params: laneName,
        response: {
          200: jsonResponse('The lane and its new state', laneState),
          ...problemResponses('notFound'),
        },
      },
    },
    async (request) => {
      const { name } = await requireStatus(request, request.params.name);
      await actingFor(volley, request).resumeLane(name);
      const { state } = await requireStatus(request, name);
      return { lane: name, state };
    },
  );

  app.post(
    '/lanes/:name/rename',
    {
      config: CONTROL,
      schema: {
        operationId: 'renameLane',
        summary: 'Rename a lane',
        description:
          'The quota and the campaigns of the lane stay with it. Running processes, such as this API, keep the old name until you restart them with the new one in their settings. Requires a key for all lanes.',
        tags: ['Lanes'],
        params: laneName,
        body: z.strictObject({ name: z.string().min(1).max(100).describe('The new name') }),
        response: {
          200: jsonResponse(
            'The lane has its new name',
            z.object({ lane: z.string(), from: z.string(), id: z.string() }),
          ),
          ...problemResponses('notFound', 'badInput'),
        },
      },
    },
    async (request) => {
      const { name: from } = request.params;
      const { name: lane } = request.body;
      requireAllLanes(apiKeyOf(request), 'The names of lanes');
      const { id } = await actingFor(volley, request).renameLane(from, lane);
      return { lane, from, id };
    },
  );
};
