import { pipeline } from 'node:stream/promises';
import { spreadsheetSafe } from '../campaign/text/spreadsheet.js';
import { jsonText } from '../campaign/text/visible-text.js';
import type { ReportRow } from '../campaign/views/recipient-views.js';

type LeftOut = NonNullable<ReportRow['leftOut']>;

/** The columns of a CSV report, in order, and their headers. */
const COLUMNS: readonly {
  readonly key: keyof ReportRow | `leftOut.${keyof LeftOut}`;
  readonly header: string;
}[] = [
  { key: 'to', header: 'to' },
  { key: 'status', header: 'status' },
  { key: 'reason', header: 'reason' },
  { key: 'requestId', header: 'request id' },
  { key: 'sentAt', header: 'sent at' },
  { key: 'updatedAt', header: 'updated at' },
  { key: 'reference', header: 'reference' },
  { key: 'serviceStatus', header: 'service status' },
  { key: 'serviceCode', header: 'service code' },
  { key: 'leftOut.line', header: 'line' },
  { key: 'leftOut.column', header: 'column' },
  { key: 'leftOut.code', header: 'code' },
];

/** Formats a report chunk by chunk: CSV with a header line, or one JSON object per line. */
export async function* formatReport(
  rows: AsyncIterable<ReportRow>,
  format: 'csv' | 'ndjson',
): AsyncGenerator<string> {
  if (format === 'ndjson') {
    for await (const row of rows) yield `${jsonText(row)}\n`;
    return;
  }
  const { first, all } = await firstOf(rows);
  const { stringify } = await import('csv-stringify');
  const csv = stringify({ header: true, columns: [...COLUMNS, ...valueColumns(first)] });
  // An error in `rows` destroys `csv`, so the loop below throws it.
  pipeline(escapedRows(all), csv).catch(() => {});
  for await (const chunk of csv) yield String(chunk);
}

const OWN_NUMBER = /^\+\d+$/;

/** The columns of the list, which every row has. One whose name a report has as well begins with `list`. */
function valueColumns(first: ReportRow | undefined): { key: string; header: string }[] {
  return Object.keys(first?.values ?? {}).map((name, at) => ({
    // A dot in a key would mean a member of a member.
    key: String(at),
    header: spreadsheetSafe(COLUMNS.some(({ header }) => header === name) ? `list ${name}` : name),
  }));
}

async function* escapedRows(rows: AsyncIterable<ReportRow>): AsyncGenerator<object> {
  for await (const row of rows) {
    const values = Object.values(row.values ?? {}).map((value) => spreadsheetSafe(value));
    yield { ...forSpreadsheet(row), ...values };
  }
}

/** The first row, and all rows. */
export async function firstOf<Row>(
  rows: AsyncIterable<Row>,
): Promise<{ readonly first: Row | undefined; readonly all: AsyncIterable<Row> }> {
  const iterator = rows[Symbol.asyncIterator]();
  const next = await iterator.next();
  async function* all(): AsyncGenerator<Row> {
    if (next.done === true) return;
    yield next.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { first: next.done === true ? undefined : next.value, all: all() };
}

/**
 * Escapes the texts that the service or the producer wrote. Phone numbers stay as they are, so that programs can read them: a
 * plus and digits are no formula. An invalid row has any text in its place.
 */
export function forSpreadsheet(row: ReportRow): ReportRow {
  return {
    ...row,
    to: row.to === null || OWN_NUMBER.test(row.to) ? row.to : spreadsheetSafe(row.to),
    reason: safe(row.reason),
    requestId: safe(row.requestId),
    reference: safe(row.reference),
    serviceStatus: safe(row.serviceStatus),
    serviceCode: safe(row.serviceCode),
    leftOut: row.leftOut && { ...row.leftOut, column: safe(row.leftOut.column) },
  };
}

const safe = (text: string | null): string | null => (text === null ? null : spreadsheetSafe(text));
