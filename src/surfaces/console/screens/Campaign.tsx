import { useRoute } from 'preact-iso/router';
import { CAMPAIGN_STATE } from '../../../campaign/campaign.js';
import { labels, stateText } from '../base/labels.js';
import { goneCampaigns, liveCampaigns, useLive } from '../base/live.js';
import type { CampaignStatus } from '../base/live-types.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { moneyText } from '../base/times.js';
import { Bar, Legend, Progress } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Facts.js';
import { Section } from '../parts/Section.js';
import { Remedy, Sentence } from '../parts/Sentence.js';
import { StateMachine } from '../parts/StateMachine.js';
import { Time, TimeRange } from '../parts/Time.js';
import { Title } from '../parts/Title.js';
import { Recipients } from './Recipients.js';
import { Speed } from './Speed.js';
import { Unknown } from './Unknown.js';

const words = texts.campaign;

/** One campaign: what it does and why, where its recipients are, and what can be done about it. */
export function Campaign() {
  const { params } = useRoute();
  const id = params['id'] ?? '';
  useLive([], [id]);
  const campaign = liveCampaigns.value.get(id);
  if (goneCampaigns.value.has(id)) return <p>{words.missing}</p>;
  if (campaign === undefined) return <p class="quiet">{texts.loading}</p>;
  const { status, waiting, sendsPerMinute } = campaign;
  const { counts, state, name, lane } = status;
  return (
    <>
      <Title text={name}>
        <span class={`badge ${state === 'paused' || state === 'cancelled' ? 'warning' : 'good'}`}>
          {stateText(state)}
        </span>
        <Commands status={status} />
      </Title>
      <p class="sentence row">
        <Sentence waiting={waiting} />
        {state !== 'paused' && <Remedy {...waiting} lane={waiting.lane ?? lane} campaign={id} about={name} />}
      </p>
      <Section title={words.states}>
        <Progress counts={counts} perMinute={sendsPerMinute} />
        <Bar counts={counts} />
        <Legend counts={counts} />
        <StateMachine counts={counts} />
      </Section>
      {counts.unknown > 0 && <Unknown status={status} />}
      <Speed status={status} />
      <About status={status} />
      {mayRun('listRecipients', lane) && <Recipients status={status} />}
    </>
  );
}

function Commands({ status }: { readonly status: CampaignStatus }) {
  const { id, lane, name, state, counts, endedAt } = status;
  const accepts = (command: 'pause' | 'cancel'): boolean =>
    CAMPAIGN_STATE[state].commands.some((one) => one === command);
  const common = { input: { id }, lane };
  return (
    <span class="row end">
      {accepts('pause') && state !== 'paused' && <CommandButton {...common} command="pauseCampaign" />}
      {state === 'paused' && <CommandButton {...common} command="resumeCampaign" tone="primary" />}
      {accepts('cancel') && state !== 'cancelled' && (
        <CommandButton
          {...common}
          command="cancelCampaign"
          question={words.cancelQuestion(counts.planned, counts.sending)}
        />
      )}
      {mayRun('getReport', lane) && (
        <a class="button" href={`/v1/campaigns/${id}/report?format=csv`} download title={words.reportAbout}>
          ⤓ {words.report}
        </a>
      )}
      {endedAt !== null && (
        <CommandButton
          {...common}
          command="deleteCampaign"
          question={words.deleteQuestion(name, counts.total)}
          expect={{ count: counts.total, label: words.deleteExpect(counts.total) }}
        />
      )}
    </span>
  );
}

function About({ status }: { readonly status: CampaignStatus }) {
  const { zone, requests, duplicates, invalid, cost, window, completion, createdBy } = status;
  return (
    <Section title={words.facts}>
      <Facts
        facts={[
          [labels.message, <span class="text">{status.message}</span>],
          [labels.sender, status.sender],
          [labels.lane, <a href={`/console/lanes/${encodeURIComponent(status.lane)}`}>{status.lane}</a>],
          [labels.created, <Time at={status.createdAt} zone={zone} />],
          [labels.by, createdBy?.name],
          [labels.starts, <Time at={status.sendAt ?? status.createdAt} zone={zone} />],
          [labels.ended, status.endedAt && <Time at={status.endedAt} zone={zone} />],
          [labels.completion, completion && <TimeRange {...completion} zone={zone} />],
          [labels.window, window && `${window.hours} ${zone ?? ''}`],
          [labels.requests, words.requestsText(requests.send, requests.poll, requests.throttled)],
          [labels.leftOut, duplicates + invalid > 0 && words.leftOutText(duplicates, invalid)],
          [labels.cost, cost && costOf(cost)],
        ]}
      />
    </Section>
  );
}

function costOf({ accepted, total, currency, unpriced }: NonNullable<CampaignStatus['cost']>): string {
  const soFar = accepted === null ? null : moneyText(accepted, currency);
  return words.costText(soFar, moneyText(total, currency), unpriced);
}
