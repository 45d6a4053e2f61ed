import { labelOf, labels } from '../base/labels.js';
import type { CampaignStatus } from '../base/live-types.js';
import { recipientsText, texts } from '../base/texts.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Section } from '../parts/Section.js';
import { Table } from '../parts/Table.js';
import { Time } from '../parts/Time.js';

const words = texts.unknown;

/** The requests whose outcome is unknown, with what is known about each, and the three ways to settle them. */
export function Unknown({ status }: { readonly status: CampaignStatus }) {
  const { unknownOutcomes, zone, counts } = status;
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
      <Table
        caption={labels.unknown}
        isCaptionHidden
        rows={unknownOutcomes}
        rowKey={({ request }) => request}
        columns={[
          [labels.request, ({ request }) => <code>{request}</code>],
          [labels.recipients, ({ recipientCount }) => recipientCount],
          [labels.sent, ({ since }) => <Time at={since} zone={zone} withSeconds />],
          [labels.evidence, ({ reason }) => reason],
          [
            labels.settle,
            ({ request, recipientCount }) => (
              <Settle status={status} request={request} count={recipientCount} />
            ),
          ],
        ]}
      />
      {unknownOutcomes.length > 1 && (
        <p class="row">
          <span>{words.all}:</span> <Settle status={status} count={counts.unknown} />
        </p>
      )}
    </Section>
  );
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
