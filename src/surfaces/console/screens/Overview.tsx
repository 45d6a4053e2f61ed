import type { Attention, LiveCampaign, LiveLane } from 'built/campaign/views/live-views.js';
import { useRef } from 'preact/hooks';
import { call, HOME, type Output } from '../base/api.js';
import { hasGap, hasOneLane, lanes, liveCampaigns, overview, recentEvents, serverNow } from '../base/live.js';
import { useLoaded } from '../base/loaded.js';
import { resultOf } from '../base/recipients.js';
import { mayRun } from '../base/session.js';
import { eventText, labelOf, texts } from '../base/texts.js';
import { Bar, Progress } from '../parts/Bar.js';
import { CampaignLink, Section, SendLink, Title } from '../parts/Section.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { StopButtons } from '../parts/StopButtons.js';
import { Table } from '../parts/Table.js';
import { Time, TimeRange } from '../parts/Time.js';
import { LaneList } from './LaneList.js';

const words = texts.overview;

/** Of more lanes, only those that are closed or busy are on the first screen. */
const LANES_SHOWN = 12;

/** What needs attention first; then what is sent, what will be, and what came of the rest today. */
export function Overview() {
  const now = overview.value;
  const isReady = useRef(false);
  const states = JSON.stringify(now?.counts.campaigns);
  const schedules = useLoaded(states, async (signal) =>
    mayRun('listSchedules') ? (await call('listSchedules', {}, { signal })).schedules : [],
  );
  const campaignsOf = (ids: readonly string[]): LiveCampaign[] =>
    ids.flatMap((id) => liveCampaigns.value.get(id) ?? []);
  const title = (
    <Title text={labelOf('overview')}>
      <SendLink />
    </Title>
  );
  // The page appears at once, so that nothing on it moves while the rest arrives.
  const wanted = now === null ? [] : [...now.running, ...now.scheduled, ...now.ended];
  isReady.current ||= !schedules.isBusy && wanted.every((id) => liveCampaigns.value.has(id));
  if (now === null || !isReady.current) return [title, <p class="quiet">{texts.loading}</p>];
  const { attention } = now;
  const all = lanes() ?? [];
  const hasMore = all.length > LANES_SHOWN;
  const busyFirst = hasMore ? all.toSorted((a, b) => busy(b) - busy(a)) : all;
  const closed = attention.flatMap(({ lane, campaign, name }) => ((campaign ?? name) ? [] : (lane ?? [])));
  const running = campaignsOf(now.running);
  const today = new Date(serverNow()).toDateString();
  const ended = campaignsOf(now.ended).filter(
    ({ status }) => new Date(status.endedAt ?? '').toDateString() === today,
  );
  return (
    <>
      {title}
      <Section title={labelOf('needsAttention')} class={attention.length === 0 ? undefined : 'attention'}>
        {attention.length === 0 && <p class="quiet">✓ {words.allWell}</p>}
        <ul class="entries">
          {attention.map((item) => (
            <NeedsAttention key={`${item.code} ${item.lane} ${item.campaign} ${item.name}`} item={item} />
          ))}
        </ul>
      </Section>
      <Section title={labelOf('beingSent')}>
        {running.length === 0 && <p class="quiet">{words.noneRunning}</p>}
        <ul class="entries">
          {running.map((each) => (
            <Running key={each.status.id} {...each} isExplained={closed.includes(each.status.lane)} />
          ))}
        </ul>
      </Section>
      <Section title={labelOf('scheduledThisWeek')}>
        <Scheduled campaigns={campaignsOf(now.scheduled)} schedules={schedules.data ?? []} />
      </Section>
      <Section title={labelOf('endedToday')}>
        <Ended campaigns={ended} />
      </Section>
      {!hasOneLane() && (
        <Section title={labelOf('lanes')}>
          <LaneList lanes={busyFirst.slice(0, LANES_SHOWN)} explained={closed} />
          {hasMore && <a href={`${HOME}/lanes`}>{words.allLanes(all.length)}</a>}
        </Section>
      )}
      <Events />
    </>
  );
}

const URGENT: Readonly<Record<string, number>> = { bad: 2e6, warning: 1e6 };
/** Lanes that are closed come first, then those that send most. */
const busy = ({ waiting, perMinute }: LiveLane): number =>
  (URGENT[waiting?.tone ?? ''] ?? 0) + perMinute.reduce((sum, count) => sum + count, 0);

function NeedsAttention({ item }: { readonly item: Attention }) {
  const { code, lane, campaign, name, remedy } = item;
  const about = name ?? (hasOneLane() ? '' : (lane ?? ''));
  const place = campaign ? `campaigns/${campaign}` : lane && `lanes/${encodeURIComponent(lane)}`;
  return (
    <li class="row">
      <div class="grow">
        <b class="bad">!</b> {about && <b>{about}</b>} <Sentence waiting={item} lane={lane} />
      </div>
      <span class="row end">
        {place && code !== 'unknown' && (
          <a class="button" href={`${HOME}/${place}`}>
            {labelOf('why')} <span class="unseen">{about}</span>
          </a>
        )}
        <Remedy remedy={remedy} lane={lane} campaign={campaign} about={about} />
      </span>
    </li>
  );
}

/** A campaign that is being sent. `isExplained`: whether what it waits for is explained above. */
function Running({ status, waiting, sendsPerMinute, isExplained }: LiveCampaign & { isExplained: boolean }) {
  const { lane, zone, counts, eta, completion } = status;
  return (
    <li class="stack">
      <div class="row">
        <h3>
          <CampaignLink {...status} />
        </h3>
        {!hasOneLane() && <span class="quiet">{lane}</span>}
        <Progress status={status} sendsPerMinute={sendsPerMinute} />
        <StopButtons status={status} />
      </div>
      <Bar counts={counts} isSmall />
      <p class="row">
        {isExplained ? (
          <span class="quiet">{texts.seeAbove}</span>
        ) : (
          <Sentence waiting={waiting} zone={zone} isBrief />
        )}
        {eta?.latest && (
          <span class="quiet end">
            {labelOf('allSentBy')} <Time at={eta.latest} zone={zone} />
            {completion?.latest && [words.lastBy, <Time key="last" at={completion.latest} zone={zone} />]}
          </span>
        )}
      </p>
    </li>
  );
}

interface ScheduledProps {
  readonly campaigns: readonly LiveCampaign[];
  readonly schedules: Output<'listSchedules'>['schedules'];
}

/** What starts within a week: campaigns, and the next campaign of each schedule. */
function Scheduled({ campaigns, schedules }: ScheduledProps) {
  const soon = new Date(serverNow() + WEEK_MS).toISOString();
  const rows = [
    ...campaigns.map(({ status }) => ({ ...status, next: status.sendAt ?? '' })),
    ...schedules
      .filter(({ state, next }) => state === 'active' && next !== null && next < soon)
      .map(({ id, name, next, zone }) => ({ id, name, next: next ?? '', zone, eta: null })),
  ];
  return (
    <Table
      caption={labelOf('scheduledThisWeek')}
      empty={words.noneScheduled}
      rows={rows.toSorted((a, b) => a.next.localeCompare(b.next))}
      columns={[
        [labelOf('name'), (row) => ('counts' in row ? <CampaignLink {...row} /> : row.name)],
        [labelOf('starts'), ({ next, zone }) => <Time at={next || null} zone={zone} />],
        [labelOf('expectedEnd'), ({ eta, zone }) => eta && <TimeRange {...eta} zone={zone} />],
        [labelOf('window'), (row) => 'counts' in row && (row.window?.hours ?? labelOf('anyTime'))],
        [labelOf('recipients'), (row) => ('counts' in row ? row.counts.total : words.eachTime)],
      ]}
    />
  );
}

const WEEK_MS = 7 * 86_400_000;

/** What came of the campaigns of today. */
function Ended({ campaigns }: { readonly campaigns: readonly LiveCampaign[] }) {
  return (
    <Table
      caption={labelOf('endedToday')}
      empty={words.noneEnded}
      rows={campaigns.map(({ status }) => status)}
      columns={[
        [labelOf('name'), (status) => <CampaignLink {...status} />],
        [labelOf('ended'), ({ endedAt, zone }) => <Time at={endedAt} zone={zone} />],
        [labelOf('recipients'), ({ counts }) => counts.total],
        [labelOf('delivered'), ({ counts }) => resultOf(counts, 'delivered')],
        [labelOf('notDelivered'), ({ counts }) => resultOf(counts, 'notDelivered')],
        [labelOf('unclear'), ({ counts }) => resultOf(counts, 'unclear')],
        [labelOf('result'), ({ counts }) => <Bar counts={counts} isSmall />],
      ]}
    />
  );
}

function Events() {
  const events = recentEvents.value;
  return (
    <details class="panel">
      <summary>{labelOf('recentEvents')}</summary>
      {hasGap.value && <p class="warning">{words.gap}</p>}
      {events.length === 0 && <p class="quiet">{words.noEvents}</p>}
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
