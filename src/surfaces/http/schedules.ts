import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DURATION_FORM, parseDuration } from '../../base/duration.js';
import { NotFoundError } from '../../campaign/errors.js';
import {
  MAX_INLINE_RECIPIENTS,
  OVERLAPS,
  schedule,
  scheduleDetails,
} from '../../intake/schedules/schedule.js';
import { laneMeant, requireAllLanes } from '../../operations/access.js';
import { fieldsIn, membersOf } from '../../operations/campaign-members.js';
import { longList } from '../../operations/schemas.js';
import { actingFor, apiKeyOf, callerOf, lanesFor, type NamesLane, onLane } from './access.js';
import { listOfRows, recipient } from './campaign-request.js';
import { invalidMember, Problem } from './problem.js';
import { redactedFor } from './redact.js';
import { CONTROL, jsonResponse, problemResponses, type Routes } from './routes.js';

const scheduleId = z.strictObject({ id: z.string().min(1).max(64) });
const MAX_PAGE = 200;
const time = z.string().describe('ISO 8601, UTC');

const scheduleRequest = z
  .strictObject({
    id: z
      .string()
      .min(1)
      .max(64)
      .describe(
        'Names the schedule: lower-case letters, digits, and `-`, `_`, or `.`. Repeating a request with the same id and content changes nothing.',
      ),
    cron: z
      .string()
      .max(200)
      .describe('Minute, hour, day of the month, month, day of the week: `0 9 * * 1` is Monday at nine.'),
    zone: z.string().max(100).describe('The IANA time zone of `cron` and `window`, such as `Europe/London`'),
    recipients: longList(recipient)
      .optional()
      .describe(`The list, which is stored with the schedule: up to ${MAX_INLINE_RECIPIENTS} recipients`),
    provided: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe(
        'Instead of `recipients`: the list that the code of the workers provides under this name. The key must not be limited to lanes.',
      ),
    overlap: z
      .enum(OVERLAPS)
      .optional()
      .describe(
        'If the last campaign still has messages to send: skip this time, wait, or send all the same. Default: `skip`.',
      ),
    catchUp: z
      .string()
      .refine((text) => parseDuration(text) !== undefined, `Use ${DURATION_FORM}`)
      .optional()
      .describe(
        'After downtime, the newest missed occurrence runs if it is at most this late. Default: `1h`.',
      ),
    ...membersOf('schedule'),
  })
  .meta({
    examples: [
      {
        id: 'weekly',
        cron: '0 9 * * 1',
        zone: 'Europe/London',
        sender: 'ACME',
        message: 'Hi {{name}}, the market opens at ten.',
        recipients: [{ to: '+447700900123', name: 'Ada' }],
      },
    ],
  });

/** Adds, shows, runs, pauses, resumes, and removes schedules. */
export const schedules: Routes = (app, { volley, config }) => {
  /** The schedule that a request names. The error is the same for one on a lane that the key may not use. */
  const requireSchedule = async (
    request: FastifyRequest & NamesLane & { readonly params: { readonly id: string } },
  ) => {
    const { id } = request.params;
    const missing = (): Problem => new Problem('notFound', `There is no schedule ${id}.`);
    const lanes = lanesFor(request);
    return volley.schedules.get(id, { lanes }).catch((error: unknown) => {
      throw error instanceof NotFoundError ? missing() : error;
    });
  };

  app.get(
    '/schedules',
    {
      config: { cost: { itemsPerToken: 25, defaultLimit: 50 }, scope: 'read' },
      schema: {
        operationId: 'listSchedules',
        summary: 'List the schedules',
        description:
          'By id, only those on lanes that the key may use. Continue with `after` until `next` is null.',
        tags: ['Schedules'],
        querystring: z.strictObject({
          limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(50).describe('The page size'),
          after: z
            .string()
            .regex(/^[^/]{1,64}\/[^/]{1,64}$/, 'Use the `next` of the page before')
            .optional()
            .describe('The `next` of the page before'),
        }),
        response: {
          200: jsonResponse(
            'A page of schedules',
            z.object({
              schedules: z.array(schedule),
              next: z.string().nullable().describe('The `after` of the next page; null on the last one'),
            }),
          ),
        },
      },
    },
    async (request) => {
      const { limit, after } = request.query;
      const lanes = apiKeyOf(request).lanes ?? undefined;
      const [id = '', lane = ''] = after?.split('/') ?? [];
      const from = after === undefined ? undefined : { id, lane };
      const found = await volley.schedules.list({ lanes, after: from, limit: limit + 1 });
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return {
        schedules: page,
        next: found.length > limit && last !== undefined ? `${last.id}/${last.lane}` : null,
      };
    },
  );

  app.post(
    '/schedules',
    {
      config: { scope: 'send', list: 'recipients', keepsList: true, transfersList: true },
      schema: {
        operationId: 'addSchedule',
        summary: 'Add a schedule',
        description:
          'Creates a campaign each time the schedule is due, at most one per occurrence. The status is 201 for a new schedule, and 200 if the same one exists. A schedule that reads a file can be added only on the command line or in code.',
        tags: ['Schedules'],
        body: scheduleRequest,
        response: {
          200: jsonResponse('The same schedule exists', schedule),
          201: jsonResponse('The new schedule. `Location` is its address.', schedule),
          ...problemResponses('keyFull'),
        },
      },
    },
    async (request, reply) => {
      const { id, cron, zone, overlap, recipients, provided, catchUp, lane } = request.body;
      if ((recipients === undefined) === (provided === undefined))
        throw invalidMember('recipients', 'Send either `recipients` or `provided`');
      // A provided list is one of the installation, and not of the party that a limited key belongs to.
      if (provided !== undefined) requireAllLanes(apiKeyOf(request), 'Lists that code provides');
      const { kind, schedule: made } = await actingFor(volley, request).schedules.add({
        ...fieldsIn('schedule', request.body),
        id,
        cron,
        zone,
        overlap,
        lane: laneMeant(callerOf(request, config), lane),
        recipients:
          recipients === undefined
            ? { provided: provided ?? '' }
            : await listOfRows(recipients, MAX_INLINE_RECIPIENTS),
        catchUpMs: catchUp === undefined ? undefined : parseDuration(catchUp),
      });
      return reply
        .code(kind === 'added' ? 201 : 200)
        .header('location', `/v1/schedules/${made.id}?lane=${made.lane}`)
        .send(made);
    },
  );

  app.get(
    '/schedules/:id',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getSchedule',
        summary: 'Get a schedule and its latest occurrences',
        tags: ['Schedules'],
        params: scheduleId,
        querystring: onLane,
        response: {
          200: jsonResponse('The schedule', scheduleDetails),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => requireSchedule(request),
  );

  app.get(
    '/schedules/:id/next',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getNextOccurrences',
        summary: 'List when a schedule is due next',
        tags: ['Schedules'],
        params: scheduleId,
        querystring: onLane.extend({ count: z.coerce.number().int().min(1).max(1_000).default(5) }),
        response: {
          200: jsonResponse(
            'The next times; of a paused schedule, when it would be due',
            z.object({ id: z.string(), zone: z.string(), next: z.array(time) }),
          ),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => {
      const { id, zone, lane } = await requireSchedule(request);
      return { id, zone, next: await volley.schedules.next(id, request.query.count, { lanes: [lane] }) };
    },
  );

  app.post(
    '/schedules/:id/run',
    {
      config: { scope: 'send' },
      schema: {
        operationId: 'runSchedule',
        summary: 'Run a schedule now',
        description:
          'A worker performs the run within seconds, also while the schedule is paused. The schedule then lists an occurrence with this `at`. Repeating the request before that changes nothing.',
        tags: ['Schedules'],
        params: scheduleId,
        querystring: onLane,
        response: {
          202: jsonResponse('The run is requested', z.object({ id: z.string(), at: time })),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request, reply) => {
      const { id, lane } = await requireSchedule(request);
      const { at } = await actingFor(volley, request).schedules.run(id, { lanes: [lane] });
      return reply.code(202).send({ id, at });
    },
  );

  app.post(
    '/schedules/:id/pause',
    {
      config: CONTROL,
      schema: {
        operationId: 'pauseSchedule',
        summary: 'Pause a schedule',
        description:
          'What is due meanwhile does not run. Its campaigns continue. The text is empty for a key without the scope `read`.',
        tags: ['Schedules'],
        params: scheduleId,
        querystring: onLane,
        response: {
          200: jsonResponse('The schedule is paused', scheduleDetails),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => {
      const { id, lane } = await requireSchedule(request);
      await actingFor(volley, request).schedules.pause(id, { lanes: [lane] });
      return redactedFor(apiKeyOf(request), await volley.schedules.get(id, { lanes: [lane] }));
    },
  );

  app.post(
    '/schedules/:id/resume',
    {
      config: CONTROL,
      schema: {
        operationId: 'resumeSchedule',
        summary: 'Resume a schedule',
        description:
          'It continues with its next occurrence. The text is empty for a key without the scope `read`.',
        tags: ['Schedules'],
        params: scheduleId,
        querystring: onLane,
        response: {
          200: jsonResponse('The schedule is active', scheduleDetails),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => {
      const { id, lane } = await requireSchedule(request);
      await actingFor(volley, request).schedules.resume(id, { lanes: [lane] });
      return redactedFor(apiKeyOf(request), await volley.schedules.get(id, { lanes: [lane] }));
    },
  );

  app.delete(
    '/schedules/:id',
    {
      config: CONTROL,
      schema: {
        operationId: 'removeSchedule',
        summary: 'Remove a schedule',
        description: 'Its stored list and its history are deleted. Its campaigns remain.',
        tags: ['Schedules'],
        params: scheduleId,
        querystring: onLane,
        response: {
          200: jsonResponse(
            'The schedule is removed',
            z.object({ id: z.string(), state: z.literal('removed') }),
          ),
          ...problemResponses('ambiguous', 'notFound'),
        },
      },
    },
    async (request) => {
      const { id, lane } = await requireSchedule(request);
      await actingFor(volley, request).schedules.remove(id, { lanes: [lane] });
      return { id, state: 'removed' as const };
    },
  );
};
