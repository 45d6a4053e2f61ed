import { labels } from '../base/labels.js';
import { hasGap, liveCampaigns, liveLanes, overview, recentEvents } from '../base/live.js';
import type { Attention, LiveCampaign, LiveLane } from '../base/live-types.js';
import { eventText, texts } from '../base/texts.js';
import { Bar, Progress } from '../parts/Bar.js';
import { Section } from '../parts/Section.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';
import { LaneList } from './LaneList.js';

/** Of more lanes, only those that are closed or busy are on the first screen. */
const LANES_SHOWN = 12;

/** What needs attention first; then what runs. */
export function Overview() {
  const now = overview.value;
  if (now === null) return <p class="quiet">{texts.loading}</p>;
  const campaigns = now.running.flatMap((id) => liveCampaigns.value.get(id) ?? []);
  const lanes = now.lanes.flatMap((name) => liveLanes.value.get(name) ?? []);
  const busyFirst = lanes.length > LANES_SHOWN ? lanes.toSorted((a, b) => busy(b) - busy(a)) : lanes;
  return (
    <>
      <Title text={texts.overview.title} />
      <AttentionList items={now.attention} />
      <Section title={texts.overview.running}>
        {campaigns.length === 0 && <p class="quiet">{texts.overview.noneRunning}</p>}
        <ul class="entries">
          {campaigns.map((campaign) => (
            <Running key={campaign.status.id} {...campaign} />
          ))}
        </ul>
      </Section>
      <Section title={labels.lanes}>
        <LaneList lanes={busyFirst.slice(0, LANES_SHOWN)} />
        {lanes.length > LANES_SHOWN && <a href="/console/lanes">{texts.overview.allLanes(lanes.length)}</a>}
      </Section>
      <Events />
    </>
  );
}

const URGENT: Readonly<Record<string, number>> = { bad: 2e6, warning: 1e6 };
/** Lanes that are closed come first, then those that send most. */
const busy = ({ waiting, perMinute }: LiveLane): number =>
  (URGENT[waiting?.tone ?? ''] ?? 0) + perMinute.reduce((sum, count) => sum + count, 0);

function AttentionList({ items }: { readonly items: readonly Attention[] }) {
  return (
    <Section title={texts.overview.attention} class={items.length === 0 ? undefined : 'attention'}>
      {items.length === 0 && <p class="quiet">✓ {texts.overview.allWell}</p>}
      <ul class="entries">
        {items.map(({ code, text, lane, campaign, name, remedy }) => {
          const about = name ?? lane ?? '';
          const href = campaign
            ? `/console/campaigns/${campaign}`
            : lane && `/console/lanes/${encodeURIComponent(lane)}`;
          return (
            <li key={`${code} ${lane} ${campaign}`} class="row">
              <span>
                <b class="bad">!</b> <b>{about}</b> {text}
              </span>
              <span class="row end">
                {href && code !== 'unknown' && (
                  <a class="button" href={href}>
                    {texts.overview.why} <span class="unseen">{about}</span>
                  </a>
                )}
                <Remedy remedy={remedy} lane={lane} campaign={campaign} about={about} />
              </span>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

function Running({ status, waiting, sendsPerMinute }: LiveCampaign) {
  return (
    <li class="stack">
      <div class="row">
        <h3>
          <a href={`/console/campaigns/${status.id}`}>{status.name}</a>
        </h3>
        <span class="quiet">{status.lane}</span>
        <Progress counts={status.counts} perMinute={sendsPerMinute} />
      </div>
      <Bar counts={status.counts} isSmall />
      <p class="row">
        <Sentence waiting={waiting} />
        <Remedy {...waiting} lane={waiting.lane ?? status.lane} campaign={status.id} about={status.name} />
      </p>
    </li>
  );
}

function Events() {
  const events = recentEvents.value;
  return (
    <details class="panel">
      <summary>{texts.overview.events}</summary>
      {hasGap.value && <p class="warning">{texts.overview.gap}</p>}
      {events.length === 0 && <p class="quiet">{texts.overview.noEvents}</p>}
      <ol>
        {events.map((event) => (
          <li key={event.id} data-event={event.id}>
            <Time at={event.createdAt} withSeconds /> {eventText(event)}
          </li>
        ))}
      </ol>
    </details>
  );
}
