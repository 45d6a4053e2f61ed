import { useState } from 'preact/hooks';
import { call, type Input, type Output } from '../base/api.js';
import { labels } from '../base/labels.js';
import { listTexts } from '../base/list-texts.js';
import { useLoaded } from '../base/loaded.js';
import { session } from '../base/session.js';
import { RowStateText } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Form } from '../parts/Form.js';
import { Section } from '../parts/Section.js';
import { Table } from '../parts/Table.js';
import { PhoneNumber, Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';

const texts = listTexts.find;
type Asked = Input<'findNumber'>;

/** Everything about one number: what was sent to it, and why nothing is. */
export function Find() {
  const [asked, setAsked] = useState<Asked | null>(null);
  return (
    <>
      <Title text={texts.title} />
      <section>
        <Form
          command="findNumber"
          fields={['number', 'country']}
          shown={{
            number: { about: texts.about, inputMode: 'tel' },
            country: { label: texts.country, about: '', placeholder: 'GB' },
          }}
          submit={texts.submit}
          onSubmit={async (values) => {
            const input = values as unknown as Asked;
            // Errors stand in the form; what is found is read again after each command.
            await call('findNumber', input);
            setAsked(input);
          }}
        />
      </section>
      {asked !== null && <Found asked={asked} />}
    </>
  );
}

function Found({ asked }: { readonly asked: Asked }) {
  const { data } = useLoaded(JSON.stringify(asked), (signal) => call('findNumber', asked, { signal }));
  if (data === null) return null;
  return (
    <>
      <Suppressed found={data} asked={asked} />
      <section>
        <Table
          caption={texts.sent}
          empty={texts.none}
          rows={data.found}
          rowKey={({ campaign, message }, at) => `${campaign}${message}${at}`}
          columns={[
            [
              labels.campaign,
              ({ campaign, name, outbox }) => (
                <a href={`/console/campaigns/${campaign}`}>{outbox === null ? name : texts.outbox(outbox)}</a>
              ),
            ],
            [labels.state, ({ status }) => <RowStateText state={status} />],
            [labels.reason, ({ reason, serviceStatus }) => reason ?? serviceStatus],
            [labels.sent, ({ sentAt }) => <Time at={sentAt} withSeconds />],
            [labels.updated, ({ updatedAt }) => <Time at={updatedAt} withSeconds />],
          ]}
        />
      </section>
    </>
  );
}

interface SuppressedProps {
  readonly found: Output<'findNumber'>;
  readonly asked: Asked;
}

/** On which lists the number is, since when, and who put it there. */
function Suppressed({ found: { suppressions }, asked: { number, country } }: SuppressedProps) {
  const numbers = { numbers: [number], ...(country && { country }) };
  const lanes = session.value?.lanes ?? [];
  return (
    <Section title={<PhoneNumber number={number} />}>
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
            about={texts.onLane(lane)}
            fields={['reason']}
          />
        </p>
      ))}
      {!suppressions.some(({ lane }) => lane === null) && (
        <p>
          <CommandButton
            command="addSuppressions"
            input={{ ...numbers, ...(lanes[0] !== undefined && { lane: lanes[0] }) }}
            question={texts.suppressQuestion}
            fields={['reason']}
          />
        </p>
      )}
    </Section>
  );
}
