import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { ReportRow } from '../campaign/recipient-views.js';
import { spreadsheetSafe } from '../campaign/spreadsheet.js';
import { jsonText, printable } from '../campaign/visible-text.js';

type LeftOut = NonNullable<ReportRow['leftOut']>;

/** The columns of a CSV report, in order, and their headers. */
const COLUMNS: readonly {
  readonly key: keyof ReportRow | `leftOut.${keyof LeftOut}`;
  readonly header: string;
}[] = [
  { key: 'to', header: 'recipient' },
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
  const csv = stringify({ header: true, columns: [...COLUMNS] });
  // An error in `rows` destroys `csv`, so the loop below throws it.
  pipeline(escapedRows(rows), csv).catch(() => {});
  for await (const chunk of csv) yield String(chunk);
}

const OWN_NUMBER = /^\+\d+$/;

async function* escapedRows(rows: AsyncIterable<ReportRow>): AsyncGenerator<ReportRow> {
  for await (const row of rows) yield forSpreadsheet(row);
}

/**
 * Escapes the texts that the service or the producer wrote. Phone numbers stay as they are, so that programs can read them: a
 * plus and digits are no formula. An invalid row has any text in its place.
 */
export function forSpreadsheet(row: ReportRow): ReportRow {
  return {
    ...row,
    to: OWN_NUMBER.test(row.to) ? row.to : spreadsheetSafe(printable(row.to)),
    reason: spreadsheetSafe(printable(row.reason)),
    requestId: spreadsheetSafe(printable(row.requestId)),
    reference: spreadsheetSafe(printable(row.reference)),
    serviceStatus: spreadsheetSafe(printable(row.serviceStatus)),
    serviceCode: spreadsheetSafe(printable(row.serviceCode)),
    leftOut: row.leftOut && { ...row.leftOut, column: spreadsheetSafe(printable(row.leftOut.column ?? '')) },
  };
}
