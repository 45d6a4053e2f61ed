import type { LocalConfig } from '../base/config/index.js';
import type { Redis } from '../base/redis/connection.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { InputError, NotFoundError } from '../campaign/errors/errors.js';
import { returnedOf } from '../campaign/fields/field-sets.js';
import { formsOf } from '../campaign/numbers/number-forms.js';
import {
  LEFT_OUT_STATUSES,
  parseWantedStatus,
  type ReportedStatus,
  STATUS_FORM,
  statusesOf,
} from '../campaign/states/reported-status.js';
import type { FoundRecipient, RecipientPage, ReportRow } from '../campaign/views/recipient-views.js';
import { orNull } from '../engine/recipients/damaged.js';
import { storedLeftOut } from '../engine/recipients/left-out.js';
import { type CampaignMeta, contentAt, readMeta } from '../engine/store/campaign-meta.js';
import { findLane, listCampaigns, readState } from '../engine/store/campaigns.js';
import { costSoFar } from './accepted-cost.js';
import { inBatches } from './in-batches.js';
import type { OutboxSearch } from './outbox-search.js';
import { type OrdinalRecord, recipientReader } from './recipient-reader.js';
import { leftOutRow, listedRows, reportRow, suppressedRow } from './report-rows.js';
import { costView } from './status.js';

/** Which recipients a report contains. */
export interface ReportOptions {
  /** Only recipients with this status, or one of these, such as `delivered`, `failed`, or `DeliveredToTerminal`; default all. */
  readonly status?: string | readonly string[] | undefined;
  /** Whether rows have the values of the columns that the text uses; default: they do not. */
  readonly values?: boolean | undefined;
}

/** Which recipients {@link Reports.recipients} returns. */
export interface RecipientsOptions extends ReportOptions {
  /** `nextCursor` of the page before; default: the first recipient. */
  readonly cursor?: string | undefined;
  /** At most 10,000; default 100. */
  readonly limit?: number | undefined;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;

/** Reports on recipients. */
export interface Reports {
  /**
   * Every recipient of a campaign, in the order of the list; then those suppressed at the import; then the rows that were left out:
   * with the status `duplicate` those with the number of an earlier row, and with the status `invalid` those that `skipInvalid` left out
   * (the first 100,000 of each).
   */
  report(id: string, options?: ReportOptions): AsyncIterable<ReportRow>;
  /** A page of what {@link Reports.report} yields, in the same order. */
  recipients(id: string, options?: RecipientsOptions): Promise<RecipientPage>;
  /** A text that changes whenever a report of the campaign does. Rejects with a NotFoundError if there is no such campaign. */
  reportVersion(id: string): Promise<string>;
}

/** Positions of a report that are read at once. */
const READ_AT_ONCE = 2_048;
/** Positions that are read for a page: it may be short if few of them have the wanted status. */
const MAX_READ_PER_PAGE = 100_000;

/** The statuses of the rows that were settled at the import. */
const STATUSES: Readonly<Record<'suppressed' | 'leftOut', readonly ReportedStatus[]>> = {
  suppressed: ['suppressed'],
  leftOut: LEFT_OUT_STATUSES,
};

/** Some rows of a report, from a position on. */
interface RowRange {
  readonly rows: readonly { readonly position: number; readonly row: ReportRow }[];
  /** The position after the range; null at the end of the report. */
  readonly next: number | null;
}

/**
 * Reads a report by positions: first those of the recipients, which are their ordinals, then those of the recipients that were
 * suppressed at the import, then those of the rows that were left out. Throws a NotFoundError if the campaign does not exist.
 */
async function openReport(
  redis: Redis,
  keys: Keys,
  id: string,
  { values: hasValues = false, ...wanted }: ReportOptions,
) {
  const only = wantedStates(wanted);
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
  const isWanted = (one: ReportedStatus): boolean => only === undefined || only.includes(one);
  const detail = hasValues ? 'withValues' : 'withoutValues';
  const { placeholders } = meta;
  const valuesOf = (stored: readonly string[]): ReportRow['values'] =>
    hasValues ? Object.fromEntries(placeholders.map((name, at) => [name, stored[at] ?? ''])) : null;
  const read = async (from: number, count = READ_AT_ONCE): Promise<RowRange | null> => {
    const state = await readState(redis, keys, meta.lane, id);
    if (state === null) return null;
    const { ordinals, total } = state;
    const last = total + storedLeftOut(meta);
    const ends = [ordinals, total, last];
    const end = Math.min(ends.find((one) => from < one) ?? from, from + count);
    const next = end < last ? end : null;
    if (end === from) return { rows: [], next: null };
    if (from < ordinals) {
      const chunk = await reader.chunk(from, isWanted, end - from, detail);
      if (chunk === null) return null;
      const rows = chunk.records.map((record) => ({
        position: record.ordinal,
        row: {
          ...reportRow(meta, record),
          revision: record.request?.edition ?? null,
          values: valuesOf(record.values),
        },
      }));
      return { rows, next };
    }
    const [list, start] = from < total ? (['suppressed', ordinals] as const) : (['leftOut', total] as const);
    if (!STATUSES[list].some(isWanted)) return { rows: [], next };
    const positions = Array.from({ length: end - from }, (_, at) => from - start + at);
    const listed = await listedRows(reader, meta, list, positions, detail);
    const rows = [...listed].map(([at, { row, values }]) => ({
      position: start + at,
      row: { ...row, revision: null, values: valuesOf(values) },
    }));
    return { rows: rows.filter(({ row }) => isWanted(row.status)), next };
  };
  return {
    meta,
    /** What the campaign costs, and has cost so far. */
    async cost() {
      const state = await readState(redis, keys, meta.lane, id);
      const soFar = state && (await costSoFar(redis, keys, meta, state, { isDetailed: true }));
      return costView(meta, soFar);
    },
    /** Null if the campaign has no state any more. */
    read: async (...args: Parameters<typeof read>): ReturnType<typeof read> => {
      const range = await read(...args);
      await mustExist();
      return range;
    },
  };
}

/** Yields the rows of a report with their positions, as {@link reportRows} does. */
export async function* positionedRows(
  redis: Redis,
  keys: Keys,
  id: string,
  options: ReportOptions,
): AsyncGenerator<RowRange['rows'][number]> {
  const report = await openReport(redis, keys, id, options);
  for (let from: number | null = 0; from !== null; ) {
    const range: RowRange | null = await report.read(from);
    yield* range?.rows ?? [];
    from = range?.next ?? null;
  }
}

/**
 * Yields the rows of a report. Memory use is constant: it reads some thousand recipients at a time, each with its state
 * at that moment. Throws a NotFoundError if the campaign does not exist or is removed meanwhile, so that an incomplete
 * report never looks complete, and an InputError for an invalid status.
 */
export async function* reportRows(
  redis: Redis,
  keys: Keys,
  id: string,
  options: ReportOptions = {},
): AsyncGenerator<ReportRow> {
  for await (const { row } of positionedRows(redis, keys, id, options)) yield row;
}

/** Reads a page of a report, as {@link Reports.recipients} says. */
export async function recipientPage(
  redis: Redis,
  keys: Keys,
  id: string,
  { cursor = '0', limit = DEFAULT_LIMIT, ...options }: RecipientsOptions = {},
): Promise<RecipientPage> {
  if (!/^\d{1,10}$/.test(cursor))
    throw new InputError('the cursor is invalid: use `nextCursor` of the page before', { field: 'cursor' });
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT))
    throw new InputError(`\`limit\` must be a number from 1 to ${MAX_LIMIT}`, { field: 'limit' });
  const report = await openReport(redis, keys, id, options);
  const recipients: ReportRow[] = [];
  const from = Number(cursor);
  let next: number | null = from;
  while (next !== null && next < from + MAX_READ_PER_PAGE) {
    // Without a status, every position has a row.
    const count =
      options.status === undefined ? Math.min(READ_AT_ONCE, limit - recipients.length) : READ_AT_ONCE;
    const range: RowRange | null = await report.read(next, count);
    const rows = range?.rows ?? [];
    const rest = rows[limit - recipients.length];
    for (const { row } of rows.slice(0, limit - recipients.length)) recipients.push(row);
    next = rest?.position ?? range?.next ?? null;
    if (recipients.length === limit) break;
  }
  const { meta } = report;
  return {
    campaign: id,
    ...returnedOf(meta),
    recipients,
    cost: await report.cost(),
    nextCursor: next === null ? null : String(next),
  };
}

/** See {@link Reports.reportVersion}. The counts and times differ if Redis has lost some of the changes. */
export async function reportVersion(redis: Redis, keys: Keys, id: string): Promise<string> {
  const lane = await findLane(redis, keys, id);
  const state = lane === null ? null : await readState(redis, keys, lane, id);
  if (state === null)
    throw new NotFoundError(`campaign ${id} does not exist; \`volley list\` shows all campaigns`);
  const { changes, counts, requests, endedAt } = state;
  return JSON.stringify([id, changes, Object.entries(counts).sort(), requests.send, requests.poll, endedAt]);
}

/** The states of the rows; undefined: all. */
const wantedStates = ({ status }: Pick<ReportOptions, 'status'>): readonly ReportedStatus[] | undefined =>
  status === undefined ? undefined : [status].flat().flatMap(statusesNamed);

function statusesNamed(text: string): readonly ReportedStatus[] {
  const wanted = parseWantedStatus(text);
  if (wanted !== null) return statusesOf(wanted);
  throw new InputError(`invalid status ${JSON.stringify(text)}: use ${STATUS_FORM}`);
}

/** Where and how to search for a number. */
export interface FindOptions {
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
   * that were left out. Then the messages of outboxes to it. Throws an InputError if the number is invalid, and the signal's reason when it fires.
   */
  find(number: string, options?: FindOptions): AsyncIterable<FoundRecipient>;
}

/** What {@link findRecipients} needs. */
interface FindDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: Pick<LocalConfig, 'defaultCountry'>;
  readonly outboxes: Pick<OutboxSearch, 'find'>;
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
  { redis, keys, config, outboxes }: FindDeps,
  text: string,
  { country, lanes, signal }: FindOptions = {},
): AsyncGenerator<FoundRecipient> {
  const { numberReader } = await import('../campaign/numbers/number.js');
  const parsed = numberReader(country ?? config.defaultCountry)(text);
  if (!parsed.ok) throw new InputError(parsed.reason, { field: 'number' });
  const numbers = formsOf(parsed.number);
  const campaigns = async function* (): AsyncGenerator<{ id: string; lane: LaneId }> {
    for await (const campaign of listCampaigns(redis, keys)) {
      signal?.throwIfAborted();
      if (lanes === undefined || lanes.includes(campaign.lane)) yield campaign;
    }
  };
  const findIn = async ({ id, lane }: { id: string; lane: LaneId }): Promise<FoundRecipient[]> => {
    const reader = recipientReader(redis, keys, lane, id);
    const ordinals = await reader.ordinalsOf(numbers);
    const records = await Promise.all(
      ordinals.slice(0, MAX_FOUND).map((at) => reader.record(at, 'withValues')),
    );
    const suppressed = records.length > 0 ? [] : await reader.suppressedOf(numbers);
    const leftOut = await reader.leftOutOf(numbers);
    if (records.length + suppressed.length + leftOut.length === 0) return [];
    // Read last, because most campaigns do not have the number.
    const meta = await readMeta(redis, keys, lane, id);
    if (meta === null) return [];
    const rows = [
      ...(await Promise.all(records.flatMap((record) => (record === null ? [] : foundRow(meta, record))))),
      ...suppressed.map((one) => suppressedRow(meta, one)),
      ...leftOut.map((one) => leftOutRow(meta, one)),
    ].slice(0, MAX_FOUND);
    const named = { campaign: id, name: meta.name, outbox: null, message: null };
    return rows.map((row) => ({ text: null, ...row, ...named, ...returnedOf(meta) }));
  };
  const found = async (campaign: Parameters<typeof findIn>[0]) => (await orNull(findIn(campaign))) ?? [];
  for await (const matches of inBatches(campaigns(), SEARCHED_AT_ONCE, found)) yield* matches;
  yield* outboxes.find(numbers, { lanes, signal });
}

/** A recipient, and the text that its last request had, or the next one will have. */
async function foundRow(meta: CampaignMeta, record: OrdinalRecord) {
  const { compileTemplate } = await import('../campaign/text/template.js');
  const revision = record.request?.edition ?? meta.revision ?? 0;
  const compiled = compileTemplate(contentAt(meta, revision).text, meta.placeholders);
  const isWhole = compiled.ok && compiled.template.missing(record.values) === null;
  return { ...reportRow(meta, record), text: isWhole ? compiled.template.render(record.values) : null };
}
