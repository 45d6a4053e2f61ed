import { hasGap, liveCampaigns, liveLanes, overview, recentEvents } from '../base/live.js';
import type { Attention, LiveCampaign } from '../base/live-types.js';
import { texts } from '../base/texts.js';
import { Bar, Progress } from '../parts/Bar.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { Time } from '../parts/Time.js';
import { LaneList } from './Lane.js';

/** Of more lanes, only those that are busy or closed are on the first screen. */
const LANES_SHOWN = 12;

/** What needs attention first; then what runs. */
export function Overview() {
  const now = overview.value;
  const campaigns = now?.running.flatMap((id) => liveCampaigns.value.get(id) ?? []) ?? [];
  const lanes = now?.lanes.flatMap((name) => liveLanes.value.get(name) ?? []) ?? [];
  const busyFirst = lanes.toSorted((a, b) => busy(b) - busy(a)).slice(0, LANES_SHOWN);
  return (
    <>
      <h1 class="unseen">{texts.overview.title}</h1>
      {now === null ? (
        <p class="quiet">{texts.loading}</p>
      ) : (
        <>
          <AttentionList items={now.attention} />
          <section aria-labelledby="running">
            <h2 id="running">{texts.overview.running}</h2>
            {campaigns.length === 0 && <p class="quiet">{texts.overview.noneRunning}</p>}
            <ul class="cards">
              {campaigns.map((campaign) => (
                <li key={campaign.status.id}>
                  <CampaignCard {...campaign} />
                </li>
              ))}
            </ul>
          </section>
          <section aria-labelledby="lanes">
            <h2 id="lanes">{texts.overview.lanes}</h2>
            <LaneList lanes={busyFirst} />
            {lanes.length > LANES_SHOWN && (
              <a href="/console/lanes">{texts.overview.allLanes(lanes.length)}</a>
            )}
          </section>
          <Events />
        </>
      )}
    </>
  );
}

/** Closed lanes come first, then those that send. */
const busy = ({
  waiting,
  perMinute,
}: {
  waiting: { tone: string } | null;
  perMinute: readonly number[];
}): number =>
  (waiting?.tone === 'bad' ? 2_000_000 : waiting?.tone === 'warning' ? 1_000_000 : 0) +
  perMinute.reduce((sum, count) => sum + count, 0);

function AttentionList({ items }: { readonly items: readonly Attention[] }) {
  return (
    <section aria-labelledby="attention" class={`attention${items.length === 0 ? ' none' : ''}`}>
      <h2 id="attention">{texts.overview.attention}</h2>
      {items.length === 0 && <p class="quiet">✓ {texts.overview.allWell}</p>}
      <ul>
        {items.map((item) => {
          const { code, text, lane, campaign, name } = item;
          const href =
            campaign !== null
              ? `/console/campaigns/${campaign}${code === 'unknown' ? '#unknown' : ''}`
              : lane !== null
                ? `/console/lanes/${encodeURIComponent(lane)}`
                : null;
          return (
            <li key={`${code}${lane}${campaign}${text}`}>
              <span>
                <strong aria-hidden="true">!</strong> {(name ?? lane) !== null && <b>{name ?? lane}</b>}{' '}
                {text}
              </span>
              <span class="actions">
                {href !== null && (
                  <a class="button" href={href}>
                    {code === 'unknown' ? texts.overview.settle : texts.overview.why}
                    <span class="unseen"> {name ?? lane}</span>
                  </a>
                )}
                <Remedy remedy={item.remedy} lane={lane} about={name ?? lane ?? ''} />
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function CampaignCard({ status, waiting, sendsPerMinute }: LiveCampaign) {
  return (
    <article class="card">
      <header>
        <h3>
          <a href={`/console/campaigns/${status.id}`}>{status.name}</a>
        </h3>
        <span class="quiet">{status.lane}</span>
        <Progress counts={status.counts} perMinute={sendsPerMinute} />
      </header>
      <Bar counts={status.counts} isSmall />
      <p class="facts">
        <Sentence waiting={waiting} />
      </p>
    </article>
  );
}

function Events() {
  const events = recentEvents.value;
  return (
    <details class="events">
      <summary>{texts.overview.events}</summary>
      {hasGap.value && <p class="warning">{texts.overview.gap}</p>}
      {events.length === 0 && <p class="quiet">{texts.overview.noEvents}</p>}
      <ol>
        {events.map(({ id, type, createdAt, name, lane, campaign }) => (
          <li key={id} data-event={id}>
            <Time at={createdAt} withSeconds /> <code>{type}</code>{' '}
            {typeof campaign === 'string' ? (
              <a href={`/console/campaigns/${campaign}`}>{String(name ?? campaign)}</a>
            ) : (
              String(lane ?? '')
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}
