import type { ReportRow } from '../../../campaign/views/recipient-views.js';
import { openFile } from '../../../intake/import/open-file.js';
import { checkRows } from '../../../intake/import/rows/check-rows.js';
import type { Row } from '../../../intake/import/rows/rows.js';
import type { OtherColumns } from '../../../reporting/excel-report.js';
import type { Context } from '../context/context.js';
import { openListFile } from '../files/input.js';

/** How to read the list, as `volley send` did. */
export interface ListOptions {
  readonly country?: string | undefined;
  readonly toColumn?: string | undefined;
  readonly countryColumn?: string | undefined;
}

/** What became of the rows of a report. `unread`: lines of the list without a number that can be read, unless the campaign left them out, too. */
export interface FoundRows {
  readonly rows: number;
  readonly missing: number;
  readonly unread: ReadonlySet<number>;
}

/** Columns that a report has anyway. */
const IN_REPORT = /^reference$/i;

/**
 * Reads the list of a campaign again, to find its rows by their numbers. A number that occurs several times is found by the values that
 * were sent, and a row that was left out by its line. It takes the memory of the list.
 */
export async function originalList(
  context: Context,
  file: string,
  { country, toColumn, countryColumn }: ListOptions,
): Promise<OtherColumns & { readonly found: FoundRows }> {
  const rows = await openFile((await openListFile(context, file)).csv);
  const fields = new Map<number, readonly string[]>();
  const kept = (batch: readonly Row[]): readonly Row[] => {
    for (const row of batch) fields.set(row.line, row.fields);
    return batch;
  };
  async function* batches() {
    for await (const batch of rows.batches) yield kept(batch);
  }
  const list = await checkRows(
    { ...rows, batches: batches() },
    { toColumn, countryColumn, defaultCountry: country },
  );
  const lines = new Map<string, number[]>();
  const found = { rows: 0, missing: 0, unread: new Set<number>() };
  for await (const batch of list.batches) {
    for (const { kind, number, line } of batch) {
      if (kind === 'invalid') found.unread.add(line);
      const same = lines.get(number);
      if (same === undefined) lines.set(number, [line]);
      else same.push(line);
    }
  }
  const named = (line: number): Record<string, string> =>
    Object.fromEntries(list.columns.map((name, at) => [name, fields.get(line)?.[at] ?? '']));
  return {
    found,
    columns: list.columns.filter((name) => name !== list.numberColumn && !IN_REPORT.test(name)),
    valuesOf({ to, leftOut, values }: ReportRow) {
      const same = lines.get(to ?? '') ?? [];
      found.rows += 1;
      if (same.length === 0 || (leftOut !== null && !same.includes(leftOut.line))) {
        found.missing += 1;
        return undefined;
      }
      if (leftOut !== null) {
        found.unread.delete(leftOut.line);
        return named(leftOut.line);
      }
      const sent = Object.entries(values ?? {});
      const isSent = (line: number): boolean => {
        const row = named(line);
        return sent.every(([name, value]) => row[name] === value);
      };
      return named((same.length > 1 ? same.find(isSent) : undefined) ?? same[0] ?? 0);
    },
  };
}
