import { z } from 'zod';
import { CAMPAIGN_STATES } from '../../campaign/campaign.js';
import { InputError } from '../../campaign/errors.js';
import type { TimeRange } from '../../campaign/measures.js';
import { readMoment } from '../../campaign/moment.js';
import { parseReportedStatus, REPORTED_STATUSES } from '../../campaign/recipient.js';
import { recipientPage, reportRow } from '../../campaign/recipient-views.js';
import { type CampaignStatus, campaignStatus } from '../../campaign/views.js';
import { formatReport } from '../../reporting/report-file.js';
import { actingFor, apiKeyOf, campaignId, requireCampaign, requireLane } from './access.js';
import { sendStream } from './body-stream.js';
import { isUnchanged, sendUnchanged } from './conditional.js';
import { cursor, cursorOf, nextCursor, positionOf } from './cursor.js';
import { Problem } from './problem.js';
import { redactedFor } from './redact.js';
import { CONTROL, count, jsonResponse, problemResponses, type Routes } from './routes.js';

const page = z.object({
  campaigns: z.array(campaignStatus),
  nextCursor,
});

const REPORT_TYPES = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
} as const;

/** Accepts every spelling that {@link parseReportedStatus} accepts; the OpenAPI document lists the states. */
const reportedStatus = z.preprocess(
  (text) => (typeof text === 'string' ? (parseReportedStatus(text) ?? text) : text),
  z.enum(REPORTED_STATUSES),
);

/** A query parameter with a time. In an address, an unescaped plus sign is a space. */
const moment = z
  .string()
  .transform((text) => text.replace(' ', '+'))
  .refine((text) => readMoment(text).kind === 'moment', {
    error: 'Use ISO 8601 with a time zone, such as YYYY-MM-DDThh:mmZ',
  });

function msOf(text: string | undefined): number | undefined {
  const read = text === undefined ? undefined : readMoment(text);
  return read?.kind === 'moment' ? read.at : undefined;
}

const commandProblems = problemResponses('notFound', 'invalidState');

/** Lists campaigns, shows their status and report, and pauses, resumes, cancels, and resolves them. */
export const campaigns: Routes = (app, { volley }) => {
  app.get(
    '/campaigns',
    {
      config: { cost: { itemsPerToken: 5, defaultLimit: 50 }, scope: 'status' },
      schema: {
        operationId: 'listCampaigns',
        summary: 'List campaigns',
        description:
          'The newest come first. A page may be short or empty before the last one: continue until `nextCursor` is null.',
        tags: ['Campaigns'],
        querystring: z.strictObject({
          state: z.enum(CAMPAIGN_STATES).optional(),
          lane: z.string().min(1).max(100).optional().describe('Only campaigns of this lane'),
          name: z.string().min(1).max(200).optional().describe('A part of the name, in upper or lower case'),
          idempotencyKey: z
            .string()
            .min(1)
            .max(255)
            .optional()
            .describe('Only campaigns with this `Idempotency-Key`'),
          createdFrom: moment
            .optional()
            .describe('Created at or after this time, in ISO 8601 with a time zone'),
          createdBefore: moment.optional().describe('Created before this time, in ISO 8601 with a time zone'),
          limit: z.coerce.number().int().min(1).max(200).default(50).describe('The page size'),
          cursor,
        }),
        response: { 200: jsonResponse('A page of campaigns, newest first', page) },
      },
    },
    async (request) => {
      const { lane, createdFrom, createdBefore, cursor: after, ...filters } = request.query;
      const key = apiKeyOf(request);
      if (lane !== undefined) requireLane(key, lane);
      const lanes = lane === undefined ? (key.lanes ?? undefined) : [lane];
      const found = await volley.page({
        ...filters,
        createdFrom: msOf(createdFrom),
        createdBefore: msOf(createdBefore),
        after: await positionOf(volley, 'campaigns', after),
        lanes,
      });
      return {
        campaigns: redactedFor(key, found.campaigns),
        nextCursor: await cursorOf(volley, 'campaigns', found.next),
      };
    },
  );

  app.get(
    '/campaigns/:id',
    {
      config: { scope: 'status', hasEtag: true },
      schema: {
        operationId: 'getCampaign',
        summary: 'Get the status of a campaign',
        tags: ['Campaigns'],
        params: campaignId,
        response: {
          200: jsonResponse('The current status', campaignStatus),
          ...problemResponses('notFound'),
        },
      },
    },
    async (request, reply) => {
      const status = redactedFor(
        apiKeyOf(request),
        await volley.status(await requireCampaign(volley, request)),
      );
      return isUnchanged(request, reply, versionOf(status)) ? sendUnchanged(reply) : status;
    },
  );

  app.get(
    '/campaigns/:id/report',
    {
      config: { scope: 'read', transfersList: true, hasEtag: true },
      schema: {
        operationId: 'getReport',
        summary: 'Get the report of a campaign',
        description:
          'Streams one line for each recipient, in the order of the list. Recipients suppressed during the import follow, and then, with the status `duplicate`, the rows that were left out because their number is that of an earlier row (the first 100,000). An incomplete response ends without its last chunk, which HTTP clients report as an error. In CSV, a reason or id that a spreadsheet would read as a formula is preceded by an apostrophe.',
        tags: ['Campaigns'],
        params: campaignId,
        querystring: z.strictObject({
          format: z
            .enum(['csv', 'ndjson'])
            .default('csv')
            .describe('CSV with a header line, or one JSON object per line'),
          status: reportedStatus
            .optional()
            .describe(
              'Only recipients with this status. `delivered` is short for `deliveredToTerminal`, and the spelling of the messaging interface (`DeliveredToTerminal`) is accepted, too.',
            ),
        }),
        response: {
          200: {
            description: 'The report. As NDJSON, the schema is that of each line.',
            content: { 'text/csv': { schema: z.string() }, 'application/x-ndjson': { schema: reportRow } },
          },
          ...problemResponses('notFound'),
        },
      },
    },
    async (request, reply) => {
      const id = await requireCampaign(volley, request);
      const { format, status } = request.query;
      const version = JSON.stringify([await volley.reportVersion(id), format, status]);
      if (isUnchanged(request, reply, version)) return sendUnchanged(reply);
      const rows = actingFor(volley, request).report(id, status === undefined ? {} : { status });
      reply
        .type(REPORT_TYPES[format])
        .header('content-disposition', `attachment; filename="${id}.${format}"`);
      return sendStream(reply, formatReport(rows, format), volley);
    },
  );

  app.get(
    '/campaigns/:id/recipients',
    {
      config: { cost: { itemsPerToken: 250, defaultLimit: 100 }, scope: 'read', transfersList: true },
      schema: {
        operationId: 'listRecipients',
        summary: 'List the recipients of a campaign',
        description:
          'A page of the report: the recipients in the order of the list, then those suppressed during the import, then the rows that were left out because their number is that of an earlier row. A page may be short before the last one: continue until `next` is null.',
        tags: ['Campaigns'],
        params: campaignId,
        querystring: z.strictObject({
          from: z.coerce
            .number()
            .int()
            .min(0)
            .default(0)
            .describe('The first position: 0, or the `next` of the previous page'),
          limit: z.coerce.number().int().min(1).max(10_000).default(100).describe('The page size'),
          status: reportedStatus
            .optional()
            .describe('Only recipients with this status, in any spelling that the report accepts'),
        }),
        response: {
          200: jsonResponse('A page of recipients', recipientPage),
          ...problemResponses('notFound'),
        },
      },
    },
    async (request) => volley.recipients(await requireCampaign(volley, request), request.query),
  );

  app.post(
    '/campaigns/:id/pause',
    {
      config: CONTROL,
      schema: {
        operationId: 'pauseCampaign',
        summary: 'Pause a campaign',
        description:
          'After the response, no request of the campaign starts. `inFlight` requests are still in flight.',
        tags: ['Campaigns'],
        params: campaignId,
        response: {
          200: jsonResponse(
            'The campaign is paused',
            z.object({ id: z.string(), state: z.literal('paused'), inFlight: count }),
          ),
          ...commandProblems,
        },
      },
    },
    async (request) => {
      const id = await requireCampaign(volley, request);
      const { inFlight } = await inValidState(actingFor(volley, request).pause(id));
      return { id, state: 'paused' as const, inFlight };
    },
  );

  app.post(
    '/campaigns/:id/resume',
    {
      config: CONTROL,
      schema: {
        operationId: 'resumeCampaign',
        summary: 'Resume a paused campaign',
        tags: ['Campaigns'],
        params: campaignId,
        response: {
          200: jsonResponse(
            'The campaign and its new state',
            z.object({ id: z.string(), state: z.string() }),
          ),
          ...commandProblems,
        },
      },
    },
    async (request) => {
      const id = await requireCampaign(volley, request);
      await inValidState(actingFor(volley, request).resume(id));
      const { state } = await volley.status(id);
      return { id, state };
    },
  );

  app.post(
    '/campaigns/:id/cancel',
    {
      config: CONTROL,
      schema: {
        operationId: 'cancelCampaign',
        summary: 'Cancel a campaign permanently',
        description:
          'After the response, no request of the campaign starts. Delivery reports of messages already sent still arrive.',
        tags: ['Campaigns'],
        params: campaignId,
        response: {
          200: jsonResponse(
            'The campaign is cancelled',
            z.object({
              id: z.string(),
              state: z.literal('cancelled'),
              cancelled: count.describe('Recipients that receive no message'),
              inFlight: count.describe('Requests still in flight'),
            }),
          ),
          ...commandProblems,
        },
      },
    },
    async (request) => {
      const id = await requireCampaign(volley, request);
      const { cancelled, inFlight } = await inValidState(actingFor(volley, request).cancel(id));
      return { id, state: 'cancelled' as const, cancelled, inFlight };
    },
  );

  app.post(
    '/campaigns/:id/resolve',
    {
      config: CONTROL,
      schema: {
        operationId: 'resolveCampaign',
        summary: 'Resolve requests with an unknown outcome',
        description:
          'Decides what happens to requests that may or may not have been accepted. `resend` sends the messages again, at the risk that recipients receive them twice; `abandon` gives them up; `accepted` counts them as accepted. Without `request`, all of the campaign are resolved.',
        tags: ['Campaigns'],
        params: campaignId,
        body: z.strictObject({
          as: z.enum(['resend', 'abandon', 'accepted']),
          request: z
            .string()
            .min(1)
            .max(100)
            .optional()
            .describe('Only this request, by the reference that the status of the campaign shows'),
        }),
        response: {
          200: jsonResponse(
            'The requests and recipients that were resolved',
            z.object({
              requests: count,
              recipients: count,
              tooEarly: z
                .object({ requests: count, until: z.string() })
                .readonly()
                .nullable()
                .describe(
                  'Requests that were not resolved because a worker may still be sending them, and when that can no longer be',
                ),
            }),
          ),
          ...commandProblems,
        },
      },
    },
    async (request) => {
      const id = await requireCampaign(volley, request);
      return inValidState(actingFor(volley, request).resolve(id, request.body));
    },
  );
};

/** The input of these commands has been validated, so what the library rejects is the state of the campaign. */
async function inValidState<Result>(command: Promise<Result>): Promise<Result> {
  try {
    return await command;
  } catch (error) {
    if (error instanceof InputError) throw new Problem('invalidState', error.message);
    throw error;
  }
}

/**
 * The content of a status for its `ETag`, without what changes with the clock alone: the rate, and the earliest times of the estimates.
 * The latest times count to the minute.
 */
function versionOf({ rate: _rate, eta, completion, ...status }: CampaignStatus): string {
  const bound = (range: TimeRange | null) =>
    range && { latest: range.latest?.slice(0, 'yyyy-mm-ddThh:mm'.length), reason: range.reason };
  return JSON.stringify({ ...status, eta: bound(eta), completion: bound(completion) });
}
