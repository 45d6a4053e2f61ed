import type { Waiting, WaitingWords } from 'built/campaign/views/live-views.js';
import { HOME } from '../base/api.js';
import { mayRun } from '../base/session.js';
import { labelOf, texts } from '../base/texts.js';
import { spanText } from '../base/times.js';
import { CommandButton } from './CommandDialog.js';
import { Details } from './Section.js';
import { Time, useNow } from './Time.js';

/**
 * Why something waits, as the command line says it, and how long that still takes. `lane`: the lane whose screen this is. `zone`: that of the
 * campaign. `isBrief`: without what to do about it, which its own screen says.
 */
export function Sentence({ waiting, lane, zone = null, isBrief = false }: SentenceProps) {
  const { text, since, until, next, advice, details, tone, code } = waiting;
  const left = Date.parse(until ?? '') - useNow();
  // The bucket that frees the permit is on the screen of its lane.
  const isElsewhere = code === 'quota' && waiting.lane !== null && waiting.lane !== lane;
  return (
    <span class={tone}>
      {text.replace(/\.$/, '')}
      {since && [` (${texts.since} `, <Time key="since" at={since} zone={zone} />, ')']}
      {left > 0 && [
        `; ${next} `,
        <Time key="until" at={until} zone={zone} isIn />,
        ' ',
        <span key="left" class="quiet">
          {texts.inSpan(spanText(left))}
        </span>,
      ]}
      . {!isBrief && advice}{' '}
      {isElsewhere && (
        <a href={`${HOME}/lanes/${encodeURIComponent(waiting.lane ?? '')}#freed`}>{labelOf('why')}</a>
      )}
      <Details text={details} />
    </span>
  );
}

interface SentenceProps {
  readonly waiting: WaitingWords & Partial<Pick<Waiting, 'tone' | 'lane'>> & { readonly code: string };
  readonly lane?: string | null;
  readonly zone?: string | null;
  readonly isBrief?: boolean;
}

interface RemedyProps extends Pick<Waiting, 'remedy' | 'lane'> {
  readonly campaign?: string | null;
  readonly about: string;
}

/** What ends a wait: a button, or for unknown outcomes the way to where they are settled. */
export function Remedy({ remedy, lane, campaign, about }: RemedyProps) {
  const common = { about, lane: lane ?? undefined };
  if (remedy?.operation === 'resumeLane' && lane !== null)
    return (
      <CommandButton
        lane={lane}
        command="resumeLane"
        input={{ name: lane }}
        label={texts.lane.resume(lane)}
      />
    );
  if (remedy?.operation === 'resumeCampaign' && campaign)
    return <CommandButton {...common} command="resumeCampaign" input={{ id: campaign }} />;
  const isCampaign =
    remedy?.operation === 'resolveCampaign' && campaign && mayRun('resolveCampaign', common.lane);
  // On its own page, the browser goes to the section, each time.
  const page = isCampaign && !location.pathname.endsWith(campaign) ? `${HOME}/campaigns/${campaign}` : '';
  const href = isCampaign ? `${page}#unknown` : remedy?.operation.endsWith('Outbox') && `${HOME}/outboxes`;
  return href ? (
    <a class="button" href={href}>
      {labelOf('decide')} <span class="unseen">{about}</span>
    </a>
  ) : null;
}
