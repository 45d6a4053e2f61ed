import type { CampaignStatus } from 'built/campaign/views/views.js';
import { useEffect } from 'preact/hooks';
import { RESEND_POSSIBLE, RESOLUTIONS } from '../../../campaign/states/resolutions.js';
import { campaignTexts } from '../base/campaign-texts.js';
import { useLoaded } from '../base/loaded.js';
import { readPage } from '../base/pages.js';
import { mayRun } from '../base/session.js';
import { labelOf, recipientsText } from '../base/texts.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Section } from '../parts/Section.js';
import { PagedTable } from '../parts/Table.js';
import { PhoneNumber, Time, useNow } from '../parts/Time.js';

const words = campaignTexts.unknown;
/** Numbers of a request. */
const SHOWN = 3;

/** The requests whose outcome is unknown, with what is known about each, and the three ways to settle them. */
export function Unknown({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, zone, counts } = status;
  const now = useNow();
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
        columns={[
          [labelOf('request'), ({ request }) => <code>{request}</code>],
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
            ({ reason, code, isPolled }) => (
              <span>
                {reason}. <span class="quiet">{isPolled ? words.polled : words.codes[code]}</span>
              </span>
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
            ({ request, recipientCount: count }) => <Settle {...{ status, request, count }} />,
          ],
        ]}
      />
      {status.unknownOutcomes.length > 1 && (
        <p class="row">
          <span>{words.all}:</span> <Settle status={status} count={counts.unknown} />
        </p>
      )}
    </Section>
  );
}

type SettleProps = { status: CampaignStatus; request?: string; count: number };

/** Settles one request, or all of them. */
function Settle({ status: { id, lane, name }, request, count }: SettleProps) {
  const resend = { tone: 'danger', expect: { count, label: words.resendExpect(count) } } as const;
  return (
    <span class="row">
      {(['accepted', 'abandon', 'resend'] as const).map((as) => (
        <CommandButton
          key={as}
          command="resolveCampaign"
          lane={lane}
          input={{ id, as, ...(request && { request }) }}
          label={labelOf(as)}
          about={request ?? words.allOf(name)}
          question={RESOLUTIONS[as](recipientsText(count))}
          {...(as === 'resend' && resend)}
        />
      ))}
    </span>
  );
}
