import { useEffect, useRef, useState } from 'preact/hooks';
import { call, type Schemas } from '../base/api.js';
import { useFilters } from '../base/filters.js';
import { labels, stateOptions } from '../base/labels.js';
import type { CampaignStatus } from '../base/live-types.js';
import { ROW_STATES, type RowState } from '../base/recipients.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { RowStateText } from '../parts/Bar.js';
import { Section } from '../parts/Section.js';
import { type LoadedPage, PagedTable } from '../parts/Table.js';
import { PhoneNumber, Time } from '../parts/Time.js';

type Row = Schemas['ReportRow'];

const PAGE = 100;
/** How many parts of a long list are read for one page of a rare state. */
const READS = 20;
const AGAIN_MS = 5_000;

/** The recipients of a campaign in the order of its list, or those in one state. */
export function Recipients({ status }: { readonly status: CampaignStatus }) {
  const { id, counts, zone, duplicates, invalid } = status;
  const [filters] = useFilters();
  const [number, setNumber] = useState('');
  const version = useSlowly(JSON.stringify(counts), AGAIN_MS);
  const isWhole = filters['status'] === undefined && number === '';
  return (
    <Section title={labels.recipients} id="list">
      <PagedTable<Row>
        caption={labels.recipients}
        filters={[{ name: 'status', options: stateOptions(ROW_STATES) }]}
        actions={mayRun('findNumber') && <NumberFilter onChange={setNumber} />}
        load={(given, signal) => (number === '' ? pageOf(id, given, signal) : rowsOf(id, number, signal))}
        version={version + number}
        total={isWhole ? counts.total + duplicates + invalid : undefined}
        rowKey={({ to, requestId }, at) => `${to}${requestId}${at}`}
        columns={[
          [labels.number, ({ to }) => to && <PhoneNumber number={to} />],
          [
            labels.state,
            (row) => (
              <RowStateText state={row.status}>
                {row.leftOut && texts.campaign.line(row.leftOut.line)}
              </RowStateText>
            ),
          ],
          [labels.reason, ({ reason, serviceStatus }) => reason ?? serviceStatus],
          [labels.reference, ({ reference }) => reference],
          [labels.sent, ({ sentAt }) => <Time at={sentAt} zone={zone} withSeconds />],
          [labels.updated, ({ updatedAt }) => <Time at={updatedAt} zone={zone} withSeconds />],
        ]}
      />
    </Section>
  );
}

/** A page of those that the filters mean. Rows in a rare state are collected from several parts of the list. */
async function pageOf(
  id: string,
  { cursor: begin, status }: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<LoadedPage<Row>> {
  const rows: Row[] = [];
  let cursor = begin ?? null;
  for (let reads = 0; reads < READS && rows.length < PAGE; reads++) {
    const input = { id, limit: PAGE - rows.length, status: status as RowState, cursor: cursor ?? undefined };
    const page = await call('listRecipients', input as never, { signal });
    rows.push(...page.recipients);
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  return { rows, nextCursor: cursor };
}

/** What was sent to one number. */
async function rowsOf(id: string, number: string, signal: AbortSignal): Promise<LoadedPage<Row>> {
  const { found } = await call('findNumber', { number }, { signal });
  const rows = found.filter(({ campaign }) => campaign === id);
  return { rows: rows.map((row) => ({ ...row, values: null })), nextCursor: null };
}

/** A number is no part of the address, which stays in the history. */
function NumberFilter({ onChange }: { onChange(number: string): void }) {
  return (
    <label class="field">
      {labels.number}
      <input
        type="search"
        inputMode="tel"
        autoComplete="off"
        placeholder="+44…"
        onChange={(event) => onChange(event.currentTarget.value.trim())}
      />
    </label>
  );
}

/** A value that changes at most this often. */
function useSlowly<Value>(value: Value, everyMs: number): Value {
  const [slow, setSlow] = useState(value);
  const newest = useRef(value);
  newest.current = value;
  useEffect(() => {
    const timer = setInterval(() => setSlow(newest.current), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return slow;
}
