import type { TimeRange } from '../views/measures.js';
import type { EstimateRules, LaneOutlook, OutlookCampaign } from './lane-outlook.js';
import { lastSend } from './last-send.js';
import { nextCommonOpening } from './window.js';

/** The campaign whose end is estimated. */
export interface EstimatedCampaign extends Omit<OutlookCampaign, 'score' | 'notBefore'> {
  /** When it is launched or resumed, if it does not run yet. */
  readonly launchAt: number;
  /** Requests in flight, accepted requests without a final status, and requests with an unknown outcome. */
  readonly sending: number;
  readonly awaiting: number;
  readonly unknown: number;
  /** Why it does not continue by itself; null if it does. */
  readonly obstacle: string | null;
}

/** When the last message is sent, and when the last recipient becomes final. Null: nothing is left to wait for. */
export interface Estimate {
  readonly eta: TimeRange | null;
  readonly completion: TimeRange | null;
  /** How many of its requests are sent before they lapse, at least and at most. */
  readonly inTime: { readonly atLeast: number; readonly atMost: number };
}

/** A range in ms. `latest` is null, with a reason, if nothing bounds it. */
interface Range {
  readonly earliest: number;
  readonly latest: number | null;
  readonly reason: string | null;
}

/**
 * Estimates the end of a campaign from what its lane may still do: the permits that return, the share of polls, the other campaigns, and
 * windows. Assumes that no operator intervenes and that the service responds. With a learned quota, it is approximate. Pure.
 */
export function estimate(lane: LaneOutlook, rules: EstimateRules, campaign: EstimatedCampaign): Estimate {
  const { requests, lapseAt } = campaign;
  const shown = (range: Range | null): TimeRange | null => range && timeRange(range, rules.quota === 0);
  if (requests === 0) {
    const completion = shown(completionOf(lane, rules, campaign, null));
    return { eta: null, completion, inTime: { atLeast: 0, atMost: 0 } };
  }
  const own = { ...campaign, score: 0, notBefore: campaign.launchAt };
  // Nothing is too early for an unknown quota. As few as with a modest one are sent before they lapse.
  const isKnown = lane.quota > 0;
  const early = isKnown ? lastSend(lane, rules, own, false) : null;
  const late = isKnown || lapseAt > 0 ? lastSend(lane, rules, own, true) : null;
  const opensAt = openFrom(lane, rules, campaign);
  const obstacle =
    opensAt === null
      ? 'the windows in which it may send are never open at the same time'
      : (campaign.obstacle ?? lane.obstacle);
  const reason = obstacle ?? unbounded(lane, campaign) ?? (late === null ? 'too far away' : null);
  const lapsing = (at: number): number => (lapseAt > 0 ? Math.min(at, Math.max(lane.now, lapseAt)) : at);
  // A learned quota goes beyond the true one and comes down again.
  const pad = rules.window * (rules.quota > 0 ? 0.01 : 0.51) + Math.min(1_000, rules.window / 20);
  const eta = {
    earliest: lapsing(Math.max(opensAt ?? lane.now, early === null ? 0 : early.at - pad)),
    latest: reason === null && late !== null ? lapsing(late.at + pad) : null,
    reason,
  };
  return {
    eta: shown(eta),
    completion: shown(completionOf(lane, rules, campaign, eta)),
    inTime: {
      atLeast:
        late !== null && (reason === null || (obstacle === null && !isKnown))
          ? requests - Math.ceil(late.unsent)
          : 0,
      atMost:
        early !== null
          ? requests - Math.floor(early.unsent)
          : opensAt !== null && lapseAt > opensAt
            ? requests
            : 0,
    },
  };
}

function timeRange({ earliest, latest, reason }: Range, isApproximate: boolean): TimeRange {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    earliest: iso(Math.floor(earliest)),
    latest: latest === null ? null : iso(Math.ceil(Math.max(earliest, latest))),
    isApproximate,
    reason,
  };
}

/** When the campaign may send for the first time, by its start and the windows; null: never. */
function openFrom(
  { now, opensAt, campaigns }: LaneOutlook,
  { sendWindow }: EstimateRules,
  { id, launchAt, window }: EstimatedCampaign,
): number | null {
  const start = Math.max(now, opensAt, campaigns.some((campaign) => campaign.id === id) ? 0 : launchAt);
  const opening = nextCommonOpening([window, sendWindow], start);
  return opening && Math.max(start, opening.from);
}

/** Why nothing bounds the time of the last message on an open lane. */
function unbounded({ quota, campaigns, unlisted }: LaneOutlook, { id, requests, weight }: EstimatedCampaign) {
  if (quota === 0) return 'the limit of the service is not known yet';
  const last = campaigns.at(-1);
  if (unlisted === 0 || last === undefined) return null;
  const listed = campaigns.find((campaign) => campaign.id === id);
  const end = listed === undefined ? Number.POSITIVE_INFINITY : listed.score + requests / weight;
  return end <= last.score
    ? null
    : `${unlisted} more ${unlisted === 1 ? 'campaign waits' : 'campaigns wait'}`;
}

/**
 * When the last recipient becomes final. Without notifications, each open request takes a poll. After the deadline, the next poll that is
 * answered ends it; it waits for its permit at most one window.
 */
function completionOf(
  lane: LaneOutlook,
  rules: EstimateRules,
  own: EstimatedCampaign,
  eta: Range | null,
): Range | null {
  const open = own.requests + own.sending + own.awaiting;
  if (open + own.unknown === 0) return null;
  const firstFinal = eta === null ? lane.now : eta.earliest + (rules.notify ? 0 : rules.firstPoll);
  // No window has more requests than the quota: a send and a poll for each message, and a poll for each open request. Messages that may
  // lapse may need neither.
  const mayLapse = own.lapseAt > 0 && (eta?.latest == null || eta.latest >= own.lapseAt);
  const requests = rules.notify ? 0 : open + (mayLapse ? -own.requests : own.requests);
  const windows = rules.quota === 0 ? 0 : Math.floor(Math.max(0, requests - 1) / rules.quota);
  const earliest = Math.max(firstFinal, lane.now + windows * rules.window);
  const waitsForOperator = own.unknown > 0 && rules.resolveAfter === 0;
  const reason =
    eta?.reason ??
    (waitsForOperator ? 'requests with an unknown outcome wait until you settle them' : null) ??
    (own.awaiting + own.sending > 0 ? lane.obstacle : null);
  const lastSent = Math.max(
    eta?.latest ?? Math.min(lane.now, lane.lastSendAt),
    own.sending > 0 ? lane.now + rules.timeout : 0,
    own.unknown > 0 ? lane.now + rules.resolveAfter + rules.window : 0,
  );
  const latest = Math.max(lane.now, lastSent + rules.deadline) + rules.window;
  return { earliest, latest: reason === null ? latest : null, reason };
}
