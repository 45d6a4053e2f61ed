import type { CampaignStatus, UnknownRequest } from 'built/campaign/views/views.js';
import { useEffect } from 'preact/hooks';
import { useLoaded } from '../base/loaded.js';
import { readPage } from '../base/pages.js';
import { mayRun } from '../base/session.js';
import { capital, labelOf, recipientsText, texts } from '../base/texts.js';
import { ShowNumbers } from '../parts/NumberFilter.js';
import { Reason, Section } from '../parts/Section.js';
import { Settle } from '../parts/Settle.js';
import { PagedTable } from '../parts/Table.js';
import { PhoneNumber, Time, useNow } from '../parts/Time.js';

const words = texts.unknown;
/** Numbers of a request. */
const SHOWN = 3;

/** The requests whose outcome is unknown, with what is known about each, and the three ways to settle them. */
export function Unknown({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, zone, counts } = status;
  const now = useNow();
  const settle = { command: 'resolveCampaign', lane } as const;
  const { data: people } = useLoaded(`${id} ${counts.unknown}`, async (signal) => {
    if (!mayRun('listRecipients', lane)) return [];
    return (await readPage('listRecipients', { status: 'unknown' }, { id }, signal)).rows;
  });
  const peopleOf = ({ request, recipientCount }: UnknownRequest) => {
    const known = people?.filter(({ requestId }) => requestId === request).slice(0, SHOWN) ?? [];
    const more = recipientCount - known.length;
    return (
      <span>
        {known.map(({ to }) => to && [<PhoneNumber key={to} number={to} />, ' '])}
        {more > 0 && words.more(more, known.length)}
      </span>
    );
  };
  // The section was not there yet when the link was followed.
  useEffect(() => {
    if (location.hash === '#unknown') document.getElementById('unknown')?.scrollIntoView();
  }, []);
  return (
    <Section id="unknown" title={labelOf('unknownOutcomes')}>
      <p class="quiet">
        {recipientsText(counts.unknown)}. {words.about}
      </p>
      <PagedTable
        operation="listUnknown"
        fixed={{ id }}
        caption={labelOf('unknownOutcomes')}
        cursorName="unknown"
        version={`${id} ${counts.unknown}`}
        rowKey={({ request }) => request}
        actions={<ShowNumbers />}
        columns={[
          [labelOf('recipients'), peopleOf],
          // Not at the end of the row, where the link to this section was.
          [
            labelOf('resolveAs'),
            (row) => (
              <Settle
                {...settle}
                input={{ id, request: row.request }}
                count={row.recipientCount}
                about={peopleOf(row)}
              />
            ),
          ],
          [
            labelOf('sent'),
            ({ claimedAt, since }) => <Time at={claimedAt ?? since} zone={zone} withSeconds />,
          ],
          [
            labelOf('whatIsKnown'),
            ({ request, reason, code, isPolled, resendFrom: at }) => (
              <>
                <Reason
                  plain={isPolled ? words.polled : words.codes[code]}
                  details={`${capital(reason)} (${request})`}
                />
                {Date.parse(at) > now && [words.resendFrom, <Time key="at" at={at} zone={zone} isIn />]}
              </>
            ),
          ],
        ]}
      />
      {status.unknownOutcomes.length > 1 && (
        <p class="row">
          <span>{labelOf('allOfThem')}:</span>{' '}
          <Settle {...settle} input={{ id }} count={counts.unknown} about={words.allOf(status.name)} />
        </p>
      )}
    </Section>
  );
}
