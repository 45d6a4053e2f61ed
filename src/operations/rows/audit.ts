import { z } from 'zod';
import { auditEntry } from '../../campaign/states/audit.js';
import { byLanesOfKey } from '../access.js';
import { page } from '../operation.js';
import { LANE_FLAG, onlyOfLane } from '../schemas/schemas.js';

export const listAuditEntries = page({
  name: 'listAuditEntries',
  summary: 'List who did what',
  description:
    'The operations of the HTTP API, the command line, and the library, newest first: each entry was written before its operation ran, and a second entry follows if the operation failed. `key.refused` counts the requests with an invalid key per address and minute, and `request.refused` those of a valid key that got an error, per key, `code`, and minute. An export is the reading of a whole list. Phone numbers are masked. A key that is limited to lanes sees the operations of its lanes.',
  tag: 'Operation',
  scope: 'read',
  cost: { itemsPerToken: 50 },
  access: byLanesOfKey,
  http: 'GET /audit',
  cli: {
    usage: 'audit',
    description:
      'The operations of the command line, the HTTP API, and programs, newest first, and how many requests had an invalid key. AUDIT_RETENTION says how long they are kept.',
    flags: {
      lane: LANE_FLAG,
      campaign: { value: 'id' },
    },
    examples: ['audit', 'audit --lane default --limit 200'],
  },
  input: z.strictObject({
    lane: onlyOfLane('operations'),
    campaign: z.string().min(1).max(40).optional().describe('Only operations of this campaign'),
  }),
  member: 'entries',
  item: auditEntry,
  returns: 'A page of the audit trail, newest first',
  position: 'audit',
  limit: { max: 200, usual: 50 },
  shown: { max: 100_000, usual: 50 },
  async run(volley, { campaign, limit, cursor }, { lanes }) {
    const { entries, nextCursor } = await volley.audit({ lanes, campaign, limit, cursor });
    return { items: entries, nextCursor };
  },
});
