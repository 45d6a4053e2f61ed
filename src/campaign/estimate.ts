import {
  type Assumptions,
  type ForecastRules,
  forecast,
  type LaneState,
  type OrderEvent,
} from './forecast.js';
import { learnedWithin, nextPermitAt } from './lane-limit.js';
import { paceOf } from './lane-pace.js';
import type { TimeRange } from './measures.js';
import { requestsLeft } from './request-count.js';
import { type QueuedCampaign, type SendOrder, sendOrder } from './send-order.js';
import { nextCommonOpening, nextOpening } from './window.js';

/**
 * Polls per send request until all its recipients are final, if the lane has no figure of its own yet: most phones are
 * reached before the first poll, 15 s after sending by default; every second request is polled once more.
 */
export const USUAL_POLLS_PER_REQUEST = 1.5;

/** The same on a lane that receives notifications: only requests whose notifications were lost are polled, at most one in ten. */
export const NOTIFIED_POLLS_PER_REQUEST = 0.1;

/** A campaign of a lane that still has something to send. */
export interface OutlookCampaign {
  readonly id: string;
  /** Its virtual start, if it runs; when it is launched, if it is scheduled. */
  readonly score: number;
  readonly weight: number;
  /** Recipients per request. */
  readonly batch: number;
  readonly slice: number;
  readonly cursor: number;
  readonly ordinals: number;
  /** Ranges to be sent again. `again`: whole, under their correlator, or not; `size`: in batches of so many recipients. */
  readonly released: readonly {
    readonly first: number;
    readonly count: number;
    readonly again?: string | undefined;
    readonly size?: number | undefined;
  }[];
  /** When its unsent recipients lapse, 0: never; and before when nothing of it is claimed. */
  readonly lapseAt: number;
  readonly notBefore: number;
  /** The rule of its window. */
  readonly window?: string | undefined;
}

/** What decides when a lane sends the rest of its campaigns. Times are in ms. */
export interface LaneOutlook extends LaneState {
  /** Whether the quota is configured, or learned and proven; otherwise it may turn out to be smaller. */
  readonly isProven: boolean;
  /** Of a learned quota: what a window certainly admits. */
  readonly certain: number;
  readonly latency: number;
  readonly virtualTime: number;
  readonly stopped: string;
  readonly held: string;
  /** Whether the lane backs off because the service does not respond. */
  readonly isUnreachable: boolean;
  /** Why the lane has no token; empty if it has one. */
  readonly noToken: string;
  /** Whether notifications arrive. */
  readonly isHeard: boolean;
  /** The running campaigns that are served first, and how many more there are. */
  readonly campaigns: readonly OutlookCampaign[];
  readonly unlisted: number;
  /** Those that are launched first. */
  readonly scheduled: readonly OutlookCampaign[];
}

/** The rules of a lane that an estimate needs. Durations are in ms. */
export interface EstimateRules extends ForecastRules {
  readonly quota: number;
  readonly timeout: number;
  readonly maxRecipients: number;
  readonly firstPoll: number;
  readonly notify?: true;
  readonly resolveAfter: number;
}

/** The campaign whose end is estimated. */
export interface EstimatedCampaign {
  readonly id: string;
  /** Requests still to send, if the outlook does not list the campaign. */
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
  /** The rules of its window and that of its lane. */
  readonly windows: readonly string[];
}

/** When the last message is sent, and when the last recipient becomes final. Null: nothing is left to wait for. */
export interface Estimate {
  readonly eta: TimeRange | null;
  readonly completion: TimeRange | null;
}

/**
 * Estimates the end of a campaign from what its lane may still do: the permits that return, the polls' share, the other campaigns, and
 * pauses. Assumes that no operator intervenes and that the service responds. Pure.
 */
export function estimate(lane: LaneOutlook, rules: EstimateRules, campaign: EstimatedCampaign): Estimate {
  const listed = lane.campaigns.find(({ id }) => id === campaign.id);
  // The virtual start and the requests must be of one moment.
  const current = listed === undefined ? campaign : { ...campaign, requests: requestsLeft(listed) };
  const sent = estimateSent(lane, rules, current);
  // As long as nothing is known about the quota, only the speed of the connection bounds the time from below, which is far too early.
  const isGuess = sent !== null && sent.latest === null && lane.quota === 0;
  const eta = isGuess ? { ...sent, earliest: openFrom(lane, rules, current) } : sent;
  return { eta: eta === null ? null : range(eta), completion: estimateFinal(lane, rules, current, eta) };
}

/** How many requests of a campaign are sent by a time. */
interface InTime {
  readonly atLeast: number;
  readonly atMost: number;
  /** Why `atLeast` is 0 although some of them may be sent; null otherwise. */
  readonly reason: string | null;
}

/** Requests per window that a service permits at least, as long as nothing is known about its quota. */
const MODEST_QUOTA = 100;

/**
 * Estimates how many of the campaign's requests are sent until it lapses, by the assumptions of {@link estimate}; while nothing is known
 * about the quota, at least as many as with a modest one. Pure.
 */
export function requestsInTime(lane: LaneOutlook, rules: EstimateRules, campaign: EstimatedCampaign): InTime {
  const { lapseAt } = campaign;
  const known = lane.quota > 0 ? lane : { ...lane, isProven: true, quota: MODEST_QUOTA };
  const sent = (requests: number, of: LaneOutlook) =>
    estimateSent(of, rules, { ...campaign, requests, lapseAt: 0 });
  const whole = sent(campaign.requests, lane);
  if (whole === null) return { atLeast: 0, atMost: 0, reason: null };
  const most = (bound: 'earliest' | 'latest'): number =>
    lastThat(
      campaign.requests,
      (requests) =>
        (sent(requests, bound === 'latest' ? known : lane)?.[bound] ?? Number.POSITIVE_INFINITY) <= lapseAt,
    );
  return { atLeast: most('latest'), atMost: most('earliest'), reason: whole.reason };
}

/** The last of 1 to `count` for which `holds` is true, 0 if it is for none. It is true for all that are smaller. */
function lastThat(count: number, holds: (candidate: number) => boolean): number {
  if (count === 0 || holds(count)) return count;
  let [below, above] = [0, count];
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (holds(middle)) below = middle;
    else above = middle;
  }
  return below;
}

/** A range in ms. `latest` is null, with a reason, if nothing bounds it. */
interface Range {
  readonly earliest: number;
  readonly latest: number | null;
  readonly reason: string | null;
}

const iso = (ms: number): string => new Date(ms).toISOString();

function range({ earliest, latest, reason }: Range): TimeRange {
  const [from, to] = [Math.floor(earliest), latest === null ? null : Math.ceil(Math.max(earliest, latest))];
  return { earliest: iso(from), latest: to === null ? null : iso(to), reason: to === null ? reason : null };
}

function estimateSent(lane: LaneOutlook, rules: EstimateRules, own: EstimatedCampaign): Range | null {
  if (own.requests === 0) return null;
  const lapsing = (at: number): number =>
    own.lapseAt > 0 ? Math.min(at, Math.max(lane.now, own.lapseAt)) : at;
  const start = startOf(lane, own);
  const inWindow = openHours(lane, rules, own, start);
  const early = inWindow(forecastOf(lane, rules, own, 'early') ?? start, 'early');
  if (early === null)
    return {
      earliest: lapsing(start),
      latest: null,
      reason: 'its window and that of its lane are never open',
    };
  const earliest = Math.max(early.at, nextPermitAt(lane, rules.window));
  const reason = own.obstacle ?? closed(lane) ?? unbounded(lane, own);
  if (reason !== null) return { earliest: lapsing(earliest), latest: null, reason };
  const forecasted = lane.quota > 0 ? forecastOf(lane, rules, own, 'late') : null;
  const late = forecasted === null ? null : inWindow(forecasted, 'late');
  if (late === null) return { earliest: lapsing(earliest), latest: null, reason: 'too far away' };
  // On an overloaded machine, delays vary so much that the range would say little. Rounding may add 2 ms.
  const widest = Math.max(rules.window / 2, (earliest - lane.now) / 4) - 2;
  const isSure = !late.isInterrupted && rules.quota > 0;
  const latest = isSure ? Math.min(late.at, earliest + widest) : late.at;
  return { earliest: lapsing(earliest), latest: lapsing(latest), reason };
}

/**
 * Moves a time that a forecast without windows has found into their openings, so that as much time passes in them as the forecast
 * says; null if they do not open. While they are closed, permits return, so that at the earliest, up to one quota window of sending is saved.
 */
function openHours(lane: LaneOutlook, rules: EstimateRules, { windows }: EstimatedCampaign, start: number) {
  return (at: number, bound: 'early' | 'late'): { at: number; isInterrupted: boolean } | null => {
    if (windows.length === 0) return { at, isInterrupted: false };
    let left = Math.max(0, at - start);
    let now = Math.max(start, lane.now);
    for (let openings = 0; openings < MOST_OPENINGS; openings += 1) {
      const opening = nextCommonOpening(windows, now);
      if (opening === null) return null;
      const from = Math.max(now, opening.from);
      if (from > now && bound === 'early') left -= Math.min(left, from - now, rules.window);
      if (from + left < opening.until)
        return { at: from + left, isInterrupted: openings > 0 || from > Math.max(start, lane.now) };
      left -= opening.until - from;
      now = opening.until;
    }
    return null;
  };
}

/** Openings that an estimate passes through at most. */
const MOST_OPENINGS = 1_000;

/** When the campaign may send for the first time, by its start and its windows. */
function openFrom(lane: LaneOutlook, rules: EstimateRules, own: EstimatedCampaign): number {
  const start = startOf(lane, own);
  const opens = openHours(lane, rules, own, start)(start, 'early')?.at ?? start;
  return own.lapseAt > 0 ? Math.min(opens, Math.max(lane.now, own.lapseAt)) : opens;
}

/** Before, the campaign sends nothing. */
function startOf(lane: LaneOutlook, own: EstimatedCampaign): number {
  const isListed = lane.campaigns.some(({ id }) => id === own.id);
  return Math.max(lane.now, lane.opensAt, isListed ? 0 : own.launchAt);
}

/** Why the lane starts no requests for a time that nothing bounds. */
function closed({ stopped, held, noToken, isUnreachable }: LaneOutlook): string | null {
  if (stopped !== '') return 'the lane is stopped until you resume it';
  if (held !== '') return 'the lane is held until you resume it';
  if (noToken !== '') return 'the lane waits for an access token';
  return isUnreachable ? 'the service does not respond' : null;
}

/** Why nothing bounds the time of the last message on an open lane. */
function unbounded(lane: LaneOutlook, own: EstimatedCampaign): string | null {
  if (lane.quota === 0) return 'the quota is still being learned';
  const last = lane.campaigns.at(-1);
  if (lane.unlisted === 0 || last === undefined) return null;
  const listed = lane.campaigns.find(({ id }) => id === own.id);
  const end = listed === undefined ? Number.POSITIVE_INFINITY : listed.score + own.requests / own.weight;
  return end <= last.score ? null : `${lane.unlisted} more campaigns wait in the lane`;
}

/** On a lane with notifications, the part of the requests that is polled anyway. */
const POLLED_DESPITE_NOTIFICATIONS = 0.05;
/** The part of the polls that is followed by another: a lane moves its first polls to where four in five requests are final. */
const REPEATED = 0.2;
/** While a learned quota is not proven, the lane backs off after a 429 for this part of a window (UNPROVEN_BACKOFF in lane/policy.lua). */
const UNPROVEN_BACKOFF = 0.2;

function forecastOf(
  lane: LaneOutlook,
  rules: EstimateRules,
  own: EstimatedCampaign,
  bound: 'early' | 'late',
): number | null {
  const { window } = rules;
  const latency = Math.max(1, lane.latency > 0 ? lane.latency : Math.min(200, rules.timeout));
  const { perRequest, spread } = paceOf(lane, rules, latency);
  const isEarly = bound === 'early';
  const assumed: Assumptions = {
    // The first requests of a process take longer than later ones.
    latency: latency * (isEarly ? 0.2 : 1.2),
    perRequest: perRequest * (isEarly ? 1 - spread : 1 + spread),
    // A worker takes a while to notice that a permit has returned.
    lag: isEarly ? 0 : Math.min(2_000, window / 10),
    polled: lane.isHeard ? POLLED_DESPITE_NOTIFICATIONS : 1,
    repeated: REPEATED,
  };
  const order = sendOrder(own.id, lane.virtualTime, runningOf(lane).queued);
  const events: OrderEvent[] = [];
  const start = putInOrder(lane, own, order, events, isEarly);
  // Without a quota, only the requests in flight limit a lane.
  if (lane.quota === 0) {
    return start + (order.lastPosition(0) ?? own.requests) * assumed.perRequest;
  }
  const unpolled = lane.unpolled.map((count) => overdueAndPart(count, lane.unpolled[0] ?? 0, assumed.polled));
  const quota = rules.quota > 0 ? lane.quota : learnedWithin(lane, isEarly);
  const sentAt = forecast({ ...lane, quota, unpolled }, rules, order, events, assumed);
  if (sentAt === null) return null;
  const pad = window / 100 + Math.min(1_000, window / 20);
  if (isEarly) return Math.max(start, sentAt - pad);
  // The last permits of a learned quota are used one at a time.
  const learning = rules.quota > 0 ? 0 : 4 * pad + (lane.isProven ? 0 : UNPROVEN_BACKOFF * window);
  return sentAt + assumed.latency + learning + pad;
}

/** Of requests that are due for a first poll, those that notifications will not settle before: the overdue ones, and a part of the others. */
function overdueAndPart(count: number, overdue: number, part: number): number {
  return overdue + Math.ceil((count - overdue) * part);
}

/** Puts the campaigns of a lane in order, and lists what will change it. Returns the earliest time of the own campaign's next request. */
function putInOrder(
  lane: LaneOutlook,
  own: EstimatedCampaign,
  order: SendOrder,
  events: OrderEvent[],
  isEarly: boolean,
): number {
  const { byId, queued, changing } = runningOf(lane);
  const listed = byId.get(own.id);
  const start = listed && Math.max(lane.now, lane.opensAt, listed.notBefore);
  const joining = ({ id, weight, score, ...campaign }: OutlookCampaign, sent: number): void => {
    const requests = id === own.id ? own.requests : requestsLeft(campaign);
    order.join({ id, weight, requests }, sent, score);
  };
  if (listed !== undefined && (queued.get(own.id)?.requests ?? own.requests) !== own.requests)
    joining(listed, 0);
  for (const campaign of changing) {
    const { id, notBefore, lapseAt } = campaign;
    if (notBefore > lane.now) events.push({ at: notBefore, apply: (sent) => joining(campaign, sent) });
    if (id === own.id) continue;
    const closesAt = isEarly && campaign.window !== undefined ? closing(campaign.window, lane.now) : 0;
    const ends = [lapseAt, closesAt].filter((end) => end > 0);
    if (ends.length > 0) events.push({ at: Math.min(...ends), apply: (sent) => order.lapse(id, sent) });
  }
  for (const campaign of lane.scheduled) {
    const { id, weight, score } = campaign;
    const requests = requestsLeft(campaign);
    if (id !== own.id)
      events.push({ at: score, apply: (sent) => order.join({ id, weight, requests }, sent) });
  }
  if (start !== undefined) return start;
  const { id, weight, requests } = own;
  const at = Math.max(lane.now, own.launchAt);
  events.push({ at, apply: (sent) => order.join({ id, weight, requests }, sent) });
  return Math.max(at, lane.opensAt);
}

/** The listed campaigns of a lane, as far as it does not matter whose end is estimated. */
interface Running {
  readonly byId: ReadonlyMap<string, OutlookCampaign>;
  /** Those that send now. */
  readonly queued: ReadonlyMap<string, QueuedCampaign>;
  /** Those that join or leave at a time. */
  readonly changing: readonly OutlookCampaign[];
}

/** All campaigns of a page are estimated by the outlook of their lane: without this, each would go through all others to order them. */
const runningOfLanes = new WeakMap<LaneOutlook, Running>();

function runningOf(lane: LaneOutlook): Running {
  const known = runningOfLanes.get(lane);
  if (known !== undefined) return known;
  const { campaigns, now } = lane;
  const sending = campaigns.filter(({ notBefore }) => notBefore <= now);
  const running: Running = {
    byId: new Map(campaigns.map((campaign) => [campaign.id, campaign])),
    queued: new Map(
      sending.map((campaign) => {
        const { id, weight, score } = campaign;
        return [id, { id, weight, virtual: score, requests: requestsLeft(campaign) }];
      }),
    ),
    changing: campaigns.filter(
      ({ notBefore, lapseAt, window }) => notBefore > now || lapseAt > 0 || window !== undefined,
    ),
  };
  runningOfLanes.set(lane, running);
  return running;
}

/** When a campaign with this window leaves the order, at the earliest. */
function closing(window: string, now: number): number {
  const opening = nextOpening(window, now);
  return opening !== null && opening.from <= now ? opening.until : now;
}

/**
 * When the last recipient becomes final. Without notifications, each open request takes a poll. After the deadline, the next poll that is
 * answered ends it; it waits for its permit at most one window.
 */
function estimateFinal(
  lane: LaneOutlook,
  rules: EstimateRules,
  own: EstimatedCampaign,
  eta: Range | null,
): TimeRange | null {
  const open = own.requests + own.sending + own.awaiting;
  if (open + own.unknown === 0) return null;
  const firstFinal = eta === null ? lane.now : eta.earliest + (rules.notify ? 0 : rules.firstPoll);
  // No window has more requests than the quota: a send and a poll for each message, and a poll for each open request. Messages that may
  // lapse may need neither.
  const mayLapse = own.lapseAt > 0 && (eta === null || eta.latest === null || eta.latest >= own.lapseAt);
  const toSend = mayLapse ? 0 : own.requests;
  const requests = rules.notify ? 0 : 2 * toSend + own.sending + own.awaiting;
  const windows = rules.quota === 0 ? 0 : Math.floor(Math.max(0, requests - 1) / rules.quota);
  const earliest = Math.max(firstFinal, lane.now + windows * rules.window);
  const waitsForOperator = own.unknown > 0 && rules.resolveAfter === 0;
  const reason =
    eta?.reason ??
    (waitsForOperator ? 'requests with an unknown outcome wait for `resolve`' : null) ??
    (own.awaiting + own.sending > 0 ? closed(lane) : null);
  if (reason !== null) return range({ earliest, latest: null, reason });
  const lastSent = Math.max(
    eta?.latest ?? Math.min(lane.now, lane.lastSendAt),
    own.sending > 0 ? lane.now + rules.timeout : 0,
    own.unknown > 0 ? lane.now + rules.resolveAfter + rules.window : 0,
  );
  const latest = Math.max(lane.now, lastSent + rules.deadline) + rules.window;
  return range({ earliest, latest, reason });
}
