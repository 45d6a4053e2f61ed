import { useRoute } from 'preact-iso/router';
import { ledgers, liveLanes, overview, serverNow, useLive } from '../base/live.js';
import type { LaneStatus, LiveLane } from '../base/live-types.js';
import { durationMs } from '../base/strip.js';
import { texts } from '../base/texts.js';
import { countText, spanText, timeText } from '../base/times.js';
import { Gauge, Sparkline } from '../parts/Chart.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Facts.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { Strip } from '../parts/Strip.js';
import { Table } from '../parts/Table.js';

const words = texts.lane;

/** All lanes of the key. */
export function Lanes() {
  const lanes = overview.value?.lanes.flatMap((name) => liveLanes.value.get(name) ?? []) ?? [];
  return (
    <>
      <h1>{texts.overview.lanes}</h1>
      {overview.value === null ? <p class="quiet">{texts.loading}</p> : <LaneList lanes={lanes} />}
    </>
  );
}

/** Lanes with their quota, how fast they send, and why they wait. */
export function LaneList({ lanes }: { readonly lanes: readonly LiveLane[] }) {
  return (
    <Table
      caption={texts.overview.lanes}
      isCaptionHidden
      rows={lanes}
      rowKey={({ status }) => status.id}
      columns={[
        {
          title: words.name,
          cell: ({ status: { name } }) => <a href={`/console/lanes/${encodeURIComponent(name)}`}>{name}</a>,
          isName: true,
        },
        { title: words.state, cell: ({ status: { state } }) => <StateWord state={state} /> },
        {
          title: texts.campaign.rate,
          cell: ({ perMinute }) => (
            <span class="nowrap">
              <Sparkline values={perMinute} label={words.perMinute(perMinute)} />{' '}
              {countText(perMinute.at(-1) ?? 0)}
            </span>
          ),
        },
        { title: words.quota, cell: ({ status }) => <Quota status={status} /> },
        {
          title: words.waits,
          cell: ({ waiting, status: { name } }) =>
            waiting && (
              <>
                <Sentence waiting={waiting} /> <Remedy remedy={waiting.remedy} lane={name} about={name} />
              </>
            ),
        },
      ]}
    />
  );
}

function StateWord({ state }: Pick<LaneStatus, 'state'>) {
  return <span class={`badge ${state}`}>{texts.laneStates[state]}</span>;
}

const usedOf = ({ quota: { used } }: LaneStatus): number => used.send + used.poll;

function Quota({ status }: { readonly status: LaneStatus }) {
  const { limit, nextPermitAt, learned } = status.quota;
  const used = Math.round(usedOf(status));
  const text = words.quotaText(used, limit);
  const isFull = limit !== null && used >= Math.floor(limit);
  return (
    <span class="quota">
      <Gauge used={used} limit={limit} label={text} /> {text}
      {learned !== null && <span class="quiet"> ({words.learned(learned)})</span>}
      {isFull && nextPermitAt !== null && (
        <span class="quiet">
          {' '}
          {words.next(null, timeText(Date.parse(nextPermitAt), serverNow(), status.zone, true))}
        </span>
      )}
    </span>
  );
}

/** One lane: its window, why it waits, and what can be done. */
export function Lane() {
  const { params } = useRoute();
  const name = params['name'] ?? '';
  useLive([name], []);
  const lane = liveLanes.value.get(name);
  const ledger = ledgers.value.get(name);
  if (lane === undefined)
    return overview.value === null ? <p class="quiet">{texts.loading}</p> : <p>{words.missing}</p>;
  const { status, waiting, host, simulator, perMinute } = lane;
  const isClosed = ['held', 'stopped', 'backingOff'].includes(status.state);
  return (
    <>
      <header class="title">
        <h1>{name}</h1>
        <StateWord state={status.state} />
        <span class="quiet">{simulator ? texts.header.simulator : host}</span>
        <span class="actions">
          {isClosed ? (
            <CommandButton
              command="resumeLane"
              label="Resume"
              tone="primary"
              lane={name}
              input={{ name }}
              outcome={(output) => texts.outcomes.laneResumed(output.lane, output.state)}
            />
          ) : (
            <CommandButton
              command="holdLane"
              label="Hold"
              lane={name}
              input={{ name }}
              question={<p>{words.holdQuestion}</p>}
              outcome={(output) => texts.outcomes.held(output.lane)}
            />
          )}
        </span>
      </header>
      <p class="sentence">{waiting === null ? words.open : <Sentence waiting={waiting} lane={name} />}</p>
      <section aria-labelledby="window">
        <h2 id="window">{words.window(ledger === undefined ? '' : spanText(durationMs(ledger.window)))}</h2>
        {ledger === undefined ? (
          <p class="quiet">{texts.loading}</p>
        ) : (
          <Strip
            ledger={ledger}
            zone={status.zone}
            until={waiting?.code === 'quota' ? waiting.until : null}
          />
        )}
      </section>
      <section aria-labelledby="facts">
        <h2 id="facts">{words.facts}</h2>
        <Facts
          facts={[
            [words.quota, <Quota status={status} />],
            [words.inFlight, countText(status.quota.inFlight)],
            [texts.campaign.rate, <Sparkline values={perMinute} label={words.perMinute(perMinute)} />],
            [
              words.running,
              words.runningText(
                status.campaigns.running,
                status.campaigns.waiting,
                status.campaigns.scheduled,
              ),
            ],
            [words.reports, countText(status.awaitingReports)],
            [words.unknown, countText(status.unknownOutcomes)],
            [words.throttled, countText(status.throttled)],
            [words.max, countText(status.maxRecipients)],
          ]}
        />
      </section>
    </>
  );
}
