import type { TimeRange } from '../views/measures.js';
import { futureSends, type SendRules } from './future-sends.js';
import type { LaneOutlook } from './lane-outlook.js';
import { nextCommonOpening } from './window.js';

/** The rules of a lane that an estimate needs. Durations are in ms. */
export interface EstimateRules extends SendRules {
  /** 0: it is learned. */
  readonly quota: number;
  readonly notify?: true;
  readonly resolveAfter: number;
}

/** The campaign whose end is estimated. */
export interface EstimatedCampaign {
  readonly id: string;
  /** Requests still to send. */
  readonly requests: number;
  readonly weight: number;
  /** When it is launched or resumed, if it does not run yet. */
  readonly launchAt: number;
  /** When its unsent recipients lapse; 0: never. */
  readonly lapseAt: number;
  /** Requests in flight, accepted requests without a final status, and requests with an unknown outcome. */
  readonly sending: number;
  readonly awaiting: number;
  readonly unknown: number;
  /** Why it does not continue by itself; null if it does. */
  readonly obstacle: string | null;
  /** The rule of its window. */
  readonly window?: string | undefined;
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

/** Requests per window that a service permits at least, as long as nothing is known about its quota. */
const MODEST_QUOTA = 100;

/**
 * Estimates the end of a campaign from what its lane may still do: the permits that return, the share of polls, the other campaigns, and
 * windows. Assumes that no operator intervenes and that the service responds. With a learned quota, it is approximate. Pure.
 */
export function estimate(lane: LaneOutlook, rules: EstimateRules, campaign: EstimatedCampaign): Estimate {
  const { requests, lapseAt } = campaign;
  if (requests === 0) {
    const completion = shown(completionOf(lane, rules, campaign, null), rules);
    return { eta: null, completion, inTime: { atLeast: 0, atMost: 0 } };
  }
  const isKnown = lane.quota > 0;
  const known = isKnown ? lane : { ...lane, quota: MODEST_QUOTA };
  const own = { ...campaign, score: 0, notBefore: campaign.launchAt };
  const isPlayed = isKnown || lapseAt > 0;
  const early = isPlayed ? futureSends(known, rules, own, 'earliest') : null;
  const late = isPlayed ? futureSends(known, rules, own, 'latest') : null;
  const opensAt = openFrom(lane, rules, campaign);
  const obstacle =
    opensAt === null ? 'its window and that of its lane are never open' : (campaign.obstacle ?? closed(lane));
  const reason = obstacle ?? unbounded(lane, campaign) ?? (late === null ? 'too far away' : null);
  const lapsing = (at: number): number => (lapseAt > 0 ? Math.min(at, Math.max(lane.now, lapseAt)) : at);
  // A learned quota goes beyond the true one and comes down again.
  const pad = rules.window * (rules.quota > 0 ? 0.01 : 0.51) + Math.min(1_000, rules.window / 20);
  const earliest = Math.max(opensAt ?? lane.now, isKnown && early !== null ? early.at - pad : 0);
  const latest = reason === null && late !== null ? lapsing(late.at + pad) : null;
  const eta = { earliest: lapsing(earliest), latest, reason };
  const isBounded = reason === null || (obstacle === null && !isKnown);
  return {
    eta: shown(eta, rules),
    completion: shown(completionOf(lane, rules, campaign, eta), rules),
    inTime: {
      atLeast: isBounded && late !== null ? requests - Math.ceil(late.unsent) : 0,
      atMost:
        isKnown && early !== null
          ? requests - Math.floor(early.unsent)
          : opensAt !== null && lapseAt > opensAt
            ? requests
            : 0,
    },
  };
}

/** A range as it is shown, if there is one. */
function shown(range: Range | null, { quota }: EstimateRules): TimeRange | null {
  if (range === null) return null;
  const { earliest, latest, reason } = range;
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    earliest: iso(Math.floor(earliest)),
    latest: latest === null ? null : iso(Math.ceil(Math.max(earliest, latest))),
    isApproximate: quota === 0,
    reason,
  };
}

/** When the campaign may send for the first time, by its start and the windows; null: never. */
function openFrom(
  lane: LaneOutlook,
  rules: EstimateRules,
  { id, launchAt, window }: EstimatedCampaign,
): number | null {
  const isListed = lane.campaigns.some((campaign) => campaign.id === id);
  const start = Math.max(lane.now, lane.opensAt, isListed ? 0 : launchAt);
  const windows = [window, rules.sendWindow].filter((rule) => rule !== undefined);
  if (windows.length === 0) return start;
  const opening = nextCommonOpening(windows, start);
  return opening && Math.max(start, opening.from);
}

/** Why the lane starts no requests for a time that nothing bounds. */
function closed({ stopped, held, noToken, isUnreachable }: LaneOutlook): string | null {
  if (stopped !== '') return 'the lane is stopped until you resume it';
  if (held !== '') return 'the lane is held until you resume it';
  if (noToken !== '') return 'the lane waits for an access token';
  return isUnreachable ? 'the service does not respond' : null;
}

/** Why nothing bounds the time of the last message on an open lane. */
function unbounded(lane: LaneOutlook, { id, requests, weight }: EstimatedCampaign): string | null {
  if (lane.quota === 0) return 'the quota is still being learned';
  const last = lane.campaigns.at(-1);
  if (lane.unlisted === 0 || last === undefined) return null;
  const listed = lane.campaigns.find((campaign) => campaign.id === id);
  const end = listed === undefined ? Number.POSITIVE_INFINITY : listed.score + requests / weight;
  return end <= last.score ? null : `${lane.unlisted} more campaigns wait in the lane`;
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
    (waitsForOperator ? 'requests with an unknown outcome wait for `resolve`' : null) ??
    (own.awaiting + own.sending > 0 ? closed(lane) : null);
  const lastSent = Math.max(
    eta?.latest ?? Math.min(lane.now, lane.lastSendAt),
    own.sending > 0 ? lane.now + rules.timeout : 0,
    own.unknown > 0 ? lane.now + rules.resolveAfter + rules.window : 0,
  );
  const latest = Math.max(lane.now, lastSent + rules.deadline) + rules.window;
  return { earliest, latest: reason === null ? latest : null, reason };
}
