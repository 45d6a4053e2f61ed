import { requestReference } from '../campaign/campaign.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { parseReportedStatus, RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';
import type { FoundRecipient, ReportRow } from '../campaign/views.js';
import type { LocalConfig } from '../config/index.js';
import { type CampaignMeta, findLane, listCampaigns, readMeta } from '../lane/campaigns.js';
import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';
import { inBatches } from './in-batches.js';
import { type OrdinalRecord, recipientReader } from './recipient-reader.js';

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

/** Where and how to search for a number. */
interface FindOptions {
  /** Country of a number in national format; default `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
  /** Only campaigns of these lanes; default all. */
  readonly lanes?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Finds recipients by number. */
export interface RecipientFinder {
  /**
   * The recipient with this number in every campaign that has it, newest campaign first. Throws an InputError if the
   * number is invalid, and the signal's reason when it fires.
   */
  find(number: string, options?: FindOptions): AsyncIterable<FoundRecipient>;
}

/** What {@link findRecipients} needs. */
interface FindDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: Pick<LocalConfig, 'defaultCountry'>;
}

/** Campaigns that are searched at the same time. */
const SEARCHED_AT_ONCE = 50;

/**
 * Finds recipients as {@link RecipientFinder.find} does. There is no index by number, because it would take more memory
 * than everything else that is stored of a recipient. The search reads the numbers of all campaigns: 6 MB and about 0.2 s
 * per million recipients.
 */
export async function* findRecipients(
  { redis, keys, config }: FindDeps,
  text: string,
  { country, lanes, signal }: FindOptions = {},
): AsyncGenerator<FoundRecipient> {
  const { numberReader } = await import('../campaign/number.js');
  const parsed = numberReader(country ?? config.defaultCountry)(text);
  if (!parsed.ok) throw new InputError(parsed.reason, { field: 'number' });
  const { number } = parsed;
  const campaigns = async function* (): AsyncGenerator<{ id: string; lane: LaneId }> {
    for await (const campaign of listCampaigns(redis, keys)) {
      signal?.throwIfAborted();
      if (lanes === undefined || lanes.includes(campaign.lane)) yield campaign;
    }
  };
  const findIn = async ({ id, lane }: { id: string; lane: LaneId }): Promise<FoundRecipient | null> => {
    const reader = recipientReader(redis, keys, lane, id);
    const ordinal = await reader.ordinalOf(number);
    const record = ordinal === null ? null : await reader.record(ordinal);
    if (record === null && !(await reader.isSuppressed(number))) return null;
    // Read last, because most campaigns do not have the number.
    const meta = await readMeta(redis, keys, lane, id);
    if (meta === null) return null;
    const row = record === null ? suppressedRow(number) : reportRow(meta, record);
    return { ...row, campaign: id, name: meta.name };
  };
  for await (const found of inBatches(campaigns(), SEARCHED_AT_ONCE, findIn)) {
    if (found !== null) yield found;
  }
}
