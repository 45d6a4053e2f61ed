import { lanes, ledgers, liveLanes, overview, useLive } from '../base/live.js';
import { durationMs } from '../base/strip.js';
import { labelOf, texts } from '../base/texts.js';
import { spanText } from '../base/times.js';
import { Sparkline } from '../parts/Chart.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Facts, Section, Title } from '../parts/Section.js';
import { Sentence } from '../parts/Sentence.js';
import { Strip } from '../parts/Strip.js';
import { LaneList, LaneState, Quota } from './LaneList.js';

const words = texts.lane;

/** All lanes of the key. */
export function Lanes() {
  return (
    <>
      <Title text={labelOf('lanes')} />
      <section>
        <LaneList lanes={lanes()} />
      </section>
    </>
  );
}

/** One lane: its window, why it waits, and what can be done. */
export function Lane({ of: name }: { readonly of: string }) {
  useLive('lanes', name);
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
        <span class="end">
          <CommandButton
            command={isClosed ? 'resumeLane' : 'holdLane'}
            tone={isClosed ? 'primary' : undefined}
            lane={name}
            input={{ name }}
            label={isClosed ? words.resume(name) : undefined}
            about={isClosed ? undefined : name}
            fields={isClosed ? undefined : ['reason']}
          />
        </span>
      </Title>
      <p class="sentence">
        {waiting === null ? words.open : <Sentence waiting={waiting} lane={name} zone={status.zone} />}
      </p>
      {ledger && (
        <Section title={words.window(spanText(durationMs(ledger.span)))}>
          <Strip
            {...{ ledger, zone: status.zone }}
            until={waiting?.code === 'quota' ? waiting.until : null}
          />
        </Section>
      )}
      <Section title={labelOf('aboutThisAccount')}>
        <Facts
          facts={[
            [labelOf('quota'), <Quota status={status} />],
            [labelOf('inFlight'), status.quota.inFlight],
            [labelOf('sendsPerMinute'), <Sparkline values={perMinute} />],
            [labelOf('campaigns'), words.campaigns(status.campaigns)],
            [labelOf('unknownOutcomes'), status.unknownOutcomes],
          ]}
        />
      </Section>
    </>
  );
}
