import type { ComponentChildren } from 'preact';
import { CAMPAIGN_STATES } from '../../../campaign/campaign.js';
import type { Name, Output, Schemas } from '../base/api.js';
import { labels, stateOptions, stateText } from '../base/labels.js';
import { listTexts } from '../base/list-texts.js';
import { useLoaded } from '../base/loaded.js';
import { pagesOf } from '../base/pages.js';
import { mayRun, session } from '../base/session.js';
import { countText, spanText } from '../base/times.js';
import { Bar } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { type Column, type Filter, PagedTable } from '../parts/Table.js';
import { Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';

interface List<Op extends Name, Row> {
  readonly texts: { readonly title: string; readonly about?: string; readonly none: string };
  readonly operation: Op;
  rows(output: Output<Op>): readonly Row[];
  rowKey(row: Row): string;
  readonly filters?: readonly Filter[];
  readonly actions?: () => ComponentChildren;
  readonly columns: readonly Column<Row>[];
}

/** A screen that is a table: what an operation lists, with filters in the address and the commands of its rows. */
function screenOf<Op extends Name, Row>({ texts, operation, rows, actions, ...table }: List<Op, Row>) {
  const load = pagesOf(operation, rows);
  return () => (
    <>
      <Title text={texts.title} />
      <section class="stack">
        {texts.about && <p class="quiet">{texts.about}</p>}
        <PagedTable {...table} caption={texts.title} empty={texts.none} actions={actions?.()} load={load} />
      </section>
    </>
  );
}

/** All campaigns, newest first. */
export const Campaigns = screenOf({
  texts: listTexts.campaigns,
  operation: 'listCampaigns',
  rows: ({ campaigns }) => campaigns,
  rowKey: ({ id }) => id,
  filters: [
    { name: 'state', options: stateOptions(CAMPAIGN_STATES) },
    { name: 'name' },
    { name: 'lane' },
    { name: 'tag' },
  ],
  actions: () =>
    mayRun('uploadCampaign') && (
      <a class="button primary end" href="/console/new">
        {listTexts.campaigns.new}
      </a>
    ),
  columns: [
    [labels.name, ({ id, name }) => <a href={`/console/campaigns/${id}`}>{name}</a>],
    [labels.state, ({ state }) => stateText(state)],
    [labels.progress, ({ counts }) => <Bar counts={counts} isSmall />],
    [labels.recipients, ({ counts }) => counts.total],
    [labels.pace, paceOf],
    [labels.lane, ({ lane }) => lane],
    [labels.created, ({ createdAt, zone }) => <Time at={createdAt} zone={zone} />],
    [labels.by, ({ createdBy }) => createdBy?.name],
  ],
});

/** How fast it is sent, or how long it took. */
function paceOf({ rate, endedAt, sendAt, createdAt }: Schemas['CampaignStatus']) {
  if (endedAt !== null)
    return listTexts.campaigns.took(spanText(Date.parse(endedAt) - Date.parse(sendAt ?? createdAt)));
  return rate === null ? null : listTexts.campaigns.perMinute(rate);
}

/** The outboxes of programs, and what waits in them. */
export const Outboxes = screenOf({
  texts: listTexts.outboxes,
  operation: 'listOutboxes',
  rows: ({ outboxes }) => outboxes,
  rowKey: ({ lane, name }) => `${lane}/${name}`,
  filters: [{ name: 'lane' }],
  columns: [
    [labels.name, ({ name }) => name],
    [labels.state, ({ state, reason }) => withReason(stateText(state), reason)],
    [labels.message, ({ message }) => message],
    [labels.waiting, ({ counts }) => counts.waiting],
    [labels.next, ({ nextDue, zone }) => <Time at={nextDue} zone={zone} />],
    [labels.lane, ({ lane }) => lane],
    [
      labels.commands,
      ({ name, lane, state }) => {
        const shared = { input: { name, lane }, lane, about: name };
        return (
          <span class="row">
            {state === 'paused' && <CommandButton {...shared} command="resumeOutbox" />}
            {state === 'open' && <CommandButton {...shared} command="pauseOutbox" />}
            {state !== 'closed' && <CommandButton {...shared} command="closeOutbox" />}
          </span>
        );
      },
    ],
  ],
});

const withReason = (text: string, reason: string | null): string =>
  reason === null ? text : `${text}: ${reason}`;

/** Recurring campaigns: when they run, in words. */
export const Schedules = screenOf({
  texts: listTexts.schedules,
  operation: 'listSchedules',
  rows: ({ schedules }) => schedules,
  rowKey: ({ lane, id }) => `${lane}/${id}`,
  filters: [{ name: 'lane' }],
  columns: [
    [labels.name, ({ id, name }) => <span title={id}>{name}</span>],
    [labels.when, ({ cron, zone }) => <Cron cron={cron} zone={zone} />],
    [
      labels.next,
      ({ next, zone, waiting }) => (waiting ? listTexts.schedules.waiting : <Time at={next} zone={zone} />),
    ],
    [
      labels.state,
      ({ state, reason, problem }) =>
        problem === null ? (
          withReason(stateText(state), reason)
        ) : (
          <span class="bad">{listTexts.schedules.failing(problem)}</span>
        ),
    ],
    [
      labels.lastCampaign,
      ({ lastCampaign }) => lastCampaign && <a href={`/console/campaigns/${lastCampaign}`}>{lastCampaign}</a>,
    ],
    [labels.lane, ({ lane }) => lane],
    [
      labels.commands,
      ({ id, lane, state, name }) => {
        const shared = { input: { id, lane }, lane, about: name };
        return (
          <span class="row">
            {state === 'paused' && <CommandButton {...shared} command="resumeSchedule" />}
            {state === 'active' && <CommandButton {...shared} command="pauseSchedule" />}
            {state === 'active' && <CommandButton {...shared} command="runSchedule" />}
          </span>
        );
      },
    ],
  ],
});

/** `At 09:00, Monday through Friday`. What says it is loaded when a schedule is shown; until then, only the rule is there. */
function Cron({ cron, zone }: { readonly cron: string; readonly zone: string }) {
  const { data } = useLoaded('cronstrue', async () => (await import('cronstrue')).default);
  const words = data?.toString(cron, { use24HourTimeFormat: true, throwExceptionOnParseError: false });
  return (
    <span>
      {words} <span class="quiet">{zone}</span> <code class="quiet">{cron}</code>
    </span>
  );
}

/** Each change of the suppression lists, which can be undone. The numbers themselves are found one by one. */
export const Suppressions = screenOf({
  texts: listTexts.suppressions,
  operation: 'listSuppressionOperations',
  rows: ({ operations }) => operations,
  rowKey: ({ id }) => id,
  actions: () => (
    <CommandButton
      command="addSuppressions"
      input={session.value?.lanes?.[0] ? { numbers: [], lane: session.value.lanes[0] } : { numbers: [] }}
      label={listTexts.suppressions.add}
      fields={['numbers', 'country', 'reason']}
      shown={{ numbers: { about: listTexts.suppressions.numbersAbout } }}
    />
  ),
  columns: [
    [labels.when, ({ createdAt }) => <Time at={createdAt} />],
    [labels.change, changeOf],
    [labels.list, ({ lane }) => lane ?? listTexts.suppressions.allLanes],
    [labels.reason, ({ reason }) => reason],
    [labels.source, ({ source }) => source],
    [labels.by, ({ actor }) => actor.name],
    [
      labels.commands,
      ({ undone, ...operation }) =>
        undone === null ? (
          <CommandButton
            command="undoSuppressionOperation"
            input={{ id: operation.id }}
            lane={operation.lane ?? undefined}
            about={changeOf(operation)}
            question={listTexts.suppressions.undoQuestion[operation.change]}
          />
        ) : (
          <span class="quiet">{listTexts.suppressions.undone(undone.numberCount)}</span>
        ),
    ],
  ],
});

function changeOf({ change, numberCount }: Pick<Schemas['SuppressionOperation'], 'change' | 'numberCount'>) {
  return `${countText(numberCount)} ${listTexts.suppressions.changes[change]}`;
}

/** Who may use this installation. */
export const Keys = screenOf({
  texts: listTexts.keys,
  operation: 'listKeys',
  rows: ({ keys }) => keys,
  rowKey: ({ id }) => id,
  columns: [
    [
      labels.name,
      ({ name, id, test }) => (
        <span>
          {name} <code class="quiet">{id}</code> {test && <span class="quiet">{listTexts.keys.test}</span>}
        </span>
      ),
    ],
    [labels.scopes, ({ scopes }) => scopes.join(', ')],
    [labels.lanes, ({ lanes }) => lanes?.join(', ') ?? listTexts.keys.allLanes],
    [labels.state, ({ state }) => <span class={state === 'active' ? '' : 'bad'}>{stateText(state)}</span>],
    [labels.expires, ({ expiresAt }) => <Time at={expiresAt} />],
    [labels.used, ({ lastUsedAt }) => <Time at={lastUsedAt} />],
    [
      labels.commands,
      ({ id, name }) => (
        <CommandButton
          command="revokeKey"
          input={{ id }}
          about={name}
          question={listTexts.keys.revokeQuestion(name)}
          fields={['cancelCampaigns']}
          shown={{ cancelCampaigns: { label: listTexts.keys.cancelCampaigns } }}
        />
      ),
    ],
  ],
});

/** The processes that work for this installation. */
export const Workers = screenOf({
  texts: listTexts.workers,
  operation: 'listWorkers',
  rows: ({ workers }) => workers,
  rowKey: ({ id }) => id,
  columns: [
    [labels.process, ({ host, pid }) => `${host} ${pid}`],
    [labels.roles, ({ roles }) => roles.join(', ')],
    [labels.since, ({ since }) => <Time at={since} />],
  ],
});
