import type { LaneOutlook, OutlookCampaign } from './lane-outlook.js';
import { nextOpening } from './window.js';

/** A campaign in the fair order of its lane (claim/order.lua): its next request is served at `score`, later ones 1 / weight apart. */
interface Queued {
  readonly campaign: OutlookCampaign;
  score: number;
  requests: number;
  /** When it joins, if it is not in the order, and whether `score` is its place then. */
  readonly joinsAt: number;
  hasPlace: boolean;
}

/** Scores are sums of quarters, so they differ by at least this much. */
const TIE = 1e-6;
const MAX_HALVES = 60;
const NEVER = Number.POSITIVE_INFINITY;

/** How many requests of a campaign are served before a virtual time. A part of one is counted as a part. */
const servedBefore = ({ campaign, score, requests }: Queued, level: number): number =>
  Math.min(requests, Math.max(0, (level - score) * campaign.weight));

const sumOf = (queued: readonly Queued[], of: (one: Queued) => number): number =>
  queued.reduce((sum, one) => sum + of(one), 0);

/**
 * The order in which a lane sends the requests of its campaigns, without listing them: how many are sent before the last one of a
 * campaign follows from the scores. Campaigns join when they are launched, lapse, and leave while their windows are closed.
 * `unsure`: so many requests more (a positive number) or less are before the last one than is known.
 */
export function sendOrder(lane: LaneOutlook, own: OutlookCampaign, unsure: number) {
  const listed = lane.campaigns.find(({ id }) => id === own.id);
  const asked: Queued = {
    campaign: own,
    score: listed?.score ?? 0,
    requests: listed?.requests ?? own.requests,
    joinsAt: listed?.notBefore ?? own.notBefore,
    hasPlace: listed !== undefined,
  };
  const queue = (campaign: OutlookCampaign, joinsAt: number, hasPlace: boolean): Queued =>
    campaign.id === own.id
      ? asked
      : { campaign, score: campaign.score, requests: campaign.requests, joinsAt, hasPlace };
  const all = [
    ...lane.campaigns.map((campaign) => queue(campaign, campaign.notBefore, true)),
    ...lane.scheduled.map((campaign) => queue(campaign, campaign.score, false)),
  ];
  if (!all.includes(asked)) all.push(asked);
  let [level, sent, waiting, last, changesAt] = [lane.virtualTime, 0, 0, NEVER, 0];
  let queued: Queued[] = [];

  /** The virtual time before which the requests are that were sent. */
  const reached = (): number => {
    let low = Math.min(...queued.map(({ score }) => score));
    let high = Math.max(...queued.map(({ score, requests, campaign }) => score + requests / campaign.weight));
    if (sent <= 0) return low;
    for (let halves = 0; halves < MAX_HALVES && high - low > TIE; halves += 1) {
      const middle = (low + high) / 2;
      if (sumOf(queued, (one) => servedBefore(one, middle)) < sent) low = middle;
      else high = middle;
    }
    return high;
  };

  const order = {
    /** Requests that wait, those before the own campaign's last and itself, and when one of these numbers changes by itself. */
    waiting: () => waiting - sent + (last === NEVER ? 0 : Math.max(0, unsure)),
    position: () => last - sent + unsure,
    changesAt: () => changesAt,
    send(count: number): void {
      sent += count;
    },
    /** Requests of the own campaign that are still to be sent. */
    left: () => asked.requests - (queued.includes(asked) ? servedBefore(asked, reached()) : 0),
    /** Lets campaigns join and leave, as it is their time. */
    update(at: number): void {
      const end = reached();
      for (const one of queued) {
        const served = servedBefore(one, end);
        [one.requests, one.score] = [one.requests - served, one.score + served / one.campaign.weight];
      }
      sent = 0;
      if (queued.length > 0) level = Math.max(level, end);
      changesAt = NEVER;
      // The lane counts from the start of a request, which is up to one request of a campaign before.
      const step = Math.max(0, ...queued.map(({ campaign }) => 1 / campaign.weight));
      queued = all.filter((one) => {
        const { isIn, until } = presenceOf(one, at);
        changesAt = Math.min(changesAt, until);
        const isAhead = (one !== asked) === unsure > 0;
        if (isIn && !one.hasPlace) one.score = Math.max(0, level - lane.headStart - (isAhead ? step : 0));
        one.hasPlace = isIn || (at < one.joinsAt && one.hasPlace);
        return isIn;
      });
      waiting = sumOf(queued, ({ requests }) => requests);
      const lastScore = asked.score + (asked.requests - 1) / own.weight;
      const before = sumOf(queued, (one) => {
        if (one === asked || one.score > lastScore + TIE) return 0;
        const served = servedBefore(one, lastScore);
        return unsure < 0 ? served : Math.min(one.requests, Math.floor(served + TIE) + 1);
      });
      last = queued.includes(asked) ? before + asked.requests : NEVER;
    },
  };
  return order;
}

/** Whether a campaign is in the order, and until when that stays so. */
function presenceOf({ campaign: { lapseAt, window }, joinsAt }: Queued, at: number) {
  const lapses = lapseAt > 0 ? lapseAt : NEVER;
  if (at >= lapses) return { isIn: false, until: NEVER };
  if (at < joinsAt) return { isIn: false, until: joinsAt };
  if (window === undefined) return { isIn: true, until: lapses };
  const opening = nextOpening(window, at);
  if (opening === null) return { isIn: false, until: NEVER };
  return opening.from > at
    ? { isIn: false, until: opening.from }
    : { isIn: true, until: Math.min(lapses, opening.until) };
}
