import { useRoute } from 'preact-iso/router';
import { ledgers, liveLanes, overview, useLive } from '../base/live.js';
import { durationMs } from '../base/strip.js';
import { texts } from '../base/texts.js';
import { countText, spanText } from '../base/times.js';
import { Sparkline } from '../parts/Chart.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Facts.js';
import { Sentence } from '../parts/Sentence.js';
import { Strip } from '../parts/Strip.js';
import { Title } from '../parts/Title.js';
import { LaneList, LaneState, Quota } from './LaneList.js';

const words = texts.lane;

/** All lanes of the key. */
export function Lanes() {
  const lanes = overview.value?.lanes.flatMap((name) => liveLanes.value.get(name) ?? []) ?? [];
  return (
    <>
      <Title text={texts.overview.lanes} />
      {overview.value === null ? <p class="quiet">{texts.loading}</p> : <LaneList lanes={lanes} />}
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
  const isClosed = ['held', 'stopped', 'backingOff'].includes(status.state);
  return (
    <>
      <Title text={name}>
        <LaneState status={status} />
        <span class="quiet">{simulator ? texts.header.simulator : host}</span>
        <span class="row end">
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
      </Title>
      <p class="sentence">{waiting === null ? words.open : <Sentence waiting={waiting} lane={name} />}</p>
      <section aria-labelledby="window">
        <h2 id="window">{words.window(ledger === undefined ? '' : spanText(durationMs(ledger.span)))}</h2>
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
