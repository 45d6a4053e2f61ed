import type { LiveLane } from 'built/campaign/views/live-views.js';
import type { LaneStatus } from 'built/campaign/views/views.js';
import { durationMs } from '../base/strip.js';
import { labelOf, stateText, texts } from '../base/texts.js';
import { spanText } from '../base/times.js';
import { Sparkline } from '../parts/Chart.js';
import { LaneLink } from '../parts/Section.js';
import { Sentence } from '../parts/Sentence.js';
import { Table } from '../parts/Table.js';

interface LaneListProps {
  readonly lanes: readonly LiveLane[] | null;
  /** Those of which the page has said already why they wait. */
  readonly explained?: readonly string[];
}

/** Lanes with their quota, how fast they send, and why they wait. */
export function LaneList({ lanes, explained = [] }: LaneListProps) {
  return (
    <>
      <p class="quiet">{texts.lane.about}</p>
      <Table
        caption={labelOf('lanes')}
        rows={lanes}
        rowKey={({ status }) => status.id}
        columns={[
          [labelOf('lane'), ({ status }) => <LaneLink {...status} />],
          [labelOf('state'), ({ status }) => <LaneState status={status} />],
          [labelOf('sendsPerMinute'), ({ perMinute }) => <Sparkline values={perMinute} />],
          [labelOf('quota'), ({ status }) => <Quota status={status} />],
          [
            labelOf('whyItWaits'),
            ({ status: { name, zone }, waiting }) =>
              explained.includes(name)
                ? texts.seeAbove
                : waiting && <Sentence waiting={waiting} zone={zone} isBrief />,
          ],
        ]}
      />
    </>
  );
}

const TONES: Readonly<Record<string, string>> = { open: 'good', stopped: 'bad', waiting: '' };

export function LaneState({ status: { state } }: { readonly status: LaneStatus }) {
  return <span class={`badge ${TONES[state] ?? 'warning'}`}>{stateText(state)}</span>;
}

/** How much of the quota is used. */
export function Quota({ status: { quota } }: { readonly status: LaneStatus }) {
  const { limit, learned, span } = quota;
  const used = Math.round(quota.used.send + quota.used.poll);
  const text = texts.lane.quotaText(used, limit, spanText(durationMs(span)));
  const [max, value] = limit === null ? [1, 0] : [limit, used];
  return (
    <span class="nowrap">
      <meter max={max} low={max - 1} optimum={0} value={value} title={text} aria-label={text} /> {text}
      {learned !== null && <span class="quiet"> ({texts.lane.learned})</span>}
    </span>
  );
}
