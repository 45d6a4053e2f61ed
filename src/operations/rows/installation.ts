import { z } from 'zod';
import { type Check, check } from '../../campaign/views/check-views.js';
import { time } from '../../campaign/views/measures.js';
import type { WorkerProcess } from '../../engine/recovery/heartbeats.js';
import { ROLES } from '../../engine/recovery/roles.js';
import { allLanes } from '../access.js';
import { call } from '../operation.js';
import { count } from '../schemas/schemas.js';

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
  description: 'Returns the processes with a heartbeat in the last 10 s.',
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

export const runDoctor = call({
  name: 'runDoctor',
  summary: 'Check Redis, the workers, and what fails',
  description:
    'Runs the checks of `volley doctor` that need only Redis: its settings and memory, the workers, every lane, keys, outboxes, schedules, and webhooks. Each failed check says what to do. It changes nothing, and calls no service.',
  tag: 'Operation',
  scope: 'admin',
  cost: { tokens: 10 },
  access: allLanes('Checks'),
  http: 'GET /doctor',
  cli: { because: '`volley doctor` runs it, and checks the settings of its machine as well' },
  input: z.strictObject({}),
  output: z.object({
    ok: z.boolean().describe('Whether no check has failed'),
    checks: z.array(check),
  }),
  returns: 'The result of each check',
  async run(volley) {
    const checks: Check[] = [];
    for await (const result of volley.examine()) checks.push(result);
    return { ok: !checks.some(({ state }) => state === 'fail'), checks };
  },
});
