import { pipeline } from 'node:stream/promises';
import { spreadsheetSafe } from '../campaign/text/spreadsheet.js';
import { jsonText } from '../campaign/text/visible-text.js';
import type { OutboxMessageStatus } from '../campaign/views/outbox-views.js';

const COLUMNS = [
  'id',
  'state',
  'sendAt',
  'version',
  'to',
  'reference',
  'tag',
  'zone',
  'values',
  'text',
  'sentAt',
  'requestId',
  'reason',
  'serviceStatus',
  'serviceCode',
] as const satisfies readonly (keyof OutboxMessageStatus)[];

/** Columns with texts that the service or the producer wrote. A spreadsheet could read them as formulas. */
const TEXTS = new Set<string>([
  'id',
  'reference',
  'tag',
  'text',
  'requestId',
  'reason',
  'serviceStatus',
  'serviceCode',
] satisfies (typeof COLUMNS)[number][]);

/** Formats the messages of an outbox chunk by chunk: CSV with a header line, or one JSON object per line. */
export async function* formatMessages(
  messages: AsyncIterable<OutboxMessageStatus>,
  format: 'csv' | 'ndjson',
): AsyncGenerator<string> {
  if (format === 'ndjson') {
    for await (const message of messages) yield `${jsonText(message)}\n`;
    return;
  }
  const { stringify } = await import('csv-stringify');
  const csv = stringify({ header: true, columns: [...COLUMNS] });
  // An error in `messages` destroys `csv`, so the loop below throws it.
  pipeline(cells(messages), csv).catch(() => {});
  for await (const chunk of csv) yield String(chunk);
}

async function* cells(messages: AsyncIterable<OutboxMessageStatus>): AsyncGenerator<object> {
  for await (const message of messages) {
    const safe = Object.entries(message).map(([name, value]) => [
      name,
      TEXTS.has(name) ? spreadsheetSafe(String(value ?? '')) : value,
    ]);
    yield { ...Object.fromEntries(safe), values: message.values === null ? '' : jsonText(message.values) };
  }
}
