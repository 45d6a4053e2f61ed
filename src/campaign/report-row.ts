import { DELIVERY_STATUSES, RECIPIENT_STATES } from './status.js';
import type { ReportRow } from './views.js';

/** A report's columns: what they are called in the file, in their order. */
export const REPORT_COLUMNS: readonly { readonly key: keyof ReportRow; readonly header: string }[] = [
  { key: 'recipient', header: 'recipient' },
  { key: 'status', header: 'status' },
  { key: 'reason', header: 'reason' },
  { key: 'requestId', header: 'request id' },
  { key: 'sentAt', header: 'sent at' },
  { key: 'updatedAt', header: 'updated at' },
];

/** Every word that may stand as a status: the interface's own, and ours for recipients that have none. */
export const REPORTED_STATUSES: readonly string[] = [
  ...DELIVERY_STATUSES,
  ...RECIPIENT_STATES.filter(
    (state) => !DELIVERY_STATUSES.some((status) => status.toLowerCase() === state.toLowerCase()),
  ),
];

const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/**
 * A text from elsewhere that a spreadsheet cannot take for a formula: it gets an apostrophe before it, which
 * spreadsheets do not show (OWASP, CSV Injection).
 */
export function spreadsheetSafe(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/**
 * The row as it stands in a CSV file. What the service wrote is made harmless. Numbers are ours, a plus and digits,
 * which no formula can hide in; they stay as programs read them.
 */
export function forSpreadsheet(row: ReportRow): ReportRow {
  return { ...row, reason: spreadsheetSafe(row.reason), requestId: spreadsheetSafe(row.requestId) };
}
