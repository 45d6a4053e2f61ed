import { useRoute } from 'preact-iso/router';
import { labels } from '../base/labels.js';
import { ledgers, liveLanes, overview, useLive } from '../base/live.js';
import { durationMs } from '../base/strip.js';
import { texts } from '../base/texts.js';
import { spanText } from '../base/times.js';
import { Sparkline } from '../parts/Chart.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Facts.js';
import { Section } from '../parts/Section.js';
import { Sentence } from '../parts/Sentence.js';
import { Strip } from '../parts/Strip.js';
import { Title } from '../parts/Title.js';
import { LaneList, LaneState, Quota } from './LaneList.js';

const words = texts.lane;

/** All lanes of the key. */
export function Lanes() {
  const lanes = overview.value?.lanes.flatMap((name) => liveLanes.value.get(name) ?? []);
  return (
    <>
      <Title text={labels.lanes} />
      <section>
        <LaneList lanes={lanes ?? null} />
      </section>
    </>
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
  const { campaigns, quota } = status;
  const isClosed = ['held', 'stopped', 'backingOff'].includes(status.state);
  return (
    <>
      <Title text={name}>
        <LaneState status={status} />
        <span class="quiet">{simulator ? texts.header.simulator : host}</span>
        <span class="end">
          <CommandButton
            command={isClosed ? 'resumeLane' : 'holdLane'}
            tone={isClosed ? 'primary' : undefined}
            lane={name}
            input={{ name }}
          />
        </span>
      </Title>
      <p class="sentence">{waiting === null ? words.open : <Sentence waiting={waiting} lane={name} />}</p>
      <Section title={words.window(ledger === undefined ? '' : spanText(durationMs(ledger.span)))}>
        {ledger === undefined ? (
          <p class="quiet">{texts.loading}</p>
        ) : (
          <Strip
            ledger={ledger}
            zone={status.zone}
            until={waiting?.code === 'quota' ? waiting.until : null}
          />
        )}
      </Section>
      <Section title={words.facts}>
        <Facts
          facts={[
            [labels.quota, <Quota status={status} />],
            [labels.inFlight, quota.inFlight],
            [labels.rate, <Sparkline values={perMinute} />],
            [labels.campaigns, words.campaigns(campaigns.running, campaigns.waiting, campaigns.scheduled)],
            [labels.reports, status.awaitingReports],
            [labels.unknown, status.unknownOutcomes],
            [labels.throttled, status.throttled],
            [labels.maxRecipients, status.maxRecipients],
          ]}
        />
      </Section>
    </>
  );
}
