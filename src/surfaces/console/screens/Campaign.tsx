import type { CampaignStatus } from 'built/campaign/views/views.js';
import { zoneName } from '../../../campaign/time/zone-names.js';
import { ROOT } from '../base/api.js';
import { SEPARATOR } from '../base/csv-file.js';
import { hasOneLane, liveCampaigns, useLive } from '../base/live.js';
import { mayRun } from '../base/session.js';
import { campaignText, labelOf, texts } from '../base/texts.js';
import { OWN_ZONE } from '../base/times.js';
import { Facts, LaneLink, Section, Title } from '../parts/Section.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { StateMachine } from '../parts/StateMachine.js';
import { StopButtons } from '../parts/StopButtons.js';
import { Time, TimeRange } from '../parts/Time.js';
import { Recipients } from './Recipients.js';
import { Failures, Result } from './Result.js';
import { Speed } from './Speed.js';
import { Unknown } from './Unknown.js';

const words = texts.campaign;

/** Of fewer messages, the speed says nothing. */
const SPEED_SHOWN = 20;

/** The report as the Excel of this reader opens it. */
const FOR_EXCEL = new URLSearchParams({ format: 'excel', separator: SEPARATOR, zone: OWN_ZONE });

/** One campaign: what it does and why, where its recipients are, and what can be done about it. */
export function Campaign({ of: id }: { readonly of: string }) {
  useLive('campaigns', id);
  const campaign = liveCampaigns.value.get(id);
  if (campaign === null) return <p>{words.missing}</p>;
  if (campaign === undefined) return <p class="quiet">{texts.loading}</p>;
  const { status, waiting } = campaign;
  const { counts, state, name, lane } = status;
  return (
    <>
      <Title text={name}>
        <span class={`badge ${waiting.tone === 'normal' ? 'good' : waiting.tone}`}>
          {campaignText(status)}
        </span>
        <span class="row end">
          <StopButtons status={status} />
          <button type="button" onClick={() => print()}>
            {labelOf('print')}
          </button>
          {mayRun('getReport', lane) && (
            <a class="button" href={`${ROOT}/v1/campaigns/${id}/report?${FOR_EXCEL}`} download>
              ⤓ {words.report}
            </a>
          )}
        </span>
      </Title>
      <p class="sentence row">
        <Sentence waiting={waiting} zone={status.zone} />
        {state !== 'paused' && <Remedy {...waiting} lane={waiting.lane ?? lane} campaign={id} about={name} />}
      </p>
      <Result {...campaign} />
      <Section title={labelOf('whereTheyAre')}>
        <StateMachine counts={counts} />
      </Section>
      {counts.unknown > 0 && <Unknown status={status} />}
      <Failures status={status} />
      {counts.total >= SPEED_SHOWN && <Speed status={status} />}
      <About status={status} />
      {mayRun('listRecipients', lane) && <Recipients status={status} />}
    </>
  );
}

function About({ status }: { readonly status: CampaignStatus }) {
  const { zone, requests, duplicates, invalid, cost, window, eta, completion, createdBy } = status;
  return (
    <Section title={labelOf('aboutThisCampaign')}>
      <Facts
        facts={[
          [labelOf('text'), <span class="text">{status.message}</span>],
          [labelOf('sender'), status.sender],
          [labelOf('lane'), !hasOneLane() && <LaneLink name={status.lane} />],
          [labelOf('created'), <Time at={status.createdAt} />],
          [labelOf('by'), createdBy?.name],
          [labelOf('starts'), <Time at={status.sendAt ?? status.createdAt} zone={zone} />],
          [labelOf('ended'), status.endedAt && <Time at={status.endedAt} zone={zone} />],
          [labelOf('allSent'), eta?.latest && <TimeRange {...eta} zone={zone} />],
          [labelOf('lastResults'), completion?.latest && <TimeRange {...completion} zone={zone} />],
          [labelOf('window'), window && `${window.hours} ${zoneName(zone ?? '')}`],
          [labelOf('requests'), words.requestsText(requests.send, requests.poll, requests.throttled)],
          [labelOf('rowsLeftOut'), duplicates + invalid > 0 && words.leftOutText(duplicates, invalid)],
          [labelOf('cost'), cost && words.costText(cost, cost.unpriced)],
        ]}
      />
    </Section>
  );
}
