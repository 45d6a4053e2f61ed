import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { call, type Schemas } from '../base/api.js';
import { useFilters } from '../base/filters.js';
import type { CampaignStatus } from '../base/live-types.js';
import { KIND_OF } from '../base/recipients.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { Swatch } from '../parts/Bar.js';
import { type LoadedPage, PagedTable } from '../parts/Table.js';
import { PhoneNumber, Time } from '../parts/Time.js';

type Row = Schemas['ReportRow'];
type Status = Row['status'];

const words = texts.campaign.columns;
const STATUSES = Object.entries(texts.states).map(([value, label]) => ({ value, label }));
const PAGE = 100;
/** How many parts of a long list are read for one page of a rare state. */
const READS = 20;
const AGAIN_MS = 5_000;

/** The recipients of a campaign in the order of its list, or those in one state. */
export function Recipients({ status }: { readonly status: CampaignStatus }) {
  const { id, counts, zone, duplicates, invalid } = status;
  const [{ status: filter }] = useFilters();
  const [number, setNumber] = useState('');
  const version = useSlowly(JSON.stringify(counts), AGAIN_MS);
  const load = async (
    filters: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<LoadedPage<Row>> => {
    if (number !== '') {
      const { found } = await call('findNumber', { number }, { signal });
      const rows = found.filter((one) => one.campaign === id);
      return { rows: rows.map((row) => ({ ...row, values: null })), nextCursor: null };
    }
    const rows: Row[] = [];
    let cursor = filters['cursor'];
    for (let reads = 0; reads < READS && rows.length < PAGE; reads++) {
      const wanted = filters['status'] as Status | undefined;
      const page = await call(
        'listRecipients',
        { id, limit: PAGE - rows.length, ...(cursor && { cursor }), ...(wanted && { status: wanted }) },
        { signal },
      );
      rows.push(...page.recipients);
      if (page.nextCursor === null) return { rows, nextCursor: null };
      cursor = page.nextCursor;
    }
    return { rows, nextCursor: cursor ?? null };
  };
  const isWhole = filter === undefined && number === '';
  return (
    <section aria-labelledby="recipients" id="list">
      <h2 id="recipients">{texts.campaign.recipients}</h2>
      <PagedTable
        caption={texts.campaign.recipients}
        isCaptionHidden
        filters={[{ name: 'status', label: words.state, options: STATUSES }]}
        actions={mayRun('findNumber') && <NumberFilter onChange={setNumber} />}
        load={load}
        version={`${version}${number}`}
        total={isWhole ? counts.total + duplicates + invalid : undefined}
        rowKey={({ to, requestId }, at) => `${to}${requestId}${at}`}
        columns={[
          { title: words.number, cell: ({ to }) => to && <PhoneNumber number={to} />, isName: true },
          { title: words.state, cell: (row) => <State row={row} /> },
          { title: words.reason, cell: ({ reason, serviceStatus }) => reason ?? serviceStatus ?? '' },
          { title: words.reference, cell: ({ reference }) => reference ?? '' },
          { title: words.sent, cell: ({ sentAt }) => sentAt && <Time at={sentAt} zone={zone} withSeconds /> },
          {
            title: words.updated,
            cell: ({ updatedAt }) => updatedAt && <Time at={updatedAt} zone={zone} withSeconds />,
          },
        ]}
      />
    </section>
  );
}

function State({ row: { status, leftOut } }: { readonly row: Row }) {
  const kind = status === 'duplicate' || status === 'invalid' ? 'left' : KIND_OF[status];
  return (
    <span class="nowrap">
      <Swatch kind={kind} /> {texts.states[status]}
      {leftOut && <span class="quiet"> {words.line(leftOut.line)}</span>}
    </span>
  );
}

/** A number is no part of the address, which stays in the history. */
function NumberFilter({ onChange }: { onChange(number: string): void }) {
  const id = useId();
  return (
    <span class="field">
      <label for={id}>{words.number}</label>
      <input
        id={id}
        type="search"
        inputMode="tel"
        autoComplete="off"
        placeholder="+44…"
        onChange={(event) => onChange(event.currentTarget.value.trim())}
      />
    </span>
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
