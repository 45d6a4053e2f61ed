import type { DeliveryStatus, RecipientState } from '../campaign/recipient.js';
import type { ReportRow } from '../campaign/views.js';

/** A report's columns: what they are called in the file, in their order. */
export const REPORT_COLUMNS: readonly { readonly key: keyof ReportRow; readonly header: string }[] = [
  { key: 'recipient', header: 'recipient' },
  { key: 'status', header: 'status' },
  { key: 'reason', header: 'reason' },
  { key: 'requestId', header: 'request id' },
  { key: 'sentAt', header: 'sent at' },
  { key: 'updatedAt', header: 'updated at' },
];

/** What is shown for each state: a delivery status as the interface spells it, else the state's own name. */
export const REPORTED_AS = {
  planned: 'planned',
  sending: 'sending',
  unknown: 'unknown',
  deliveredToNetwork: 'DeliveredToNetwork',
  deliveredToTerminal: 'DeliveredToTerminal',
  deliveryImpossible: 'DeliveryImpossible',
  rejected: 'rejected',
  lapsed: 'lapsed',
  cancelled: 'cancelled',
  suppressed: 'suppressed',
  abandoned: 'abandoned',
  unconfirmed: 'unconfirmed',
} as const satisfies Readonly<Record<RecipientState, DeliveryStatus | RecipientState>>;

/** Every word that may stand as a status in a report. */
export const REPORTED_STATUSES: readonly string[] = Object.values(REPORTED_AS);

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
