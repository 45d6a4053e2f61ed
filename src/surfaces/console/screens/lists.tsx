import type { SuppressionOperation } from 'built/campaign/states/suppression.js';
import type { CampaignStatus } from 'built/campaign/views/views.js';
import type { ComponentChildren } from 'preact';
import { zoneName } from '../../../campaign/time/zone-names.js';
import { HOME, type Name } from '../base/api.js';
import { countryOptions } from '../base/countries.js';
import { listTexts } from '../base/list-texts.js';
import { hasOneLane } from '../base/live.js';
import { useLoaded } from '../base/loaded.js';
import type { RowOf } from '../base/pages.js';
import { mayRun, session } from '../base/session.js';
import { campaignText, labelOf, stateText, texts } from '../base/texts.js';
import { countText, spanText } from '../base/times.js';
import { Bar } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { CampaignLink, SendLink, Title } from '../parts/Section.js';
import { Settle } from '../parts/Settle.js';
import { type Column, PagedTable } from '../parts/Table.js';
import { Time } from '../parts/Time.js';

interface List<Op extends Name> {
  readonly rowKey?: (row: RowOf<Op>) => string;
  readonly filters?: readonly string[];
  readonly actions?: () => ComponentChildren;
  readonly columns: readonly Column<RowOf<Op>>[];
  /** The buttons of a row. */
  commands?(row: RowOf<Op>): ComponentChildren;
}

type ListName = Exclude<keyof typeof listTexts, 'find'>;

/** A screen that is a table: what an operation lists, with filters in the address and the commands of its rows. */
function screenOf<Op extends Name>(name: ListName, operation: Op, list: List<Op>) {
  const { actions, columns, commands, filters = [], ...table } = list;
  const { about, none }: { readonly about?: string; readonly none: string } = listTexts[name];
  const buttons: Column<RowOf<Op>> = [
    labelOf('commands'),
    (row) => <span class="row">{commands?.(row)}</span>,
  ];
  const all = commands ? [...columns, buttons] : columns;
  return () => {
    // Where there is only one lane, it needs no name.
    const isShown = (title: string): boolean => !hasOneLane() || title !== labelOf('lane');
    return (
      <>
        <Title text={labelOf(name)} />
        <section class="stack">
          {about && <p class="quiet">{about}</p>}
          <PagedTable
            {...{ ...table, operation, caption: labelOf(name), empty: none }}
            columns={all.filter(([title]) => isShown(title))}
            filters={filters.filter((name) => isShown(labelOf(name)))}
            actions={actions?.()}
          />
        </section>
      </>
    );
  };
}

const withReason = (text: string, reason: string | null): string =>
  reason === null ? text : `${text}: ${reason}`;

/** How fast it is sent, or how long it took. */
function paceOf(status: CampaignStatus): string {
  const { rate, endedAt, sendAt, createdAt } = status;
  if (endedAt !== null)
    return listTexts.campaigns.took(spanText(Date.parse(endedAt) - Date.parse(sendAt ?? createdAt)));
  const isSending = campaignText(status) === stateText('running');
  return isSending && rate !== null ? texts.campaign.perMinute(rate / 60) : '';
}

/** What is read as a whole. */
const unbroken = (text: string) => <span class="nowrap">{text}</span>;

/** `At 09:00, Monday through Friday`. What says it is loaded when a schedule is shown; until then, only the rule is there. */
function Cron({ cron, zone }: { readonly cron: string; readonly zone: string }) {
  const { data } = useLoaded('cronstrue', async () => (await import('cronstrue')).default);
  const words = data?.toString(cron, { use24HourTimeFormat: true, throwExceptionOnParseError: false });
  return (
    <span>
      {words} <span class="quiet">{zoneName(zone)}</span> <code class="quiet">{cron}</code>
    </span>
  );
}

function changeOf({ change, numberCount }: Pick<SuppressionOperation, 'change' | 'numberCount'>) {
  return `${countText(numberCount)} ${listTexts.suppressions.changes[change]}`;
}

/** The screens that are tables, by the last part of their addresses. */
export const LISTS = {
  campaigns: screenOf('campaigns', 'listCampaigns', {
    filters: ['state', 'name', 'lane', 'tag'],
    actions: () => <SendLink />,
    columns: [
      [labelOf('name'), (status) => <CampaignLink {...status} />],
      [labelOf('state'), (status) => unbroken(campaignText(status))],
      [labelOf('progress'), ({ counts }) => <Bar counts={counts} isSmall />],
      [labelOf('recipients'), ({ counts }) => counts.total],
      [labelOf('pace'), (status) => unbroken(paceOf(status))],
      [labelOf('lane'), ({ lane }) => lane],
      [labelOf('created'), ({ createdAt }) => <Time at={createdAt} />],
      [labelOf('by'), ({ createdBy }) => createdBy?.name],
    ],
  }),

  /** The outboxes of programs, and what waits in them. */
  outboxes: screenOf('outboxes', 'listOutboxes', {
    rowKey: ({ lane, name }) => `${lane}/${name}`,
    filters: ['lane'],
    columns: [
      [labelOf('name'), ({ name }) => name],
      [labelOf('state'), ({ state, reason }) => withReason(stateText(state), reason)],
      [labelOf('text'), ({ message }) => message],
      [labelOf('waiting'), ({ counts }) => counts.waiting],
      [labelOf('next'), ({ nextDue, zone }) => <Time at={nextDue} zone={zone} />],
      [labelOf('lane'), ({ lane }) => lane],
    ],
    commands({ name, lane, state, counts }) {
      const shared = { input: { name, lane }, lane, about: name };
      return [
        state === 'paused' && <CommandButton {...shared} command="resumeOutbox" />,
        state === 'open' && <CommandButton {...shared} command="pauseOutbox" />,
        counts.unknown > 0 && <Settle {...shared} command="resolveOutbox" count={counts.unknown} />,
        state !== 'closed' && <CommandButton {...shared} command="closeOutbox" />,
      ];
    },
  }),

  /** Recurring campaigns and follow-ups: when they run, in words. */
  schedules: screenOf('schedules', 'listSchedules', {
    rowKey: ({ lane, id }) => `${lane}/${id}`,
    filters: ['lane'],
    columns: [
      [labelOf('name'), ({ id, name }) => <span title={id}>{name}</span>],
      [
        labelOf('when'),
        ({ cron, zone, recipients }) =>
          recipients.kind === 'results' ? (
            <span>
              {listTexts.schedules.after(recipients.after)} <CampaignLink id={recipients.campaign} />
            </span>
          ) : (
            <Cron cron={cron ?? ''} zone={zone} />
          ),
      ],
      [
        labelOf('next'),
        ({ next, zone, waiting }) => (waiting ? listTexts.schedules.waiting : <Time at={next} zone={zone} />),
      ],
      [
        labelOf('state'),
        ({ state, reason, problem }) => (
          <span class={problem === null ? undefined : 'bad'}>
            {problem === null ? withReason(stateText(state), reason) : listTexts.schedules.failing(problem)}
          </span>
        ),
      ],
      [labelOf('lastCampaign'), ({ lastCampaign }) => lastCampaign && <CampaignLink id={lastCampaign} />],
      [labelOf('lane'), ({ lane }) => lane],
    ],
    commands({ id, lane, state, name }) {
      const shared = { input: { id, lane }, lane, about: name };
      return [
        state === 'paused' && <CommandButton {...shared} command="resumeSchedule" />,
        state === 'active' && <CommandButton {...shared} command="pauseSchedule" />,
        state === 'active' && <CommandButton {...shared} command="runSchedule" />,
      ];
    },
  }),

  /** Each change of the suppression lists, which can be undone. The numbers themselves are found one by one. */
  suppressions: screenOf('suppressions', 'listSuppressionOperations', {
    actions: () => [
      mayRun('findNumber') && (
        <a key="find" class="button" href={`${HOME}/find`}>
          {listTexts.find.title}
        </a>
      ),
      <CommandButton
        key="add"
        command="addSuppressions"
        input={session.value?.lanes?.[0] ? { numbers: [], lane: session.value.lanes[0] } : { numbers: [] }}
        label={listTexts.suppressions.add}
        fields={['numbers', 'country', 'reason']}
        shown={{
          numbers: { about: listTexts.suppressions.numbersAbout },
          country: { label: listTexts.find.country, about: '', options: countryOptions() },
        }}
      />,
    ],
    columns: [
      [labelOf('when'), ({ createdAt }) => <Time at={createdAt} />],
      [labelOf('change'), changeOf],
      [labelOf('list'), ({ lane }) => lane ?? listTexts.suppressions.allLanes],
      [labelOf('reason'), ({ reason }) => reason],
      [labelOf('from'), ({ source }) => source],
      [labelOf('by'), ({ actor }) => actor.name],
    ],
    commands: ({ id, lane, undone, ...operation }) =>
      undone === null ? (
        <CommandButton
          command="undoSuppressionOperation"
          input={{ id }}
          lane={lane ?? undefined}
          about={changeOf(operation)}
        />
      ) : (
        <span class="quiet">{listTexts.suppressions.undone(undone.numberCount)}</span>
      ),
  }),

  /** Who may use this installation. */
  keys: screenOf('keys', 'listKeys', {
    columns: [
      [
        labelOf('name'),
        ({ name, id, test }) => (
          <span>
            {name} <code class="quiet">{id}</code> {test && <span class="quiet">{listTexts.keys.test}</span>}{' '}
            {id === session.value?.id && <strong>({listTexts.keys.own})</strong>}
          </span>
        ),
      ],
      [labelOf('may'), ({ scopes }) => scopes.join(', ')],
      [labelOf('lanes'), ({ lanes }) => lanes?.join(', ') ?? labelOf('all')],
      [
        labelOf('state'),
        ({ state }) => <span class={state === 'active' ? '' : 'bad'}>{stateText(state)}</span>,
      ],
      [labelOf('expires'), ({ expiresAt }) => <Time at={expiresAt} />],
      [labelOf('lastUsed'), ({ lastUsedAt }) => <Time at={lastUsedAt} />],
    ],
    commands: ({ id, name }) => (
      <CommandButton
        command="revokeKey"
        input={{ id }}
        about={`${name} (${id})`}
        fields={['cancelCampaigns']}
        shown={{ cancelCampaigns: { label: listTexts.keys.cancelCampaigns } }}
      />
    ),
  }),
};
