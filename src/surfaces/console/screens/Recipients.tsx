import type { ReportRow } from 'built/campaign/views/recipient-views.js';
import type { CampaignStatus } from 'built/campaign/views/views.js';
import { useMemo, useState } from 'preact/hooks';
import { call } from '../base/api.js';
import { useFilters } from '../base/filters.js';
import { useSlowly } from '../base/loaded.js';
import type { LoadedPage } from '../base/pages.js';
import { reasonOf } from '../base/recipients.js';
import { labelOf, texts } from '../base/texts.js';
import { RowStateText } from '../parts/Bar.js';
import { NumberFilter } from '../parts/NumberFilter.js';
import { Reason, Section } from '../parts/Section.js';
import { type Column, PagedTable } from '../parts/Table.js';
import { PhoneNumber, Time } from '../parts/Time.js';

/** The recipients of a campaign in the order of its list, or those in one state. */
export function Recipients({ status }: { readonly status: CampaignStatus }) {
  const { id, counts, zone, duplicates, invalid } = status;
  const [filters] = useFilters();
  const [number, setNumber] = useState('');
  const version = useSlowly(JSON.stringify(counts));
  const columns = useMemo(() => columnsIn(zone), [zone]);
  const isWhole = filters['status'] === undefined && number === '';
  return (
    <Section title={labelOf('recipients')} id="list">
      <PagedTable
        operation="listRecipients"
        fixed={{ id }}
        caption={labelOf('recipients')}
        filters={['status']}
        actions={<NumberFilter onChange={setNumber} />}
        load={number === '' ? undefined : (signal) => rowsOf(id, number, signal)}
        version={version + number}
        total={isWhole ? counts.total + duplicates + invalid : undefined}
        columns={columns}
      />
    </Section>
  );
}

const columnsIn = (zone: string | null): readonly Column<ReportRow>[] => [
  [labelOf('number'), ({ to }) => to && <PhoneNumber number={to} />],
  [
    labelOf('state'),
    ({ status: state, leftOut }) => (
      <RowStateText state={state}>{leftOut && texts.campaign.line(leftOut.line)}</RowStateText>
    ),
  ],
  [labelOf('reason'), (row) => <Reason {...reasonOf(row)} />],
  [labelOf('reference'), ({ reference }) => reference],
  [labelOf('sent'), ({ sentAt }) => <Time at={sentAt} zone={zone} withSeconds />],
  [labelOf('updated'), ({ updatedAt }) => <Time at={updatedAt} zone={zone} withSeconds />],
];

/** What was sent to one number. */
async function rowsOf(id: string, number: string, signal: AbortSignal): Promise<LoadedPage<ReportRow>> {
  const { found } = await call('findNumber', { number }, { signal });
  const rows = found.filter(({ campaign }) => campaign === id);
  return { rows: rows.map((row) => ({ ...row, revision: null, values: null })), nextCursor: null };
}
