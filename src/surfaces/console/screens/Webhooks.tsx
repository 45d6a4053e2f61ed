import { call, type Output } from '../base/api.js';
import { listTexts } from '../base/list-texts.js';
import { hasOneLane } from '../base/live.js';
import { useLoaded } from '../base/loaded.js';
import type { RowOf } from '../base/pages.js';
import { capital, labelOf, stateText, texts } from '../base/texts.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Alert, Facts, Section, Title } from '../parts/Section.js';
import { type Column, PagedTable } from '../parts/Table.js';
import { Time } from '../parts/Time.js';

const words = listTexts.webhooks;
type Webhook = Output<'listWebhooks'>['webhooks'][number];

/** The endpoints of programs: what each receives, whether it does, and what it has refused. */
export function Webhooks() {
  const { data, error } = useLoaded('', (signal) => call('listWebhooks', {}, { signal }));
  return (
    <>
      <Title text={labelOf('webhooks')} />
      <p class="quiet">{words.about}</p>
      <Alert text={error} />
      {data === null && <p class="quiet">{texts.loading}</p>}
      {data?.webhooks.length === 0 && <p>{words.none}</p>}
      {data?.webhooks.map((webhook) => (
        <Endpoint key={webhook.id} webhook={webhook} />
      ))}
    </>
  );
}

function Endpoint({ webhook }: { readonly webhook: Webhook }) {
  const { id, url, state, disabledBecause, failedCount, failingSince, lastError } = webhook;
  const { deliveredCount, lastDeliveredAt, waitingCount } = webhook;
  const isEnabled = state === 'enabled';
  const shared = { input: { id }, about: url } as const;
  return (
    <Section title={url}>
      <div class="row">
        <span class={`badge ${isEnabled ? 'good' : 'bad'}`}>{stateText(state)}</span>
        {disabledBecause !== null && words.because[disabledBecause]}
        {failingSince !== null && (
          <span class="bad">
            {words.failing} <Time at={failingSince} />
            {lastError !== null && `: ${lastError}`}.
          </span>
        )}
        <span class="row end">
          {!isEnabled && <CommandButton {...shared} command="enableWebhook" />}
          {failedCount > 0 && (
            <CommandButton
              {...shared}
              command="replayWebhook"
              label={labelOf('sendAgain')}
              question={words.replayAsk(failedCount)}
            />
          )}
        </span>
      </div>
      <Facts
        facts={[
          [labelOf('receives'), receivedBy(webhook)],
          [words.only.outboxes, webhook.outboxes?.join(', ')],
          [words.only.tags, webhook.tags?.join(', ')],
          [labelOf('lanes'), !hasOneLane() && (webhook.lanes?.join(', ') ?? labelOf('all'))],
          [
            labelOf('accepted'),
            [
              words.accepted(deliveredCount, lastDeliveredAt !== null),
              lastDeliveredAt !== null && <Time key="last" at={lastDeliveredAt} />,
            ],
          ],
          [labelOf('waiting'), words.waiting(waitingCount)],
        ]}
      />
      {failedCount === 0 ? (
        <p class="quiet">{words.noneFailed}</p>
      ) : (
        <>
          <p class="warning">{words.failedAbout(failedCount)}</p>
          <PagedTable
            operation="listFailedDeliveries"
            fixed={{ id }}
            caption={labelOf('refusedEvents')}
            cursorName={`failed-${id}`}
            columns={FAILED}
          />
        </>
      )}
    </Section>
  );
}

const eventText = (type: string): string => words.events[type as keyof typeof words.events] ?? type;
const receivedBy = ({ events }: Webhook): string =>
  events === null
    ? labelOf('everything')
    : capital(events.map((type) => eventText(type).toLowerCase()).join(', '));

const FAILED: readonly Column<RowOf<'listFailedDeliveries'>>[] = [
  [labelOf('givenUp'), ({ failedAt }) => <Time at={failedAt} withSeconds />],
  [labelOf('what'), ({ type, resultCount }) => words.what(eventText(type), resultCount)],
  [
    labelOf('answer'),
    ({ reason, attemptCount }) => (
      <span>
        {capital(reason)} <span class="quiet">{words.times(attemptCount)}</span>
      </span>
    ),
  ],
  [labelOf('happened'), ({ createdAt }) => <Time at={createdAt} withSeconds />],
];
