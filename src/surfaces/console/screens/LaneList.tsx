import { labels, stateText } from '../base/labels.js';
import { serverNow } from '../base/live.js';
import type { LaneStatus, LiveLane } from '../base/live-types.js';
import { texts } from '../base/texts.js';
import { timeText } from '../base/times.js';
import { Gauge, Sparkline } from '../parts/Chart.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { Table } from '../parts/Table.js';

const words = texts.lane;

/** Lanes with their quota, how fast they send, and why they wait. */
export function LaneList({ lanes }: { readonly lanes: readonly LiveLane[] | null }) {
  return (
    <Table
      caption={labels.lanes}
      isCaptionHidden
      rows={lanes}
      rowKey={({ status }) => status.id}
      columns={[
        [
          labels.lane,
          ({ status: { name } }) => <a href={`/console/lanes/${encodeURIComponent(name)}`}>{name}</a>,
        ],
        [labels.state, ({ status }) => <LaneState status={status} />],
        [labels.rate, ({ perMinute }) => <Sparkline values={perMinute} />],
        [labels.quota, ({ status }) => <Quota status={status} />],
        [
          labels.waits,
          ({ waiting, status: { name } }) =>
            waiting && (
              <span class="row">
                <Sentence waiting={waiting} /> <Remedy {...waiting} lane={name} about={name} />
              </span>
            ),
        ],
      ]}
    />
  );
}

const TONES: Readonly<Record<string, string>> = { open: 'good', stopped: 'bad', waiting: '' };

export function LaneState({ status: { state } }: { readonly status: LaneStatus }) {
  return <span class={`badge ${TONES[state] ?? 'warning'}`}>{stateText(state)}</span>;
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
