import { z } from 'zod';
import { auditEntry } from '../../campaign/audit.js';
import { requireLane } from '../../operations/access.js';
import { apiKeyOf } from './access.js';
import { cursor, cursorOf, nextCursor, positionOf } from './cursor.js';
import { jsonResponse, type Routes } from './routes.js';

/** Shows the audit trail. */
export const audit: Routes = (app, { volley }) => {
  app.get(
    '/audit',
    {
      config: { cost: { itemsPerToken: 50, defaultLimit: 50 }, scope: 'read' },
      schema: {
        operationId: 'listAuditEntries',
        summary: 'List who did what',
        description:
          'The operations of the HTTP API, the command line, and the library, newest first: each entry was written before its operation ran, and a second entry follows if the operation failed. `key.refused` counts the requests with an invalid key per address and minute, and `request.refused` those of a valid key that got an error, per key, `code`, and minute. An export is the reading of a whole list. Phone numbers are masked. A key that is limited to lanes sees the operations of its lanes. A page may be short or empty before the last one: continue until `nextCursor` is null.',
        tags: ['Operation'],
        querystring: z.strictObject({
          lane: z.string().min(1).max(100).optional().describe('Only operations of this lane'),
          campaign: z.string().min(1).max(40).optional().describe('Only operations of this campaign'),
          limit: z.coerce.number().int().min(1).max(200).default(50).describe('The page size'),
          cursor,
        }),
        response: {
          200: jsonResponse(
            'A page of the audit trail, newest first',
            z.object({
              entries: z.array(auditEntry),
              nextCursor,
            }),
          ),
        },
      },
    },
    async (request) => {
      const { lane, campaign, limit } = request.query;
      const key = apiKeyOf(request);
      if (lane !== undefined) requireLane(key, lane);
      const lanes = lane === undefined ? (key.lanes ?? undefined) : [lane];
      const after = await positionOf(volley, 'audit', request.query.cursor);
      const { entries, next } = await volley.audit({ lanes, campaign, limit, after });
      return { entries, nextCursor: await cursorOf(volley, 'audit', next) };
    },
  );
};
