import type { LaneOutlook, OutlookCampaign } from './lane-outlook.js';
import { type PollRules, pollQueue } from './poll-queue.js';
import { sendOrder } from './send-order.js';
import { nextOpening } from './window.js';

/** The rules of a lane that decide how fast it sends. Durations are in ms. */
export interface SendRules extends PollRules {
  readonly smooth: boolean;
  readonly inFlight: number;
  readonly timeout: number;
  /** The rule of the lane's window. */
  readonly sendWindow?: string | undefined;
}

/** When a campaign's last message is sent, or its messages lapse, and how many requests are not sent until then. */
export interface FutureSends {
  readonly at: number;
  readonly unsent: number;
}

/** Permits that return together. */
interface Permits {
  readonly at: number;
  readonly sends: number;
  readonly polls: number;
}

/** The permits of a window are used in so many groups, or few more. */
const GROUPS = 32;
/** Of an hourly quota, some forty days. */
const MAX_STEPS = 30_000;
/** The part of a campaign's requests by which its place in the order may be wrong. */
const PART_UNSURE = 0.02;
/** Less than this part of a request is none. */
const LEAST = 1e-3;
const NEVER = Number.POSITIVE_INFINITY;
const ALWAYS = { from: 0, until: NEVER };

/**
 * When a lane has sent the last message of a campaign, at the earliest or at the latest: the requests that go before it ÷ what the
 * windows return, over open hours. A permit returns one window after its use; the polls that are due get their share.
 * Null: the windows never open, or it is too far away. Pure.
 */
export function futureSends(
  lane: LaneOutlook,
  rules: SendRules,
  own: OutlookCampaign,
  bound: 'earliest' | 'latest',
): FutureSends | null {
  const isLate = bound === 'latest';
  const { window } = rules;
  const { now, quota, bucketMs } = lane;
  const latency = lane.latency > 0 ? lane.latency : Math.min(200, rules.timeout);
  const pace = Math.max((latency / rules.inFlight) * (isLate ? 2 : 0.7), rules.smooth ? window / quota : 0);
  // How long a permit is in use before it counts for a window, and how long it takes to notice that it has returned.
  const [answered, lag] = isLate
    ? [1.5 * latency, bucketMs + Math.min(1_000, window / 50)]
    : [latency / 2, 0];
  const returnOf = (at: number): number =>
    (Math.floor((at + answered) / bucketMs) + 1) * bucketMs + window + lag;
  const returning = returningTo(lane, isLate, returnOf(isLate ? now + rules.timeout : now), lag);
  const polls = pollQueue(lane, rules, isLate);
  // So many requests more, or less, may be before the last one. They matter where they need another window.
  const isShared = [...lane.campaigns, ...lane.scheduled].some(({ id }) => id !== own.id);
  const unsure = Math.floor(PART_UNSURE * own.requests) + (isShared ? 1 : isLate ? 0 : 0.5);
  // What is in flight at once is sent before a poll is due.
  const most = Math.max(quota / GROUPS, isLate ? 1 : rules.inFlight);
  const order = sendOrder(lane, own, isLate ? unsure : -unsure);
  const lapseAt = own.lapseAt > 0 ? own.lapseAt : NEVER;
  let [at, next] = [Math.max(now, lane.opensAt), 0];
  let sends = returning.reduce((sum, permits) => sum + permits.sends, 0);
  let polled = returning.reduce((sum, permits) => sum + permits.polls, 0);

  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    if (at >= lapseAt) return { at: Math.max(now, lapseAt), unsent: Math.min(own.requests, order.left()) };
    if (at >= order.changesAt()) {
      order.update(at);
      if (order.left() < LEAST) return { at, unsent: 0 };
    }
    for (let first = returning[next]; first !== undefined && first.at <= at; first = returning[next]) {
      [sends, polled, next] = [sends - first.sends, polled - first.polls, next + 1];
    }
    const opening = rules.sendWindow === undefined ? ALWAYS : nextOpening(rules.sendWindow, at);
    if (opening === null) return null;
    const waiting = order.waiting();
    // Until when nothing can be sent. Long before, polls may use every permit.
    const resumesAt = waiting < LEAST ? order.changesAt() : opening.from;
    const isReserved = waiting >= LEAST && resumesAt <= at + window;
    const share = isReserved ? polls.shareOf(quota, at) : quota;
    const unused = quota - sends - polled;
    // A permit that polls return goes to a poll. If fewer polls are due than their share, a send may be faster.
    const due = polls.dueBy(at + window);
    const kept = Math.max(0, isLate ? Math.min(share - polled, due) : Math.min(share, due) - polled);
    const free = resumesAt > at ? 0 : Math.min(unused - kept, waiting);
    const until = Math.min(opening.until, order.changesAt(), lapseAt);
    const take = Math.max(0, Math.min(free, most, (until - at) / pace));
    if (order.position() <= take + LEAST)
      return {
        at: at + Math.max(0, order.position() - (isLate ? 0 : 1)) * pace + (isLate ? answered : 0),
        unsent: 0,
      };
    const polling = Math.max(0, Math.min(kept, unused));
    if (take + polling > LEAST) {
      returning.push({ at: returnOf(at), sends: take, polls: polling });
      [sends, polled] = [sends + take, polled + polling];
      order.send(take);
      polls.add(at + latency, take);
      polls.take(polling, at + window);
    }
    at += Math.max(1, take * pace);
    const nextAt = returning[next]?.at ?? NEVER;
    if (resumesAt > at) at = Math.min(resumesAt, Math.max(at, nextAt));
    else if (free - take < LEAST) at = Math.max(at, nextAt);
    at = Math.min(at, lapseAt);
    if (at === NEVER) return null;
  }
  return null;
}

/** The permits in use, in the order in which they return. Those in flight are answered by `answeredAt` minus a window. */
function returningTo(lane: LaneOutlook, isLate: boolean, answeredAt: number, lag: number): Permits[] {
  const { returning, inFlightSends, inFlightPolls, deducted, deductedUntil } = lane;
  const permits: Permits[] = [{ at: answeredAt, sends: inFlightSends, polls: inFlightPolls }];
  for (let place = 0; place + 3 < returning.length; place += 4) {
    const [from = 0, until = 0, sends = 0, polls = 0] = returning.slice(place, place + 4);
    permits.push({ at: Math.min(isLate ? until + lag : from, answeredAt), sends, polls });
  }
  if (isLate && deducted > 0) permits.push({ at: deductedUntil + lag, sends: deducted, polls: 0 });
  return permits.sort((one, other) => one.at - other.at);
}
