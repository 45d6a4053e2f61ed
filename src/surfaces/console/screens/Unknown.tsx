import { useEffect, useState } from 'preact/hooks';
import { call, type Schemas } from '../base/api.js';
import { labelOf, labels } from '../base/labels.js';
import type { CampaignStatus } from '../base/live-types.js';
import { recipientsText, texts } from '../base/texts.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Section } from '../parts/Section.js';
import { Table } from '../parts/Table.js';
import { Time, useNow } from '../parts/Time.js';

const words = texts.unknown;

/** The requests whose outcome is unknown, with what is known about each, and the three ways to settle them. */
export function Unknown({ status }: { readonly status: CampaignStatus }) {
  const { id, zone, counts } = status;
  const [rows, setRows] = useState<readonly Schemas['UnknownRequest'][] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [error, setError] = useState('');
  // The list of recipients on this screen has its pages in the address.
  const load = async (cursor: string | null, signal?: AbortSignal): Promise<void> => {
    try {
      const page = await call('listUnknown', { id, ...(cursor && { cursor }) }, signal && { signal });
      setRows((before) => [...((cursor && before) || []), ...page.requests]);
      setNext(page.nextCursor);
      setError('');
    } catch (thrown) {
      if (!signal?.aborted) setError(thrown instanceof Error ? thrown.message : '');
    }
  };
  useEffect(() => {
    const controller = new AbortController();
    void load(null, controller.signal);
    return () => controller.abort();
  }, [id, counts.unknown]);
  // The section was not there yet when the link was followed.
  useEffect(() => {
    if (location.hash === '#unknown') document.getElementById('unknown')?.scrollIntoView();
  }, []);
  return (
    <Section
      id="unknown"
      title={
        <>
          {labels.unknown} <span class="quiet">{recipientsText(counts.unknown)}</span>
        </>
      }
    >
      <p class="quiet">{words.about}</p>
      {error !== '' && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <Table
        caption={labels.unknown}
        isCaptionHidden
        rows={rows}
        rowKey={({ request }) => request}
        columns={[
          [labels.request, ({ request }) => <code>{request}</code>],
          [labels.recipients, ({ recipientCount }) => recipientCount],
          [labels.sent, ({ claimedAt, since }) => <Time at={claimedAt ?? since} zone={zone} withSeconds />],
          [
            labels.evidence,
            ({ reason, code, isPolled }) => (
              <>
                {reason} <span class="quiet">{isPolled ? words.polled : words.codes[code]}</span>
              </>
            ),
          ],
          [labels.safe, ({ resendFrom }) => <Safe from={resendFrom} zone={zone} />],
          [
            labels.settle,
            ({ request, recipientCount }) => (
              <Settle status={status} request={request} count={recipientCount} />
            ),
          ],
        ]}
      />
      {next !== null && (
        <button type="button" onClick={() => load(next)}>
          {words.more}
        </button>
      )}
      {status.unknownOutcomes.length > 1 && (
        <p class="row">
          <span>{words.all}:</span> <Settle status={status} count={counts.unknown} />
        </p>
      )}
    </Section>
  );
}

/** From when on it is safe to resend. */
function Safe({ from, zone }: { readonly from: string; readonly zone: string | null }) {
  return Date.parse(from) <= useNow() ? words.safeNow : <Time at={from} zone={zone} withSeconds />;
}

interface SettleProps {
  readonly status: CampaignStatus;
  readonly request?: string;
  readonly count: number;
}

/** Settles one request, or all of them. */
function Settle({ status: { id, lane }, request, count }: SettleProps) {
  return (
    <span class="row">
      {(['accepted', 'abandon', 'resend'] as const).map((as) => (
        <CommandButton
          key={as}
          command="resolveCampaign"
          lane={lane}
          input={{ id, as, ...(request && { request }) }}
          label={labelOf(as)}
          about={request ?? words.all}
          question={words.questions[as](count)}
          {...(as === 'resend' && {
            tone: 'danger' as const,
            expect: { count, label: words.resendExpect(count) },
          })}
        />
      ))}
    </span>
  );
}
