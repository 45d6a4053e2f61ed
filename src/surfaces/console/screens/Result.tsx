import type { LiveCampaign } from 'built/campaign/views/live-views.js';
import type { ReportRow } from 'built/campaign/views/recipient-views.js';
import type { CampaignStatus } from 'built/campaign/views/views.js';
import { STATUS_GROUPS } from '../../../campaign/states/reported-status.js';
import { call, HOME } from '../base/api.js';
import { recentEvents } from '../base/live.js';
import { useLoaded, useSlowly } from '../base/loaded.js';
import { readPage } from '../base/pages.js';
import { RESULT_NAMES, RESULTS, reasonOf, resultOf } from '../base/recipients.js';
import { mayRun } from '../base/session.js';
import { labelOf, stateText, texts } from '../base/texts.js';
import { countText, percentText } from '../base/times.js';
import { Bar, Progress } from '../parts/Bar.js';
import { Reason, Section } from '../parts/Section.js';
import { Table } from '../parts/Table.js';
import { SendAgain } from './SendAgain.js';

const words = texts.campaign;

/** What became of the recipients, in numbers. */
export function Result(campaign: LiveCampaign) {
  const { status } = campaign;
  const { counts, endedAt, lane } = status;
  const isShown = (name: keyof typeof RESULTS): boolean =>
    resultOf(counts, name) > 0 || name === 'delivered' || name === 'notDelivered';
  return (
    <Section title={words.result(endedAt !== null)}>
      <dl class="figures">
        {RESULT_NAMES.filter(isShown).map((name) => {
          const count = resultOf(counts, name);
          const states = RESULTS[name].filter((state) => counts[state] > 0);
          return (
            <div key={name}>
              <dt>{labelOf(name)}</dt>
              <dd>
                <strong>{countText(count)}</strong>{' '}
                <span class="quiet">{percentText(count, counts.total)}</span>
              </dd>
              {states
                .filter((state) => stateText(state) !== labelOf(name))
                .map((state) => (
                  <dd key={state} class="quiet">
                    {countText(counts[state])} {stateText(state).toLowerCase()}
                  </dd>
                ))}
            </div>
          );
        })}
        {mayRun('listInbound', lane) && <Replies status={status} />}
      </dl>
      <Bar counts={counts} />
      <p class="row">
        <SendAgain status={status} />
        <Progress {...campaign} />
      </p>
    </Section>
  );
}

/** How many people have answered, and the way to what they said. */
function Replies({ status: { id, lane } }: Pick<LiveCampaign, 'status'>) {
  const newest = recentEvents.value.find(({ type }) => type === 'inbound.received');
  const { data } = useLoaded(`${id} ${useSlowly(newest?.id)}`, (signal) =>
    readPage('listInbound', {}, { campaign: id, lane }, signal),
  );
  const count = data?.rows.length ?? 0;
  const text = [<strong key="count">{countText(count)}</strong>, ` ${words.replies(count)}`];
  return (
    <div>
      <dt>{labelOf('replies')}</dt>
      <dd>{count === 0 ? text : <a href={`${HOME}/replies?campaign=${id}`}>{text}</a>}</dd>
      {data?.nextCursor != null && <dd class="quiet">{words.moreReplies}</dd>}
    </div>
  );
}

/** How many failures are read to count their reasons. */
const READ = 1_000;

/** Why recipients did not get the message, by what the service says. */
export function Failures({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, counts } = status;
  const count = STATUS_GROUPS.failed.reduce((sum, state) => sum + counts[state], 0);
  const isShown = count > 0 && mayRun('listRecipients', lane);
  const { data } = useLoaded(`${id} ${useSlowly(count)}`, async (signal) => {
    if (!isShown) return null;
    const page = await call('listRecipients', { id, status: 'failed', limit: READ }, { signal });
    return reasonsOf(page.recipients);
  });
  if (!isShown) return null;
  return (
    <Section title={labelOf('whyNotDelivered')}>
      <Table
        caption={labelOf('whyNotDelivered')}
        range={count > READ ? words.ofFirst(READ, count) : undefined}
        rows={data}
        rowKey={({ plain, details, state }) => `${state} ${plain} ${details}`}
        columns={[
          [labelOf('reason'), (why) => <Reason {...why} />],
          [labelOf('state'), ({ state }) => stateText(state)],
          [labelOf('recipients'), ({ count }) => count],
        ]}
      />
    </Section>
  );
}

interface Cause extends ReturnType<typeof reasonOf> {
  readonly state: string;
  readonly count: number;
}

/** The reasons of failures, the most frequent first. */
export function reasonsOf(rows: readonly Pick<ReportRow, 'status' | 'reason' | 'serviceStatus'>[]): Cause[] {
  const found = new Map<string, Cause>();
  for (const row of rows) {
    const [state, why] = [row.status, reasonOf(row)];
    const key = `${state} ${why.plain} ${why.details}`;
    found.set(key, { ...why, state, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}
