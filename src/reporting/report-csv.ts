import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { ReportRow } from '../campaign/views.js';
import { forSpreadsheet, REPORT_COLUMNS } from './report-row.js';

/** The report's text, piece by piece: CSV with a header line, or a JSON object a line. */
export async function* writtenReport(
  rows: AsyncIterable<ReportRow>,
  format: 'csv' | 'ndjson',
): AsyncGenerator<string> {
  if (format === 'ndjson') {
    for await (const row of rows) yield `${JSON.stringify(row)}\n`;
    return;
  }
  const csv = stringify({ header: true, columns: [...REPORT_COLUMNS] });
  // If the rows break off, so does the loop below, with their error.
  pipeline(safely(rows), csv).catch(() => {});
  for await (const piece of csv) yield String(piece);
}

async function* safely(rows: AsyncIterable<ReportRow>): AsyncGenerator<ReportRow> {
  for await (const row of rows) yield forSpreadsheet(row);
}
