import { requestReference } from '../campaign/campaign-id.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';
import { readerOf } from '../campaign/requested-number.js';
import type { FoundRecipient, ReportRow } from '../campaign/views.js';
import type { LocalConfig } from '../config/index.js';
import { type CampaignMeta, findLane, listCampaigns, readMeta } from '../lane/campaigns.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import type { Volley } from '../volley.js';
import { ahead } from './read-ahead.js';
import { campaignReader, type OrdinalRecord } from './report-reader.js';
import { parseReportedStatus } from './reported-status.js';

/** What {@link reportRows} goes by. */
export interface ReportDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: LocalConfig;
}

/** Campaigns that are searched for a number at the same time. */
const SEARCHED_AT_ONCE = 50;

/** Why nothing was sent, where no request can tell. */
const REASONS: Readonly<Record<string, string>> = {
  lapsed: 'its validity had passed before it could be sent',
  cancelled: 'cancelled before it was sent',
  suppressed: 'on the suppression list',
};

/**
 * Every recipient of a campaign, in the order of the list; those who were suppressed when it was imported come last.
 * Memory stays flat: recipients are read some thousands at a time, each time as they stand at that moment.
 * `status`, in any case of letters, lets only those pass. Throws a NotFoundError, also where the campaign is removed
 * meanwhile, so that nobody takes a part of it for the whole; an InputError for no such status.
 */
export async function* reportRows(
  deps: ReportDeps,
  id: string,
  { status }: { readonly status?: string | undefined } = {},
): AsyncGenerator<ReportRow> {
  const only = status === undefined ? undefined : statusNamed(status);
  const { redis, keys } = deps;
  const lane = await findLane(redis, keys, id);
  const meta = lane === null ? null : await readMeta(redis, keys, lane, id);
  if (meta === null)
    throw new NotFoundError(`there is no campaign ${id}; \`volley list\` shows those there are`);
  const reader = campaignReader(redis, keys, meta.lane, id);
  // A removal takes the index first: while the campaign is in there, what was read of it was whole.
  const mustStand = async (): Promise<void> => {
    if ((await findLane(redis, keys, id)) !== null) return;
    throw new NotFoundError(`campaign ${id} was removed while its report was read`);
  };
  for (let from = 0; ; ) {
    const chunk = await reader.chunk(from, (state) => only === undefined || state === only);
    await mustStand();
    if (chunk === null) break;
    for (const record of chunk.records) yield toRow(meta, record);
    from = chunk.next;
  }
  if (only !== undefined && only !== 'suppressed') return;
  for await (const number of reader.suppressed()) yield suppressedRow(number);
  await mustStand();
}

/**
 * Every campaign that has this number, newest first, or those of some lanes. Nothing is indexed by number, because that would cost more memory
 * than all that is kept of a recipient: the numbers of all campaigns are read, 6 MB and some 0.2 s for each million.
 * Throws an InputError if `spelling` is no number, and the signal's reason when it fires.
 */
export async function* findNumber(
  deps: ReportDeps,
  spelling: string,
  { country, lanes, signal }: NonNullable<Parameters<Volley['find']>[1]> = {},
): AsyncGenerator<FoundRecipient> {
  const { redis, keys, config } = deps;
  const read = readerOf(country ?? config.defaultCountry)(spelling);
  if (!read.ok) throw new InputError(read.reason, { field: 'number' });
  const searched = async function* (): AsyncGenerator<{ id: string; lane: string }> {
    for await (const campaign of listCampaigns(redis, keys)) {
      signal?.throwIfAborted();
      if (lanes === undefined || lanes.includes(campaign.lane)) yield campaign;
    }
  };
  const rowOf = async ({ id, lane }: { id: string; lane: string }): Promise<FoundRecipient | null> => {
    const reader = campaignReader(redis, keys, lane, id);
    const ordinal = await reader.ordinalOf(read.number);
    const record = ordinal === null ? null : await reader.record(ordinal);
    if (record === null && !(await reader.isSuppressed(read.number))) return null;
    // Most campaigns have not got the number, so what else there is of them is not read before.
    const meta = await readMeta(redis, keys, lane, id);
    if (meta === null) return null;
    const row = record === null ? suppressedRow(read.number) : toRow(meta, record);
    return { ...row, campaign: id, name: meta.name };
  };
  for await (const found of ahead(searched(), SEARCHED_AT_ONCE, rowOf)) {
    if (found !== null) yield found;
  }
}

function toRow(meta: CampaignMeta, { number, state, request, claim, since }: OrdinalRecord): ReportRow {
  const wasSent = !['suppressed', 'rejected'].includes(state);
  return {
    recipient: number,
    status: state,
    reason: request?.reason || (REASONS[state] ?? ''),
    requestId: request?.requestId || (claim === null ? '' : requestReference(meta.id, claim)),
    sentAt: request === null || !wasSent ? '' : iso(request.sentAt),
    updatedAt: request === null ? (since === null ? '' : iso(since)) : iso(request.updatedAt),
  };
}

function suppressedRow(number: string): ReportRow {
  const reason = REASONS['suppressed'] ?? '';
  return {
    recipient: number,
    status: 'suppressed',
    reason,
    requestId: '',
    sentAt: '',
    updatedAt: '',
  };
}

function statusNamed(text: string): RecipientState {
  const status = parseReportedStatus(text);
  if (status !== null) return status;
  throw new InputError(`invalid status ${JSON.stringify(text)}: use one of ${RECIPIENT_STATES.join(', ')}`);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
