import { z } from 'zod';
import { RECIPIENT_STATES } from '../campaign/recipient.js';
import { formatReport } from '../reporting/report-file.js';
import { parseReportedStatus } from '../reporting/reported-status.js';
import { answerInPieces } from './body-stream.js';
import { campaignId, mustSeeCampaign } from './campaign-id.js';
import { refused } from './responses.js';
import type { Routes } from './routes.js';

const TYPES = { csv: 'text/csv; charset=utf-8; header=present', ndjson: 'application/x-ndjson' } as const;

/** Accepts what {@link parseReportedStatus} accepts; the document lists the states. */
const reportedStatus = z.preprocess(
  (text) => (typeof text === 'string' ? (parseReportedStatus(text) ?? text) : text),
  z.enum(RECIPIENT_STATES),
);

/** What became of each recipient. */
export const report: Routes = (app, { volley }) => {
  app.get(
    '/campaigns/:id/report',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getReport',
        summary: 'What became of each recipient',
        description:
          'As a stream, a line for each recipient in the order of the list; those suppressed at the import come last. An answer that breaks off ends without its last chunk. In CSV a reason or id that a spreadsheet would take for a formula has an apostrophe before it.',
        tags: ['Campaigns'],
        params: campaignId,
        querystring: z.strictObject({
          format: z
            .enum(['csv', 'ndjson'])
            .default('csv')
            .describe('Lines of CSV below a header, or of JSON'),
          status: reportedStatus
            .optional()
            .describe(
              'Only recipients with this status. `delivered` is short for `deliveredToTerminal`, and the spelling of the messaging interface (`DeliveredToTerminal`) is accepted, too.',
            ),
        }),
        response: {
          200: {
            description: 'The report',
            content: {
              'text/csv': { schema: z.string() },
              'application/x-ndjson': { schema: z.string() },
            },
          },
          ...refused('notFound'),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      await mustSeeCampaign(volley, request, id);
      const { format, status } = request.query;
      const rows = volley.report(id, status === undefined ? {} : { status });
      reply.type(TYPES[format]).header('content-disposition', `attachment; filename="${id}.${format}"`);
      return answerInPieces(reply, formatReport(rows, format), volley);
    },
  );
};
