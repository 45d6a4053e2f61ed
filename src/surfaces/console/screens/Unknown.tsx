import type { Input } from '../base/api.js';
import type { CampaignStatus } from '../base/live-types.js';
import { recipientsText, texts } from '../base/texts.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Table } from '../parts/Table.js';
import { Time } from '../parts/Time.js';

const words = texts.unknown;
type As = Input<'resolveCampaign'>['as'];

/** The requests whose outcome is unknown, with what is known about each, and the three ways to settle them. */
export function Unknown({ status }: { readonly status: CampaignStatus }) {
  const { unknownOutcomes, zone, counts } = status;
  return (
    <section aria-labelledby="unknown-title" id="unknown" class="panel">
      <h2 id="unknown-title">
        {words.title} <span class="quiet">{recipientsText(counts.unknown)}</span>
      </h2>
      <p class="quiet">{words.about}</p>
      <Table
        caption={words.title}
        isCaptionHidden
        rows={unknownOutcomes}
        rowKey={({ request }) => request}
        columns={[
          { title: words.columns.request, cell: ({ request }) => <code>{request}</code>, isName: true },
          { title: words.columns.recipients, cell: ({ recipientCount }) => recipientCount, isNumber: true },
          { title: words.columns.sent, cell: ({ since }) => <Time at={since} zone={zone} withSeconds /> },
          { title: words.columns.evidence, cell: ({ reason }) => reason },
          {
            title: words.columns.settle,
            cell: ({ request, recipientCount }) => (
              <Settle status={status} request={request} count={recipientCount} />
            ),
          },
        ]}
      />
      {unknownOutcomes.length > 1 && (
        <p class="row">
          <span>{words.all}:</span> <Settle status={status} count={counts.unknown} />
        </p>
      )}
    </section>
  );
}

/** Settles one request, or all of them. */
function Settle({
  status: { id, lane },
  request,
  count,
}: {
  readonly status: CampaignStatus;
  readonly request?: string;
  readonly count: number;
}) {
  const settle = (as: As) => ({
    command: 'resolveCampaign' as const,
    lane,
    input: { id, as, ...(request && { request }) },
    about: request ?? words.all,
    label: words[as === 'accepted' ? 'accepted' : as],
    outcome: ({
      requests,
      recipientCount,
      tooEarly,
    }: {
      requests: number;
      recipientCount: number;
      tooEarly: { requests: number } | null;
    }) => words.outcome(requests, recipientCount, tooEarly?.requests ?? 0),
  });
  return (
    <span class="row end">
      <CommandButton {...settle('accepted')} question={<p>{words.acceptedQuestion(count)}</p>} />
      <CommandButton {...settle('abandon')} question={<p>{words.abandonQuestion(count)}</p>} />
      <CommandButton
        {...settle('resend')}
        tone="danger"
        question={<p>{words.resendQuestion(count)}</p>}
        expect={count}
        expectLabel={words.resendExpect(count)}
      />
    </span>
  );
}
