import { serverNow } from '../base/live.js';
import type { LaneStatus, LiveLane } from '../base/live-types.js';
import { texts } from '../base/texts.js';
import { countText, timeText } from '../base/times.js';
import { Gauge, Sparkline } from '../parts/Chart.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { Table } from '../parts/Table.js';

const words = texts.lane;

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
        { title: words.state, cell: ({ status }) => <LaneState status={status} /> },
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
              <span class="row">
                <Sentence waiting={waiting} /> <Remedy remedy={waiting.remedy} lane={name} about={name} />
              </span>
            ),
        },
      ]}
    />
  );
}

export function LaneState({ status: { state } }: { readonly status: LaneStatus }) {
  const tone = state === 'open' ? 'good' : state === 'stopped' ? 'bad' : state === 'waiting' ? '' : 'warning';
  return <span class={`badge ${tone}`}>{texts.laneStates[state]}</span>;
}

/** How much of the quota is used, and when more of it is free. */
export function Quota({ status: { quota, zone } }: { readonly status: LaneStatus }) {
  const { limit, nextPermitAt, learned } = quota;
  const used = Math.round(quota.used.send + quota.used.poll);
  const text = words.quotaText(used, limit);
  const isFull = limit !== null && used >= Math.floor(limit);
  return (
    <span>
      <Gauge used={used} limit={limit} label={text} /> {text}
      <span class="quiet">
        {learned !== null && ` (${words.learned})`}
        {isFull &&
          nextPermitAt &&
          `; ${words.next(timeText(Date.parse(nextPermitAt), serverNow(), zone, true))}`}
      </span>
    </span>
  );
}
