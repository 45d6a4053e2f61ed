import { CAMPAIGN_STATES } from '../../campaign/states/campaign.js';
import { perName, RECIPIENT_STATES } from '../../campaign/states/recipient.js';
import type { Attention, Overview, WaitingWords } from '../../campaign/views/live-views.js';
import type { WorkerProcess } from '../../engine/recovery/heartbeats.js';
import { isoOrNull } from '../status.js';
import { laneWaiting, NO_WORKERS, pausedWords, plainly, unknownWords } from '../waiting.js';
import { type LiveText, textOf } from './item.js';
import {
  ATTENTION_SHOWN,
  firstOf,
  isPaused,
  isUnknown,
  type KnownLane,
  type NotableCampaign,
} from './lanes.js';

/** The newest running campaigns that are shown; the counts have all of them. */
const RUNNING_SHOWN = 50;

/** Something that needs a person, and the lanes that it is about; null: all. */
export interface OtherAttention extends Pick<Attention, 'code' | 'text'> {
  readonly name: string;
  readonly lanes: readonly string[] | null;
}

const NOTHING = { lane: null, campaign: null, name: null, remedy: null };

/** What there is to see on these lanes, and what needs a person. Pure. */
export function overviewOf(
  lanes: readonly KnownLane[],
  allowed: readonly string[] | undefined,
  {
    workers,
    others,
  }: { readonly workers: readonly WorkerProcess[]; readonly others: readonly OtherAttention[] },
): { readonly overview: Overview; readonly text: LiveText } {
  const sum = (of: (lane: KnownLane) => number): number => lanes.reduce((total, lane) => total + of(lane), 0);
  const running = lanes
    .flatMap(({ notable }) =>
      notable.filter(({ state, outbox }) => state === 'running' && outbox === undefined),
    )
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  const overview: Overview = {
    attention: [
      ...attentionOf(lanes, workers),
      ...others
        .filter(({ lanes: its }) => allowed === undefined || its?.every((lane) => allowed.includes(lane)))
        .slice(0, ATTENTION_SHOWN)
        .map(({ code, text, name, lanes: its }) => ({
          ...NOTHING,
          ...plainly(text),
          code,
          name,
          lane: its?.length === 1 ? (its[0] ?? null) : null,
        })),
    ],
    running: running.slice(0, RUNNING_SHOWN).map(({ id }) => id),
    scheduled: firstOf(lanes.flatMap(({ scheduled }) => scheduled)).map(({ id }) => id),
    ended: firstOf(lanes.flatMap(({ ended }) => ended)).map(({ id }) => id),
    lanes: lanes.map(({ lane }) => lane.name).sort(),
    counts: {
      campaigns: perName(CAMPAIGN_STATES, (state) => sum(({ counts }) => counts.campaigns[state])),
      recipients: perName(RECIPIENT_STATES, (state) => sum(({ counts }) => counts.counts[state])),
    },
  };
  return { overview, text: textOf({ type: 'overview', data: overview }) };
}

/** The worst first: nothing is sent at all, then what waits for an operator. */
function attentionOf(lanes: readonly KnownLane[], workers: readonly WorkerProcess[]): Attention[] {
  const isIdle = lanes.every(({ notable }) => notable.length === 0);
  return [
    ...(workers.length === 0 && !isIdle ? [{ ...NOTHING, code: 'workers', ...NO_WORKERS }] : []),
    ...lanes.flatMap(({ lane, status, view }) => {
      const waiting = laneWaiting(status, view.now);
      const isUrgent = waiting !== null && ['stopped', 'held', 'noToken', 'failing'].includes(waiting.code);
      if (!isUrgent) return [];
      const { tone, ...said } = waiting;
      return [{ ...NOTHING, ...said, lane: lane.name }];
    }),
    ...ofCampaigns(lanes, isUnknown, (campaign) => ({
      code: 'unknown',
      ...unknownWords(campaign.counts['unknown'] ?? 0),
      remedy: remedyOf('resolve', campaign),
    })),
    ...ofCampaigns(lanes, isPaused, (campaign) => ({
      code: 'paused',
      ...pausedWords(campaign.pauseReason, isoOrNull(campaign.pausedAt)),
      remedy: remedyOf('resume', campaign),
    })),
  ];
}

/** The newest campaigns and the outboxes of these lanes that a test chooses. */
function ofCampaigns(
  lanes: readonly KnownLane[],
  isChosen: (campaign: NotableCampaign) => boolean,
  say: (campaign: NotableCampaign) => WaitingWords & Pick<Attention, 'code' | 'remedy'>,
): Attention[] {
  return lanes
    .flatMap(({ lane, notable }) => notable.filter(isChosen).map((campaign) => ({ lane, campaign })))
    .sort((a, b) => (a.campaign.id < b.campaign.id ? 1 : -1))
    .slice(0, ATTENTION_SHOWN)
    .map(({ lane, campaign }) => ({
      ...say(campaign),
      lane: lane.name,
      campaign: campaign.outbox === undefined ? campaign.id : null,
      name: campaign.name,
    }));
}

function remedyOf(verb: 'resolve' | 'resume', { id, outbox }: NotableCampaign): Attention['remedy'] {
  return outbox === undefined
    ? { operation: `${verb}Campaign`, path: `/v1/campaigns/${id}/${verb}` }
    : { operation: `${verb}Outbox`, path: `/v1/outboxes/${outbox}/${verb}` };
}
