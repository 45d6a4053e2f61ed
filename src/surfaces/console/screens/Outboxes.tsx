import { useEffect, useState } from 'preact/hooks';
import type { Schemas } from '../base/api.js';
import { listTexts } from '../base/list-texts.js';
import { pagesOf } from '../base/pages.js';
import { countText } from '../base/times.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { PagedTable } from '../parts/Table.js';
import { Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';

const loadSchedules = pagesOf('listSchedules', ({ schedules }) => schedules);

const loadOutboxes = pagesOf('listOutboxes', ({ outboxes }) => outboxes);

type Outbox = Schemas['OutboxStatus'];
type Schedule = Schemas['Schedule'];

/** The outboxes of programs, and what waits in them. */
export function Outboxes() {
  const texts = listTexts.outboxes;
  const [version, setVersion] = useState(0);
  const onDone = (): void => setVersion(version + 1);
  return (
    <>
      <Title text={texts.title} />
      <PagedTable
        caption={texts.title}
        isCaptionHidden
        empty={texts.none}
        version={version}
        filters={[{ name: 'lane', label: texts.lane }]}
        load={loadOutboxes}
        rowKey={({ lane, name }) => `${lane}/${name}`}
        columns={[
          { title: texts.name, isName: true, cell: ({ name }) => name },
          {
            title: texts.state,
            cell: ({ state, reason }) => (reason === null ? state : `${state}: ${reason}`),
          },
          { title: texts.message, cell: ({ message }) => message },
          { title: texts.waiting, isNumber: true, cell: ({ counts }) => countText(counts.waiting) },
          { title: texts.next, cell: ({ nextDue, zone }) => nextDue && <Time at={nextDue} zone={zone} /> },
          { title: texts.lane, cell: ({ lane }) => lane },
          { title: texts.commands, cell: (outbox) => <OutboxCommands outbox={outbox} onDone={onDone} /> },
        ]}
      />
    </>
  );
}

function OutboxCommands({ outbox, onDone }: { readonly outbox: Outbox; onDone(): void }) {
  const texts = listTexts.outboxes;
  const { name, lane, state } = outbox;
  const shared = { input: { name, lane }, lane, about: name, onDone };
  return (
    <span class="row">
      {state === 'paused' ? (
        <CommandButton {...shared} command="resumeOutbox" label="Resume" outcome={() => texts.resumed} />
      ) : (
        state === 'open' && (
          <CommandButton {...shared} command="pauseOutbox" label="Pause" outcome={() => texts.paused} />
        )
      )}
      {state !== 'closed' && (
        <CommandButton
          {...shared}
          command="closeOutbox"
          label="Close"
          question={texts.closeQuestion}
          outcome={() => texts.closed}
        />
      )}
    </span>
  );
}

/** Recurring campaigns: when they run, in words. */
export function Schedules() {
  const texts = listTexts.schedules;
  const [version, setVersion] = useState(0);
  const inWords = useCronInWords();
  return (
    <>
      <Title text={texts.title} />
      <PagedTable
        caption={texts.title}
        isCaptionHidden
        empty={texts.none}
        version={version}
        filters={[{ name: 'lane', label: listTexts.outboxes.lane }]}
        load={loadSchedules}
        rowKey={({ lane, id }) => `${lane}/${id}`}
        columns={[
          { title: texts.name, isName: true, cell: ({ id, name }) => <span title={id}>{name}</span> },
          {
            title: texts.when,
            cell: ({ cron, zone }) => (
              <>
                {inWords(cron)} <span class="quiet">{zone}</span> <code class="quiet">{cron}</code>
              </>
            ),
          },
          {
            title: texts.next,
            cell: ({ next, zone, waiting }) =>
              waiting ? texts.waiting : next && <Time at={next} zone={zone} />,
          },
          { title: texts.state, cell: stateOf },
          {
            title: texts.last,
            cell: ({ lastCampaign }) =>
              lastCampaign && <a href={`/console/campaigns/${lastCampaign}`}>{lastCampaign}</a>,
          },
          { title: listTexts.outboxes.lane, cell: ({ lane }) => lane },
          {
            title: listTexts.outboxes.commands,
            cell: (schedule) => (
              <ScheduleCommands schedule={schedule} onDone={() => setVersion(version + 1)} />
            ),
          },
        ]}
      />
    </>
  );
}

function stateOf({ state, reason, problem }: Schedule) {
  if (problem !== null) return <span class="bad">{listTexts.schedules.failing(problem)}</span>;
  return reason === null ? state : `${state}: ${reason}`;
}

function ScheduleCommands({ schedule, onDone }: { readonly schedule: Schedule; onDone(): void }) {
  const texts = listTexts.schedules;
  const { id, lane, state, name } = schedule;
  const shared = { input: { id, lane }, lane, about: name, onDone };
  return (
    <span class="row">
      {state === 'paused' && (
        <CommandButton {...shared} command="resumeSchedule" label="Resume" outcome={() => texts.resumed} />
      )}
      {state === 'active' && (
        <>
          <CommandButton {...shared} command="pauseSchedule" label="Pause" outcome={() => texts.paused} />
          <CommandButton
            {...shared}
            command="runSchedule"
            label="Run now"
            question={texts.runQuestion}
            outcome={() => texts.ran}
          />
        </>
      )}
    </span>
  );
}

/** `At 09:00, Monday through Friday`. What says it is loaded when a schedule is shown; until then, nothing stands beside the rule. */
function useCronInWords(): (cron: string) => string {
  const [inWords, setInWords] = useState<(cron: string) => string>(() => () => '');
  useEffect(() => {
    void import('cronstrue').then(({ default: { toString: words } }) =>
      setInWords(
        () => (cron: string) => words(cron, { use24HourTimeFormat: true, throwExceptionOnParseError: false }),
      ),
    );
  }, []);
  return inWords;
}
