import type { LaneOutlook, OutlookCampaign } from './lane-outlook.js';
import { isOfRecipients, nextCommonOpening } from './window.js';

/** A campaign in the order: its next request is served at `score`, later ones 1 / weight apart. Without a score, it has no place yet. */
type Queued = { score: number | undefined; requests: number } & Omit<OutlookCampaign, 'score' | 'requests'>;

/** Scores are sums of quarters, so they differ by at least this much. */
const TIE = 1e-6;
const MAX_HALVES = 60;
/** The part of a campaign's requests by which its place in the order may be wrong. */
const PART_UNSURE = 0.02;
const NEVER = Number.POSITIVE_INFINITY;

/** How many requests of a campaign are served before a virtual time. A part of one is counted as a part. */
const servedBefore = ({ score = 0, requests, weight }: Queued, level: number): number =>
  Math.min(requests, Math.max(0, (level - score) * weight));

/**
 * The order in which a lane sends the requests of its campaigns (claim/order.lua), without listing them: how many are sent before the
 * last one of a campaign follows from the scores. Campaigns join when they are launched, lapse, and leave while their windows are closed. One whose
 * recipients have windows of their own is always there at the latest, and never at the earliest.
 */
export function fairOrder(
  { campaigns, scheduled, ...lane }: LaneOutlook,
  own: OutlookCampaign,
  isLate: boolean,
) {
  const isOther = ({ id }: OutlookCampaign): boolean => id !== own.id;
  const listed = campaigns.find((one) => !isOther(one));
  // The lane lists it whole, also where one zone or time of its recipients is asked about.
  const notBefore = Math.max(own.notBefore, listed?.notBefore ?? 0);
  const part = isOfRecipients(listed?.window)
    ? { requests: own.requests, window: own.window, notBefore }
    : {};
  const asked: Queued = listed === undefined ? { ...own, score: undefined } : { ...listed, ...part };
  const others: Queued[] = [
    ...campaigns.filter(isOther).map((one) => ({ ...one })),
    ...scheduled.filter(isOther).map((one) => ({ ...one, notBefore: one.score, score: undefined })),
  ].map((one) => (isLate && isOfRecipients(one.window) ? { ...one, window: undefined } : one));
  // So many more, or fewer, requests may be sent before its last one.
  const unsure = Math.floor(PART_UNSURE * own.requests) + (others.length > 0 ? 1 : isLate ? 0 : 0.5);
  let [level, sent, waiting, last, changesAt] = [lane.virtualTime, 0, 0, NEVER, 0];
  let queued: Queued[] = [];
  const total = (of: (one: Queued) => number): number => queued.reduce((sum, one) => sum + of(one), 0);

  /** The virtual time before which the requests are that were sent. */
  const reached = (): number => {
    let low = Math.min(...queued.map(({ score = 0 }) => score));
    let high = Math.max(...queued.map(({ score = 0, requests, weight }) => score + requests / weight));
    for (let halves = 0; halves < MAX_HALVES && high - low > TIE; halves += 1) {
      const middle = (low + high) / 2;
      if (total((one) => servedBefore(one, middle)) < sent) low = middle;
      else high = middle;
    }
    return high;
  };

  return {
    /** Requests that wait; those before the own campaign's last and itself; and when one of these numbers changes by itself. */
    waiting: () => waiting - sent + (isLate && last < NEVER ? unsure : 0),
    position: () => last - sent + (isLate ? unsure : -unsure),
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
        [one.requests, one.score] = [one.requests - served, (one.score ?? 0) + served / one.weight];
      }
      if (queued.length > 0) level = Math.max(level, end);
      // The lane counts from the start of a request, which is up to one request of a campaign before.
      const step = Math.max(0, ...queued.map(({ weight }) => 1 / weight));
      [sent, changesAt] = [0, NEVER];
      queued = [asked, ...others].filter((one) => {
        const { isIn, until } = presenceOf(one, at);
        changesAt = Math.min(changesAt, until);
        const isAhead = (one !== asked) === isLate;
        if (isIn) one.score ??= Math.max(0, level - lane.headStart - (isAhead ? step : 0));
        else if (at >= one.notBefore) one.score = undefined;
        return isIn;
      });
      waiting = total(({ requests }) => requests);
      const lastScore = (asked.score ?? 0) + (asked.requests - 1) / own.weight;
      const before = total((one) => {
        if (one === asked || (one.score ?? 0) > lastScore + TIE) return 0;
        const served = servedBefore(one, lastScore);
        return isLate ? Math.min(one.requests, Math.floor(served + TIE) + 1) : served;
      });
      last = queued.includes(asked) ? before + asked.requests : NEVER;
    },
  };
}

/** Whether a campaign is in the order, and until when that stays so. */
function presenceOf({ lapseAt, notBefore, window }: Queued, at: number): { isIn: boolean; until: number } {
  const lapses = lapseAt > 0 ? lapseAt : NEVER;
  if (at < notBefore && at < lapses) return { isIn: false, until: notBefore };
  const opening = at < lapses ? nextCommonOpening([window], at) : null;
  if (opening === null) return { isIn: false, until: NEVER };
  const isIn = opening.from <= at;
  return { isIn, until: isIn ? Math.min(lapses, opening.until) : opening.from };
}
