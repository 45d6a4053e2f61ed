import { useState } from 'preact/hooks';
import { call, type Output } from '../base/api.js';
import { listTexts } from '../base/list-texts.js';
import { KIND_OF } from '../base/recipients.js';
import { session } from '../base/session.js';
import { texts as pageTexts } from '../base/texts.js';
import { Swatch } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Form } from '../parts/Form.js';
import { Table } from '../parts/Table.js';
import { PhoneNumber, Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';

const texts = listTexts.find;
type Found = Output<'findNumber'>;

/** Everything about one number: what was sent to it, and why nothing is. */
export function Find() {
  const [asked, setAsked] = useState<{ readonly number: string; readonly country?: string } | null>(null);
  const [found, setFound] = useState<Found | null>(null);
  const find = async (input: { readonly number: string; readonly country?: string }): Promise<void> => {
    setFound(await call('findNumber', input));
    setAsked(input);
  };
  const again = (): void => void (asked && find(asked));
  return (
    <>
      <Title text={texts.title} />
      <Form
        command="findNumber"
        fields={['number', 'country']}
        shown={{
          number: { label: texts.number, about: texts.about, inputMode: 'tel' },
          country: { label: texts.country, about: '', placeholder: 'GB' },
        }}
        submit={texts.submit}
        onSubmit={({ number, country }) =>
          find({ number: String(number ?? ''), ...(country && { country: String(country) }) })
        }
      />
      {found !== null && asked !== null && (
        <>
          <Suppressed found={found} asked={asked} onChange={again} />
          <Table
            caption={texts.sent}
            empty={texts.none}
            rows={found.found}
            rowKey={({ campaign, message }, at) => `${campaign}${message}${at}`}
            columns={[
              {
                title: texts.campaign,
                isName: true,
                cell: ({ campaign, name, outbox }) => (
                  <a href={`/console/campaigns/${campaign}`}>
                    {outbox === null ? name : texts.outbox(outbox)}
                  </a>
                ),
              },
              {
                title: texts.status,
                cell: ({ status }) => (
                  <span class="nowrap">
                    <Swatch
                      kind={status === 'duplicate' || status === 'invalid' ? 'left' : KIND_OF[status]}
                    />{' '}
                    {pageTexts.states[status]}
                  </span>
                ),
              },
              { title: texts.reason, cell: ({ reason, serviceStatus }) => reason ?? serviceStatus ?? '' },
              { title: texts.sentAt, cell: ({ sentAt }) => sentAt && <Time at={sentAt} withSeconds /> },
              {
                title: texts.updated,
                cell: ({ updatedAt }) => updatedAt && <Time at={updatedAt} withSeconds />,
              },
            ]}
          />
        </>
      )}
    </>
  );
}

interface SuppressedProps {
  readonly found: Found;
  readonly asked: { readonly number: string; readonly country?: string };
  onChange(): void;
}

/** On which lists the number is, since when, and who put it there. */
function Suppressed({ found: { suppressions }, asked, onChange }: SuppressedProps) {
  const { number, country } = asked;
  const numbers = { numbers: [number], ...(country && { country }) };
  const lanes = session.value?.lanes ?? [];
  return (
    <section class="stack" aria-labelledby="found-number">
      <h2 id="found-number">
        <PhoneNumber number={number} />
      </h2>
      <p class={suppressions.length > 0 ? 'warning' : undefined} role="status">
        {suppressions.length > 0 ? texts.suppressed : texts.notSuppressed}
      </p>
      {suppressions.map(({ lane, operations }) => (
        <p key={lane} class="row">
          <span>
            <strong>{texts.onLane(lane)}</strong> {operations.length === 0 && texts.elsewhere}
            {operations.map(({ id, createdAt, actor, source, reason }) => (
              <span key={id}>
                · <Time at={createdAt} />: {texts.why(source, actor.name, reason)}{' '}
              </span>
            ))}
          </span>
          <CommandButton
            command="removeSuppressions"
            input={{ ...numbers, ...(lane !== null && { lane }) }}
            lane={lane ?? undefined}
            label={texts.lift}
            about={texts.onLane(lane)}
            question={texts.liftQuestion}
            fields={['reason']}
            outcome={() => texts.lifted}
            onDone={onChange}
          />
        </p>
      ))}
      {!suppressions.some(({ lane }) => lane === null) && (
        <CommandButton
          command="addSuppressions"
          input={{ ...numbers, ...(lanes[0] !== undefined && { lane: lanes[0] }) }}
          label={texts.suppress}
          about={texts.title}
          question={texts.suppressQuestion}
          fields={['reason']}
          outcome={() => texts.suppressDone}
          onDone={onChange}
        />
      )}
    </section>
  );
}
