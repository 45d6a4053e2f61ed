import { z } from 'zod';
import { time } from '../campaign/measures.js';
import type { WorkerProcess } from '../engine/recovery/heartbeats.js';
import { ROLES } from '../engine/recovery/roles.js';
import { allLanes } from './access.js';
import { call } from './operation.js';
import { count } from './schemas.js';

/** A worker process. */
const worker: z.ZodType<WorkerProcess> = z
  .object({
    id: z.string(),
    roles: z.array(z.enum(ROLES)),
    since: time,
    host: z.string(),
    pid: count,
    settings: z
      .record(z.string(), z.string())
      .describe('The settings that all workers must share, by name, as texts for people'),
    lacks: z.array(z.string()).describe('Lanes that it cannot serve, because it lacks their credentials'),
    format: count.describe('The format of the data that it stores'),
  })
  .meta({ id: 'Worker' });

export const listWorkers = call({
  name: 'listWorkers',
  summary: 'List the worker processes',
  description: 'Those with a heartbeat in the last 10 s.',
  tag: 'Operation',
  scope: 'read',
  access: allLanes('Workers'),
  http: 'GET /workers',
  cli: { because: '`volley doctor` shows what is wrong with them' },
  input: z.strictObject({}),
  output: z.object({ workers: z.array(worker) }),
  returns: 'The workers',
  run: async (volley) => ({ workers: await volley.workers() }),
});
