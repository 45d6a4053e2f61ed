import { z } from 'zod';
import { type LaneStatus, laneStatus } from '../campaign/views.js';
import { keyOf, maySee, mustSee } from './access.js';
import { Problem } from './problem.js';
import { answered, refused } from './responses.js';
import type { Routes } from './routes.js';

const laneName = z.strictObject({ name: z.string().min(1).max(100) });
const commanded = z.object({ lane: z.string(), state: z.string() });

/** The lanes that a key may see. */
export const lanes: Routes = (app, { volley }) => {
  const lanesOf = async (request: Parameters<typeof keyOf>[0]): Promise<LaneStatus[]> =>
    (await volley.lanes()).filter(({ name }) => maySee(keyOf(request), name));
  const laneOf = async (request: Parameters<typeof keyOf>[0], wanted: string): Promise<LaneStatus> => {
    mustSee(keyOf(request), wanted);
    const found = (await volley.lanes()).find(({ name }) => name === wanted);
    if (found === undefined) throw new Problem('notFound', `there is no lane ${wanted}`);
    return found;
  };

  app.get(
    '/lanes',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'listLanes',
        summary: 'See how the lanes stand',
        tags: ['Lanes'],
        response: { 200: answered('How each lane stands now', z.object({ lanes: z.array(laneStatus) })) },
      },
    },
    async (request) => ({ lanes: await lanesOf(request) }),
  );

  app.get(
    '/lanes/:name',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getLane',
        summary: 'See how a lane stands',
        tags: ['Lanes'],
        params: laneName,
        response: { 200: answered('How it stands now', laneStatus), ...refused('notFound') },
      },
    },
    async (request) => laneOf(request, request.params.name),
  );

  app.post(
    '/lanes/:name/pause',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'pauseLane',
        summary: 'Hold a lane',
        description: 'None of its requests starts before it is resumed.',
        tags: ['Lanes'],
        params: laneName,
        response: { 200: answered('It is held', commanded), ...refused('notFound') },
      },
    },
    async (request) => {
      const { name } = await laneOf(request, request.params.name);
      await volley.pauseLane(name);
      return { lane: name, state: 'held' };
    },
  );

  app.post(
    '/lanes/:name/resume',
    {
      config: { scope: 'operate' },
      schema: {
        operationId: 'resumeLane',
        summary: 'Open a lane that was held, paused or stopped',
        description: 'What stopped it should be mended first.',
        tags: ['Lanes'],
        params: laneName,
        response: { 200: answered('What it is in now', commanded), ...refused('notFound') },
      },
    },
    async (request) => {
      const { name } = await laneOf(request, request.params.name);
      await volley.resumeLane(name);
      const { state } = await laneOf(request, name);
      return { lane: name, state };
    },
  );
};
