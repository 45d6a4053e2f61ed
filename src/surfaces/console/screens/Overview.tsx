import type { Attention, LiveCampaign, LiveLane } from 'built/campaign/views/live-views.js';
import { hasGap, liveCampaigns, liveLanes, overview, recentEvents } from '../base/live.js';
import { eventText, labelOf, texts } from '../base/texts.js';
import { Bar, Progress } from '../parts/Bar.js';
import { Section, Title } from '../parts/Section.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { Time } from '../parts/Time.js';
import { LaneList } from './LaneList.js';

/** Of more lanes, only those that are closed or busy are on the first screen. */
const LANES_SHOWN = 12;

/** What needs attention first; then what runs. */
export function Overview() {
  const now = overview.value;
  if (now === null) return <p class="quiet">{texts.loading}</p>;
  const campaigns = now.running.flatMap((id) => liveCampaigns.value.get(id) ?? []);
  const lanes = now.lanes.flatMap((name) => liveLanes.value.get(name) ?? []);
  const hasMore = lanes.length > LANES_SHOWN;
  const busyFirst = hasMore ? lanes.toSorted((a, b) => busy(b) - busy(a)) : lanes;
  return (
    <>
      <Title text={texts.overview.title} />
      <Section title={texts.overview.attention} class={now.attention.length === 0 ? undefined : 'attention'}>
        {now.attention.length === 0 && <p class="quiet">✓ {texts.overview.allWell}</p>}
        <ul class="entries">
          {now.attention.map((item) => (
            <NeedsAttention key={`${item.code} ${item.lane} ${item.campaign} ${item.name}`} {...item} />
          ))}
        </ul>
      </Section>
      <Section title={texts.overview.running}>
        {campaigns.length === 0 && <p class="quiet">{texts.overview.noneRunning}</p>}
        <ul class="entries">
          {campaigns.map((campaign) => (
            <Running key={campaign.status.id} {...campaign} />
          ))}
        </ul>
      </Section>
      <Section title={labelOf('lanes')}>
        <LaneList lanes={busyFirst.slice(0, LANES_SHOWN)} />
        {hasMore && <a href="/console/lanes">{texts.overview.allLanes(lanes.length)}</a>}
      </Section>
      <Events />
    </>
  );
}

const URGENT: Readonly<Record<string, number>> = { bad: 2e6, warning: 1e6 };
/** Lanes that are closed come first, then those that send most. */
const busy = ({ waiting, perMinute }: LiveLane): number =>
  (URGENT[waiting?.tone ?? ''] ?? 0) + perMinute.reduce((sum, count) => sum + count, 0);

function NeedsAttention({ code, text, lane, campaign, name, remedy }: Attention) {
  const about = name ?? lane ?? '';
  const place = campaign ? `campaigns/${campaign}` : lane && `lanes/${encodeURIComponent(lane)}`;
  return (
    <li class="row">
      <span>
        <b class="bad">!</b> <b>{about}</b> {text}
      </span>
      <span class="row end">
        {place && code !== 'unknown' && (
          <a class="button" href={`/console/${place}`}>
            {texts.overview.why} <span class="unseen">{about}</span>
          </a>
        )}
        <Remedy remedy={remedy} lane={lane} campaign={campaign} about={about} />
      </span>
    </li>
  );
}

function Running({ status: { id, name, lane, counts }, waiting, sendsPerMinute }: LiveCampaign) {
  return (
    <li class="stack">
      <div class="row">
        <h3>
          <a href={`/console/campaigns/${id}`}>{name}</a>
        </h3>
        <span class="quiet">{lane}</span>
        <Progress counts={counts} perMinute={sendsPerMinute} />
      </div>
      <Bar counts={counts} isSmall />
      <p>
        <Sentence waiting={waiting} />
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
      <ol class="entries">
        {events.map((event) => (
          <li key={event.id} data-event={event.id}>
            <Time at={event.createdAt} withSeconds /> {eventText(event)}
          </li>
        ))}
      </ol>
    </details>
  );
}
