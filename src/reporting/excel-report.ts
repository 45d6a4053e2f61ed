import { ownColumns } from '../campaign/lists/own-files.js';
import { meaningOf, PLAIN_STATES } from '../campaign/states/state-labels.js';
import { SEPARATORS, type Separator } from '../campaign/text/separators.js';
import { excelCell, spreadsheetSafe } from '../campaign/text/spreadsheet.js';
import { localTime } from '../campaign/time/zone.js';
import type { ReportRow } from '../campaign/views/recipient-views.js';
import { firstOf } from './report-file.js';

/*
 * A report as a file that Excel opens by a double click, and that Volley reads as a list: UTF-8 with a byte order mark, the separator of
 * the locale, numbers as text, local times, the columns of the list, and nothing that Excel would run or change.
 */

/** The columns of the list that the text does not use. */
export interface OtherColumns {
  /** All columns of the list, in its order, without those that a report has anyway. */
  readonly columns: readonly string[];
  /** The values of a row of the list, by their columns; undefined if the list does not have the row. */
  valuesOf(row: ReportRow): Readonly<Record<string, string>> | undefined;
}

/** How to write a report for Excel. */
interface ExcelOptions {
  readonly separator: Separator;
  /** The time zone of the times. */
  readonly zone: string;
  readonly list?: OtherColumns | undefined;
}

/** What those who send need last. */
const TECHNICAL = ['line', 'reference', 'request id', 'service status', 'service code'];

/** Writes a report, whose rows have the values that the text uses. */
export async function* excelReport(
  rows: AsyncIterable<ReportRow>,
  { separator, zone, list }: ExcelOptions,
): AsyncGenerator<string> {
  const { first, all } = await firstOf(rows);
  const stored = Object.keys(first?.values ?? {});
  const columns = [...new Set([...(list?.columns ?? []), ...stored])];
  const more = [`sent at (${zone})`, `updated at (${zone})`, ...TECHNICAL];
  const own = ownColumns('report', columns, more);
  const { stringify } = await import('csv-stringify');
  const csv = stringify({
    bom: true,
    delimiter: SEPARATORS[separator],
    quoted: true,
    quoted_empty: true,
    record_delimiter: 'windows',
  });
  csv.write([...own.slice(0, -more.length), ...columns, ...own.slice(-more.length)].map(spreadsheetSafe));
  const time = (iso: string | null): string => (iso === null ? '' : localText(zone, Date.parse(iso)));
  const write = async (): Promise<void> => {
    for await (const row of all) {
      const values = { ...list?.valuesOf(row), ...known(row.values) };
      const cells = [
        numberCell(row.to ?? ''),
        PLAIN_STATES[row.status][0],
        spreadsheetSafe(row.reason ?? meaningOf(row.status)),
        ...columns.map((name) => excelCell(values[name] ?? '')),
        time(row.sentAt),
        time(row.updatedAt),
        String(row.leftOut?.line ?? ''),
        ...[row.reference, row.requestId, row.serviceStatus, row.serviceCode].map((text) =>
          excelCell(text ?? ''),
        ),
      ];
      if (!csv.write(cells)) await new Promise((resolve) => csv.once('drain', resolve));
    }
    csv.end();
  };
  // An error in `rows` destroys `csv`, so the loop below throws it.
  write().catch((error: unknown) => csv.destroy(error as Error));
  for await (const chunk of csv) yield String(chunk);
}

/** The stored values. Rows that were left out have none. */
function known(values: ReportRow['values']): Record<string, string> {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => value !== ''));
}

/** A number as a text, so that Excel keeps its plus and all of its digits. */
function numberCell(number: string): string {
  return /^\+\d+$/.test(number) ? `="${number}"` : excelCell(number);
}

/** `2026-05-01 14:03:20`, which Excel reads as a time in every language. */
function localText(zone: string, at: number): string {
  return new Date(localTime(zone, at)).toISOString().slice(0, 19).replace('T', ' ');
}
