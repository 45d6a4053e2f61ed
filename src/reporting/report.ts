import { requestReference } from '../campaign/campaign.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import {
  parseReportedStatus,
  REPORTED_STATUSES,
  type RecipientState,
  type ReportedStatus,
} from '../campaign/recipient.js';
import type { FoundRecipient, ReportRow } from '../campaign/views.js';
import type { LocalConfig } from '../config/index.js';
import { type CampaignMeta, readMeta } from '../lane/campaign-meta.js';
import { findLane, listCampaigns, readState } from '../lane/campaigns.js';
import type { DuplicateRow } from '../recipients/duplicates.js';
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
  /**
   * Every recipient of a campaign, in the order of the list; then those suppressed at the import; then, with the status
   * `duplicate`, the rows that were left out because their number is that of an earlier row (the first 100,000).
   */
  report(id: string, options?: ReportOptions): AsyncIterable<ReportRow>;
  /** A text that changes whenever a report of the campaign does. Rejects with a NotFoundError if there is no such campaign. */
  reportVersion(id: string): Promise<string>;
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
  if (only === undefined || only === 'suppressed') {
    for await (const number of reader.suppressed()) yield suppressedRow(number);
    await mustExist();
  }
  if (only === undefined || only === 'duplicate') {
    for await (const row of reader.duplicates()) yield duplicateRow(row);
    await mustExist();
  }
}

/** See {@link Reports.reportVersion}. The counts and times differ if Redis has lost some of the changes. */
export async function reportVersion(redis: Redis, keys: Keys, id: string): Promise<string> {
  const lane = await findLane(redis, keys, id);
  const state = lane === null ? null : await readState(redis, keys, lane, id);
  if (state === null)
    throw new NotFoundError(`campaign ${id} does not exist; \`volley list\` shows all campaigns`);
  const { changes, counts, sends, polls, endedAt } = state;
  return JSON.stringify([id, changes, Object.entries(counts).sort(), sends, polls, endedAt]);
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

/** The report row of a row that was left out because its number is that of an earlier row. */
function duplicateRow({ number, line, firstLine, isSameText }: DuplicateRow): ReportRow {
  const reason = isSameText
    ? `line ${line} repeats line ${firstLine}`
    : `line ${line} has the number of line ${firstLine}, but another text`;
  return { recipient: number, status: 'duplicate', reason, requestId: '', sentAt: '', updatedAt: '' };
}

function mustBeStatus(text: string): ReportedStatus {
  const status = parseReportedStatus(text);
  if (status !== null) return status;
  throw new InputError(`invalid status ${JSON.stringify(text)}: use one of ${REPORTED_STATUSES.join(', ')}`);
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
   * Every recipient with this number, newest campaign first: a campaign may have several, each with a text of its own, and rows
   * that were left out as duplicates. Throws an InputError if the number is invalid, and the signal's reason when it fires.
   */
  find(number: string, options?: FindOptions): AsyncIterable<FoundRecipient>;
}

/** What {@link findRecipients} needs. */
interface FindDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: Pick<LocalConfig, 'defaultCountry'>;
}

/** Rows that are found in one campaign: a list may consist of one number. */
const MAX_FOUND = 100;

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
  const findIn = async ({ id, lane }: { id: string; lane: LaneId }): Promise<FoundRecipient[]> => {
    const reader = recipientReader(redis, keys, lane, id);
    const ordinals = await reader.ordinalsOf(number);
    const records = await Promise.all(ordinals.slice(0, MAX_FOUND).map((ordinal) => reader.record(ordinal)));
    const suppressed = records.length > 0 ? 0 : await reader.timesSuppressed(number);
    if (records.length + suppressed === 0) return [];
    // Read last, because most campaigns do not have the number.
    const meta = await readMeta(redis, keys, lane, id);
    if (meta === null) return [];
    const rows = records.flatMap((record) => (record === null ? [] : [reportRow(meta, record)]));
    for (let at = 0; at < Math.min(suppressed, MAX_FOUND); at++) rows.push(suppressedRow(number));
    for await (const row of reader.duplicates(number)) {
      if (rows.length === MAX_FOUND) break;
      rows.push(duplicateRow(row));
    }
    return rows.map((row) => ({ ...row, campaign: id, name: meta.name }));
  };
  for await (const found of inBatches(campaigns(), SEARCHED_AT_ONCE, findIn)) yield* found;
}
