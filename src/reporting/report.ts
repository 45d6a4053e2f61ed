import { requestReference } from '../campaign/campaign-id.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';
import type { ReportRow } from '../campaign/views.js';
import { type CampaignMeta, findLane, readMeta } from '../lane/campaigns.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { type OrdinalRecord, recipientReader } from './recipient-reader.js';
import { parseReportedStatus } from './reported-status.js';

/** Which recipients a report contains. */
interface ReportOptions {
  /** Only recipients with this status, in any spelling that `parseReportedStatus` accepts; default all. */
  readonly status?: string | undefined;
}

/** Reports on recipients. */
export interface Reports {
  /** Every recipient of a campaign, in the order of the list; those suppressed at the import come last. */
  report(id: string, options?: ReportOptions): AsyncIterable<ReportRow>;
}

/** Why a recipient was not sent to, for states that no request explains. */
const REASONS: Partial<Readonly<Record<RecipientState, string>>> = {
  lapsed: 'its validity ended before it was sent',
  cancelled: 'cancelled before it was sent',
  suppressed: 'on the suppression list',
};

/**
 * Yields the rows of a report. Memory use is constant: it reads some thousand recipients at a time, each with its state
 * at that moment. Throws a NotFoundError if the campaign does not exist or is removed meanwhile, so that an incomplete
 * report never looks complete, and an InputError for an invalid status.
 */
export async function* reportRows(
  redis: Redis,
  keys: Keys,
  id: string,
  { status }: ReportOptions = {},
): AsyncGenerator<ReportRow> {
  const only = status === undefined ? undefined : mustBeStatus(status);
  const lane = await findLane(redis, keys, id);
  const meta = lane === null ? null : await readMeta(redis, keys, lane, id);
  if (meta === null)
    throw new NotFoundError(`campaign ${id} does not exist; \`volley list\` shows all campaigns`);
  const reader = recipientReader(redis, keys, meta.lane, id);
  // A removal deletes the index entry first. If the entry still exists, everything read so far was complete.
  const mustExist = async (): Promise<void> => {
    if ((await findLane(redis, keys, id)) !== null) return;
    throw new NotFoundError(`campaign ${id} was removed while its report was read`);
  };
  for (let from = 0; ; ) {
    const chunk = await reader.chunk(from, (state) => only === undefined || state === only);
    await mustExist();
    if (chunk === null) break;
    for (const record of chunk.records) yield reportRow(meta, record);
    from = chunk.next;
  }
  if (only !== undefined && only !== 'suppressed') return;
  for await (const number of reader.suppressed()) yield suppressedRow(number);
  await mustExist();
}

/** The report row of a recipient that is part of the campaign. */
export function reportRow(
  meta: CampaignMeta,
  { number, state, request, claim, claimedAt }: OrdinalRecord,
): ReportRow {
  const wasSent = !['suppressed', 'rejected'].includes(state);
  return {
    recipient: number,
    status: state,
    reason: request?.reason || (REASONS[state] ?? ''),
    requestId: request?.requestId || (claim === null ? '' : requestReference(meta.id, claim)),
    sentAt: request === null || !wasSent ? '' : iso(request.sentAt),
    updatedAt: request === null ? (claimedAt === null ? '' : iso(claimedAt)) : iso(request.updatedAt),
  };
}

/** The report row of a recipient that was suppressed at the import. */
export function suppressedRow(number: string): ReportRow {
  const reason = REASONS.suppressed ?? '';
  return { recipient: number, status: 'suppressed', reason, requestId: '', sentAt: '', updatedAt: '' };
}

function mustBeStatus(text: string): RecipientState {
  const status = parseReportedStatus(text);
  if (status !== null) return status;
  throw new InputError(`invalid status ${JSON.stringify(text)}: use one of ${RECIPIENT_STATES.join(', ')}`);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
