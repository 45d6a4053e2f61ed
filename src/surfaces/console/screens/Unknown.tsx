import type { CampaignStatus } from 'built/campaign/views/views.js';
import { useEffect } from 'preact/hooks';
import { RESEND_POSSIBLE } from '../../../campaign/states/resolutions.js';
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
          [
            labelOf('recipients'),
            ({ request, recipientCount }) => {
              const known = people?.filter(({ requestId }) => requestId === request).slice(0, SHOWN) ?? [];
              const more = recipientCount - known.length;
              return (
                <span>
                  {known.map(({ to }) => to && [<PhoneNumber key={to} number={to} />, ' '])}
                  {more > 0 && words.more(more, known.length)}
                </span>
              );
            },
          ],
          [
            labelOf('sent'),
            ({ claimedAt, since }) => <Time at={claimedAt ?? since} zone={zone} withSeconds />,
          ],
          [
            labelOf('whatIsKnown'),
            ({ request, reason, code, isPolled }) => (
              <Reason
                plain={isPolled ? words.polled : words.codes[code]}
                details={`${capital(reason)} (${request})`}
              />
            ),
          ],
          [
            labelOf(RESEND_POSSIBLE.label),
            ({ resendFrom: at }) =>
              Date.parse(at) <= now ? (
                RESEND_POSSIBLE.now
              ) : (
                <span title={RESEND_POSSIBLE.later}>
                  <Time at={at} zone={zone} withSeconds />
                </span>
              ),
          ],
          [
            labelOf('resolveAs'),
            ({ request, recipientCount: count }) => (
              <Settle {...settle} input={{ id, request }} count={count} about={recipientsText(count)} />
            ),
          ],
        ]}
      />
      {status.unknownOutcomes.length > 1 && (
        <p class="row">
          <span>{words.all}:</span>{' '}
          <Settle {...settle} input={{ id }} count={counts.unknown} about={words.allOf(status.name)} />
        </p>
      )}
    </Section>
  );
}
