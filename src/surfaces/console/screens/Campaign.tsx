import { useRoute } from 'preact-iso/router';
import { CAMPAIGN_STATE } from '../../../campaign/campaign.js';
import { goneCampaigns, liveCampaigns, useLive } from '../base/live.js';
import type { CampaignStatus, LiveCampaign } from '../base/live-types.js';
import { mayRun } from '../base/session.js';
import { texts } from '../base/texts.js';
import { moneyText } from '../base/times.js';
import { Bar, Legend, Progress } from '../parts/Bar.js';
import { CommandButton } from '../parts/CommandDialog.js';
import { Facts } from '../parts/Facts.js';
import { Sentence } from '../parts/Sentence.js';
import { StateMachine } from '../parts/StateMachine.js';
import { Time } from '../parts/Time.js';
import { Title } from '../parts/Title.js';
import { Recipients } from './Recipients.js';
import { Speed } from './Speed.js';
import { Unknown } from './Unknown.js';

/** One campaign: what it does and why, where its recipients are, and what can be done about it. */
export function Campaign() {
  const { params } = useRoute();
  const id = params['id'] ?? '';
  useLive([], [id]);
  const campaign = liveCampaigns.value.get(id);
  if (goneCampaigns.value.has(id)) return <p>{texts.campaign.missing}</p>;
  if (campaign === undefined) return <p class="quiet">{texts.loading}</p>;
  const { status, waiting, sendsPerMinute } = campaign;
  const { counts } = status;
  return (
    <>
      <Title text={status.name}>
        <span
          class={`badge ${status.state === 'paused' || status.state === 'cancelled' ? 'warning' : 'good'}`}
        >
          {texts.campaignStates[status.state]}
        </span>
        <Commands {...campaign} />
      </Title>
      <p class="sentence">
        <Sentence waiting={waiting} />
      </p>
      <section aria-labelledby="states">
        <h2 id="states" class="unseen">
          {texts.campaign.states}
        </h2>
        <Progress counts={counts} perMinute={sendsPerMinute} />
        <Bar counts={counts} />
        <Legend counts={counts} />
        <StateMachine counts={counts} />
      </section>
      {counts.unknown > 0 && <Unknown status={status} />}
      <Speed status={status} />
      <About status={status} />
      {mayRun('listRecipients', status.lane) && <Recipients status={status} />}
    </>
  );
}

function Commands({ status }: LiveCampaign) {
  const { id, lane, name, state, counts } = status;
  const accepts = (command: 'pause' | 'resume' | 'cancel'): boolean =>
    CAMPAIGN_STATE[state].commands.some((one) => one === command);
  const common = { input: { id }, lane };
  return (
    <span class="row end">
      {accepts('pause') && state !== 'paused' && (
        <CommandButton
          {...common}
          command="pauseCampaign"
          label="Pause"
          outcome={({ inFlight }) => texts.outcomes.paused(inFlight)}
        />
      )}
      {state === 'paused' && (
        <CommandButton
          {...common}
          command="resumeCampaign"
          label="Resume"
          tone="primary"
          outcome={(output) => texts.outcomes.resumed(output.state)}
        />
      )}
      {accepts('cancel') && state !== 'cancelled' && (
        <CommandButton
          {...common}
          command="cancelCampaign"
          label="Cancel"
          tone="danger"
          question={<p>{texts.campaign.cancelQuestion(counts.planned, counts.sending)}</p>}
          outcome={({ cancelled, inFlight }) => texts.outcomes.cancelled(cancelled, inFlight)}
        />
      )}
      {mayRun('getReport', lane) && (
        <a
          class="button"
          href={`/v1/campaigns/${id}/report?format=csv`}
          download
          title={texts.campaign.reportAbout}
        >
          ⤓ {texts.campaign.report}
        </a>
      )}
      {status.endedAt !== null && (
        <CommandButton
          {...common}
          command="deleteCampaign"
          label="Delete"
          tone="danger"
          question={<p>{texts.campaign.deleteQuestion(name, counts.total)}</p>}
          expect={counts.total}
          expectLabel={texts.campaign.deleteExpect(counts.total)}
          outcome={() => texts.outcomes.deleted}
        />
      )}
    </span>
  );
}

function About({ status }: { readonly status: CampaignStatus }) {
  const { zone, requests, duplicates, invalid, cost, window, completion } = status;
  const words = texts.campaign;
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">{words.facts}</h2>
      <Facts
        facts={[
          [words.message, <span class="text">{status.message}</span>],
          [words.sender, status.sender],
          [words.lane, <a href={`/console/lanes/${encodeURIComponent(status.lane)}`}>{status.lane}</a>],
          [
            words.created,
            <>
              <Time at={status.createdAt} zone={zone} /> {status.createdBy && `by ${status.createdBy.name}`}
            </>,
          ],
          [words.starts, <Time at={status.sendAt} zone={zone} />],
          status.endedAt !== null && [words.ended, <Time at={status.endedAt} zone={zone} />],
          completion !== null && [
            words.completion,
            <>
              <Time at={completion.earliest} zone={zone} />
              {completion.latest !== null && (
                <>
                  {' '}
                  – <Time at={completion.latest} zone={zone} />
                </>
              )}
            </>,
          ],
          window !== null && [words.window, `${window.hours} ${zone ?? ''}`],
          [words.requests, words.requestsText(requests.send, requests.poll, requests.throttled)],
          duplicates + invalid > 0 && [words.leftOut, words.leftOutText(duplicates, invalid)],
          cost !== null && [
            words.cost,
            words.costText(
              cost.accepted === null ? null : moneyText(cost.accepted, cost.currency),
              moneyText(cost.total, cost.currency),
              cost.unpriced,
            ),
          ],
        ]}
      />
    </section>
  );
}
