import type { ReportRow } from 'built/campaign/views/recipient-views.js';
import type { CampaignStatus } from 'built/campaign/views/views.js';
import { useLocation } from 'preact-iso/router';
import { STATUS_GROUPS } from '../../../campaign/states/reported-status.js';
import { withoutMessage } from '../../../campaign/text/service-message.js';
import { call } from '../base/api.js';
import { campaignTexts } from '../base/campaign-texts.js';
import { recentEvents } from '../base/live.js';
import { useLoaded, useSlowly } from '../base/loaded.js';
import { readPage } from '../base/pages.js';
import { RESULT_NAMES, RESULTS, resultOf } from '../base/recipients.js';
import { mayRun } from '../base/session.js';
import { capital, labelOf, stateText, texts } from '../base/texts.js';
import { countText, percentText } from '../base/times.js';
import { Bar, Progress } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Details, Section } from '../parts/Section.js';
import { Table } from '../parts/Table.js';

const words = campaignTexts.result;

interface ResultProps {
  readonly status: CampaignStatus;
  readonly perMinute: number | null;
}

/** What became of the recipients, in numbers. */
export function Result({ status, perMinute }: ResultProps) {
  const { counts, endedAt, lane } = status;
  const shown = RESULT_NAMES.filter((name) => name !== 'unclear' || resultOf(counts, name) > 0);
  return (
    <Section title={words.title(endedAt !== null)}>
      <dl class="figures">
        {shown.map((name) => {
          const count = resultOf(counts, name);
          const states = RESULTS[name].filter((state) => counts[state] > 0);
          return (
            <div key={name}>
              <dt>{texts.results[name]}</dt>
              <dd>
                <strong>{countText(count)}</strong>{' '}
                <span class="quiet">{percentText(count, counts.total)}</span>
              </dd>
              {(states.length > 1 || name !== 'delivered') &&
                states.map((state) => (
                  <dd key={state} class="quiet">
                    {countText(counts[state])}{' '}
                    {words.states[state as keyof typeof words.states] ?? stateText(state)}
                  </dd>
                ))}
            </div>
          );
        })}
        {mayRun('listInbound', lane) && <Replies status={status} />}
      </dl>
      <Bar counts={counts} />
      <Progress counts={counts} perMinute={perMinute} />
    </Section>
  );
}

/** How many people have answered, and the way to what they said. */
function Replies({ status: { id, lane } }: Pick<ResultProps, 'status'>) {
  const newest = recentEvents.value.find(({ type }) => type === 'inbound.received');
  const { data } = useLoaded(`${id} ${useSlowly(newest?.id)}`, (signal) =>
    readPage('listInbound', {}, { campaign: id, lane }, signal),
  );
  const count = data?.rows.length ?? 0;
  const text = [<strong key="count">{countText(count)}</strong>, ` ${words.replies(count)}`];
  return (
    <div>
      <dt>{labelOf('replies')}</dt>
      <dd>{count === 0 ? text : <a href={`/console/replies?campaign=${id}`}>{text}</a>}</dd>
      {data?.nextCursor != null && <dd class="quiet">{words.moreReplies}</dd>}
    </div>
  );
}

/** How many failures are read to count their reasons. */
const READ = 1_000;
const { failed: FAILED } = STATUS_GROUPS;

/** Why recipients did not get the message, by what the service says; and a button that sends it to them again. */
export function Failures({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, counts } = status;
  const count = FAILED.reduce((sum, state) => sum + counts[state], 0);
  const version = useSlowly(String(count));
  const { data } = useLoaded(`${id} ${version}`, async (signal) => {
    if (count === 0 || !mayRun('listRecipients', lane)) return null;
    return reasonsOf(
      (await call('listRecipients', { id, status: 'failed', limit: READ }, { signal })).recipients,
    );
  });
  if (count === 0) return null;
  return (
    <Section title={words.why}>
      {mayRun('listRecipients', lane) && (
        <Table
          caption={words.why}
          range={count > READ ? words.ofFirst(READ, count) : undefined}
          rows={data}
          rowKey={({ plain, details, state }) => `${state} ${plain} ${details}`}
          columns={[
            [labelOf('reason'), ({ plain, details }) => [plain, <Details key="details" text={details} />]],
            [labelOf('state'), ({ state }) => stateText(state)],
            [labelOf('recipients'), ({ count }) => count],
          ]}
        />
      )}
      {status.endedAt !== null && <Again status={status} count={count} />}
    </Section>
  );
}

interface Reason extends ReturnType<typeof withoutMessage> {
  readonly state: string;
  readonly count: number;
}

/** The reasons of failures, the most frequent first. */
export function reasonsOf(rows: readonly Pick<ReportRow, 'status' | 'reason' | 'serviceStatus'>[]): Reason[] {
  const found = new Map<string, Reason>();
  for (const { status: state, reason, serviceStatus } of rows) {
    const why = reason ?? serviceStatus ?? words.reasons[state as keyof typeof words.reasons] ?? state;
    const key = `${state} ${why}`;
    found.set(key, { ...withoutMessage(capital(why)), state, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** Sends the same text to those who did not get it, as a campaign of its own. A repeat answers with that campaign. */
function Again({ status, count }: { readonly status: CampaignStatus; readonly count: number }) {
  const { id, name, lane, sender, message, tags, window, zone } = status;
  const { route } = useLocation();
  return (
    <p>
      <CommandButton
        command="createCampaign"
        lane={lane}
        label={words.again}
        question={words.againAbout(count, message)}
        expect={{ count, label: words.againExpect(count) }}
        input={{
          name: words.againName(name),
          ...{ lane, sender, message },
          ...(tags.length > 0 && { tags }),
          ...(window && zone && { window: { hours: window.hours, except: window.except }, zone }),
          toResultsOf: { campaign: id, status: ['failed'] },
          'Idempotency-Key': `again-${id}`,
        }}
        onDone={(created) => route(`/console/campaigns/${created.id}`)}
      />
    </p>
  );
}
