import { useRef, useState } from 'preact/hooks';
import { call, HOME, type Input, type Output } from '../base/api.js';
import { countryOptions, countryText, defaultCountry } from '../base/countries.js';
import { listTexts } from '../base/list-texts.js';
import { useLoaded } from '../base/loaded.js';
import { reasonOf } from '../base/recipients.js';
import { session } from '../base/session.js';
import { labelOf, texts as pageTexts } from '../base/texts.js';
import { countText } from '../base/times.js';
import { RowStateText } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Form } from '../parts/Form.js';
import { ShowNumbers } from '../parts/NumberFilter.js';
import { Alert, Reason, Section, Title } from '../parts/Section.js';
import { Table } from '../parts/Table.js';
import { Time } from '../parts/Time.js';
import { keyOf, replyColumns } from './Replies.js';

const texts = listTexts.find;
type Asked = Input<'findNumber'>;

/** Everything about one number: what was sent to it, and why nothing is. */
export function Find() {
  const country = defaultCountry();
  const [asked, setAsked] = useState<Asked | null>(null);
  const searches = useRef(0);
  /** What was found is about the number in the field, so another one clears it. Returns which search this is. */
  const clear = (): number => {
    setAsked(null);
    searches.current += 1;
    return searches.current;
  };
  return (
    <>
      <Title text={texts.title}>
        <ShowNumbers />
      </Title>
      <section onInput={clear}>
        <Form
          command="findNumber"
          fields={['number', 'country']}
          shown={{
            number: { about: texts.about(country && countryText(country)), inputMode: 'tel' },
            country: { label: texts.country, about: '', options: countryOptions() },
          }}
          submit={labelOf('find')}
          onSubmit={async (values) => {
            const input = values as unknown as Asked;
            const search = clear();
            // Errors stand in the form; what is found is read again after each command.
            await call('findNumber', input);
            if (search === searches.current) setAsked(input);
          }}
        />
      </section>
      {asked !== null && <Found key={JSON.stringify(asked)} asked={asked} />}
    </>
  );
}

function Found({ asked }: { readonly asked: Asked }) {
  const { data, error } = useLoaded('', (signal) => call('findNumber', asked, { signal }));
  if (data === null) return <Alert text={error} />;
  return (
    <>
      <Alert text={error} />
      <Suppressed {...data} asked={asked} />
      <section>
        <Table
          caption={texts.sent}
          range={countText(data.found.length)}
          empty={texts.none}
          rows={data.found}
          columns={[
            [
              labelOf('campaign'),
              ({ campaign, name, outbox, message }) =>
                campaign === null ? (
                  texts.message(outbox ?? '', message ?? '')
                ) : (
                  <a href={`${HOME}/campaigns/${campaign}`}>{name}</a>
                ),
            ],
            [labelOf('text'), ({ text }) => <span class="text">{text}</span>],
            [labelOf('state'), ({ status }) => <RowStateText state={status} />],
            [labelOf('reason'), (row) => <Reason {...reasonOf(row)} />],
            [labelOf('sent'), ({ sentAt }) => <Time at={sentAt} isDated />],
            [
              labelOf('delivered'),
              ({ status, updatedAt }) => (
                <Time at={status === 'deliveredToTerminal' ? updatedAt : null} isDated />
              ),
            ],
          ]}
        />
      </section>
      <section>
        <Table
          caption={texts.replies}
          range={countText(data.replies.length)}
          empty={texts.noReplies}
          rows={data.replies}
          rowKey={keyOf}
          columns={replyColumns(false)}
        />
      </section>
    </>
  );
}

/** On which lists the number is, since when, and who put it there. */
function Suppressed({ suppressions, asked }: Output<'findNumber'> & { readonly asked: Asked }) {
  const { number, country } = asked;
  const numbers = { numbers: [number], ...(country && { country }) };
  const [own] = session.value?.lanes ?? [];
  const isSuppressed = suppressions.length > 0;
  return (
    <Section title={number}>
      <p class={isSuppressed ? 'warning' : undefined} role="status">
        {isSuppressed ? pageTexts.suppressed : texts.notSuppressed}
      </p>
      {suppressions.map(({ lane, operations }) => (
        <p key={lane} class="row">
          <strong>{texts.onLane(lane)}</strong> {operations.length === 0 && texts.elsewhere}
          {operations.map(({ id, createdAt, actor, source, reason }) => (
            <span key={id}>
              <Time at={createdAt} />: {texts.why(source, actor.name, reason)}
            </span>
          ))}
          <CommandButton
            command="removeSuppressions"
            input={{ ...numbers, ...(lane !== null && { lane }) }}
            lane={lane ?? undefined}
            about={`${number} ${texts.onLane(lane).toLowerCase()}`}
            fields={['reason']}
          />
        </p>
      ))}
      {!suppressions.some(({ lane }) => lane === null) && (
        <p class="row">
          <CommandButton
            command="addSuppressions"
            input={{ ...numbers, ...(own && { lane: own }) }}
            about={number}
            fields={['reason']}
          />
        </p>
      )}
    </Section>
  );
}
