import { labels } from '../base/labels.js';
import { hasGap, liveCampaigns, liveLanes, overview, recentEvents } from '../base/live.js';
import type { Attention, LiveCampaign, LiveLane } from '../base/live-types.js';
import { eventText, texts } from '../base/texts.js';
import { Bar, Progress } from '../parts/Bar.js';
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
      <section aria-labelledby="running">
        <h2 id="running">{texts.overview.running}</h2>
        {campaigns.length === 0 && <p class="quiet">{texts.overview.noneRunning}</p>}
        <ul class="stack">
          {campaigns.map((campaign) => (
            <li key={campaign.status.id}>
              <Card {...campaign} />
            </li>
          ))}
        </ul>
      </section>
      <section aria-labelledby="lanes">
        <h2 id="lanes">{labels.lanes}</h2>
        <LaneList lanes={busyFirst.slice(0, LANES_SHOWN)} />
        {lanes.length > LANES_SHOWN && <a href="/console/lanes">{texts.overview.allLanes(lanes.length)}</a>}
      </section>
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
    <section aria-labelledby="attention" class={items.length === 0 ? undefined : 'panel bad'}>
      <h2 id="attention">{texts.overview.attention}</h2>
      {items.length === 0 && <p class="quiet">✓ {texts.overview.allWell}</p>}
      <ul class="stack">
        {items.map(({ code, text, lane, campaign, name, remedy }) => {
          const isUnknown = code === 'unknown';
          const about = name ?? lane ?? '';
          const href =
            campaign === null
              ? lane && `/console/lanes/${encodeURIComponent(lane)}`
              : `/console/campaigns/${campaign}${isUnknown ? '#unknown' : ''}`;
          return (
            <li key={`${code} ${lane} ${campaign}`} class="row">
              <span>
                <b>! {about}</b> {text}
              </span>
              {href && (
                <a class="button end" href={href}>
                  {isUnknown ? texts.overview.settle : texts.overview.why}
                  <span class="unseen">{about}</span>
                </a>
              )}
              <Remedy remedy={remedy} lane={lane} campaign={campaign} about={about} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Card({ status, waiting, sendsPerMinute }: LiveCampaign) {
  return (
    <article class="panel stack">
      <header class="row">
        <h3>
          <a href={`/console/campaigns/${status.id}`}>{status.name}</a>
        </h3>
        <span class="quiet">{status.lane}</span>
        <Progress counts={status.counts} perMinute={sendsPerMinute} />
      </header>
      <Bar counts={status.counts} isSmall />
      <p class="row">
        <Sentence waiting={waiting} />
        <Remedy {...waiting} lane={waiting.lane ?? status.lane} campaign={status.id} about={status.name} />
      </p>
    </article>
  );
}

function Events() {
  const events = recentEvents.value;
  return (
    <details>
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
