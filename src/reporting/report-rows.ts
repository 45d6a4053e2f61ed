import { requestReference } from '../campaign/states/campaign.js';
import type { RecipientState } from '../campaign/states/recipient.js';
import type { ReportedStatus } from '../campaign/states/reported-status.js';
import type { InvalidCode } from '../campaign/views/list-views.js';
import type { ReportedRecipient } from '../campaign/views/recipient-views.js';
import type { DuplicateRow, LeftOutRow } from '../engine/recipients/left-out.js';
import { reasonFor } from '../engine/recipients/request-records.js';
import type { CampaignMeta } from '../engine/store/campaign-meta.js';
import type { Detail, NamedRecipient, OrdinalRecord, RecipientReader } from './recipient-reader.js';

/*
 * What a report, the results, and a search say about a recipient, and about a row that was left out.
 */

/** Why a recipient was not sent to, for states that no request explains. */
const REASONS: Partial<Readonly<Record<RecipientState, string>>> = {
  lapsed: 'its validity ended before it was sent',
  cancelled: 'cancelled before it was sent',
  suppressed: 'suppressed before it was sent',
};

/** Why a row was left out; continues its line and column. */
const INVALID: Readonly<Record<InvalidCode, string>> = {
  noCountry: 'the number has no calling code, and its country is not known',
  noNumber: 'there is no number',
  invalidNumber: 'the number is invalid',
  invalidCountry: 'the country is unknown',
  noZone: 'the time zone is not known',
  invalidZone: 'there is no such time zone, or its window never opens',
  noValue: 'there is no value, but the message uses it',
  invalidValue: 'the value cannot be used',
  notAllowed: 'a limit of the API key or the lane does not allow the message',
  row: 'the row cannot be read, or its text is too long',
};

/** The row of a recipient that is part of the campaign. */
export function reportRow(meta: CampaignMeta, record: OrdinalRecord): ReportedRecipient {
  const { number, reference, state, request, word, claim, claimedAt, givenUpAt } = record;
  const updatedAt = request?.updatedAt ?? claimedAt ?? givenUpAt;
  return {
    to: number || null,
    status: state,
    reason: reasonFor(state, request?.reason ?? '') || (REASONS[state] ?? null),
    requestId: request?.requestId || (claim === null ? null : requestReference(meta.id, claim)),
    sentAt: request === null || state === 'rejected' ? null : iso(request.sentAt),
    updatedAt: updatedAt === null ? null : iso(updatedAt),
    reference: reference || null,
    serviceStatus: word?.word || null,
    serviceCode: word?.code || null,
    leftOut: null,
  };
}

/** The row of a recipient that was suppressed at the import. */
export function suppressedRow(
  { created }: CampaignMeta,
  { number, reference }: Omit<NamedRecipient, 'values'>,
): ReportedRecipient {
  return { ...settledRow('suppressed', number, created, reference), reason: 'on the suppression list' };
}

/** The row of a row of the list that was left out. */
export function leftOutRow({ created, columns }: CampaignMeta, row: LeftOutRow): ReportedRecipient {
  const { kind, number, line, reference } = row;
  const settled = settledRow(kind, number, created, reference);
  if (kind === 'duplicate') {
    return {
      ...settled,
      reason: duplicateReason(row),
      leftOut: { line, firstLine: row.firstLine, column: null, code: null },
    };
  }
  const { code } = row;
  const column = typeof row.column === 'number' ? (columns[row.column] ?? null) : row.column;
  const place = column === null ? '' : `, column ${JSON.stringify(column)}`;
  const reason = `line ${line}${place}: ${INVALID[code]}`;
  return { ...settled, reason, leftOut: { line, firstLine: null, column, code } };
}

function duplicateReason({ line, firstLine, isSameText }: DuplicateRow): string {
  if (firstLine === null) return `line ${line} gets the same text from an earlier campaign`;
  return isSameText
    ? `line ${line} repeats line ${firstLine}`
    : `line ${line} has the number of line ${firstLine}, but another text`;
}

/** A row, and the values that the text uses, in its order; none unless they are read. */
interface ListedRow {
  readonly row: ReportedRecipient;
  readonly values: readonly string[];
}

/** The rows at some positions of a list whose rows were settled at the import, by their positions. Rows that were left out have no values. */
export async function listedRows(
  reader: RecipientReader,
  meta: CampaignMeta,
  list: 'suppressed' | 'leftOut',
  positions: readonly number[],
  detail?: Detail,
): Promise<Map<number, ListedRow>> {
  if (list === 'leftOut') {
    const rows = await reader.leftOutAt(positions);
    return new Map(
      [...rows].map(([position, row]) => [position, { row: leftOutRow(meta, row), values: [] }]),
    );
  }
  const named = await reader.suppressedAt(positions, detail);
  return new Map(
    named.map((one, at) => [positions[at] ?? 0, { row: suppressedRow(meta, one), values: one.values }]),
  );
}

function settledRow(
  status: ReportedStatus,
  to: string,
  created: number,
  reference: string,
): ReportedRecipient {
  return {
    to: to || null,
    status,
    reason: null,
    requestId: null,
    sentAt: null,
    updatedAt: iso(created),
    reference: reference || null,
    serviceStatus: null,
    serviceCode: null,
    leftOut: null,
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
