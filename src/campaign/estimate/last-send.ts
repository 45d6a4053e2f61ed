import { fairOrder } from './fair-order.js';
import type { EstimateRules, LaneOutlook, OutlookCampaign } from './lane-outlook.js';
import { nextCommonOpening } from './window.js';

/** When a campaign's last message is sent, or its messages lapse, and how many requests are not sent until then. */
export interface LastSend {
  readonly at: number;
  readonly unsent: number;
}

/** The permits of a window are used in so many groups, or few more. */
const GROUPS = 32;
/** Of an hourly quota, some forty days. */
const MAX_STEPS = 30_000;
/** On a lane with notifications, the part of the requests that is polled, at most: those whose notifications are lost. */
const POLLED_DESPITE_NOTIFICATIONS = 0.1;
/** The part of the polls that is followed by another, at most: a lane moves its first polls to where four in five requests are final. */
const REPEATED = 0.2;
/** Less than this part of a request is none. */
const LEAST = 1e-3;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * When a lane has sent the last message of a campaign, at the earliest or at the latest: the requests before it ÷ what the windows
 * return, over open hours. A permit returns one window after its use, and polls get their share of the permits as long as they are due.
 * Null: the windows never open, or it is too far away. Pure.
 */
export function lastSend(
  lane: LaneOutlook,
  rules: EstimateRules,
  own: OutlookCampaign,
  isLate: boolean,
): LastSend | null {
  const { window } = rules;
  const { now, limit, bucketMs } = lane;
  const latency = lane.latency > 0 ? lane.latency : Math.min(200, rules.timeout);
  const pace = Math.max((latency / rules.inFlight) * (isLate ? 2 : 0.7), rules.smooth ? window / limit : 0);
  // How long a permit is in use before it counts for a window, and how long it takes to notice that it has returned.
  const [answered, lag] = isLate
    ? [1.5 * latency, bucketMs + Math.min(1_000, window / 50)]
    : [latency / 2, 0];
  // What is in flight at once is sent before a poll is due.
  const most = Math.max(limit / GROUPS, isLate ? 1 : rules.inFlight);
  const order = fairOrder(lane, own, isLate);
  const lapseAt = own.lapseAt > 0 ? own.lapseAt : NEVER;

  const permits = groups(lane.returning, 4)
    .map(([from = 0, until = 0, sends = 0, polls = 0]) => ({ at: isLate ? until + lag : from, sends, polls }))
    .sort((one, other) => one.at - other.at);
  let sends = permits.reduce((sum, group) => sum + group.sends, 0);
  let polls = permits.reduce((sum, group) => sum + group.polls, 0);
  // The first polls, by when they are due: `upTo` of them until then. `polled` are over.
  const heard = lane.isHeard ? (isLate ? POLLED_DESPITE_NOTIFICATIONS : 0) : 1;
  const dues: { readonly at: number; readonly upTo: number }[] = [];
  const addDue = (at: number, count: number): void => {
    dues.push({ at, upTo: (dues.at(-1)?.upTo ?? 0) + count });
  };
  if (isLate) addDue(now, lane.repolled);
  for (const [from = 0, until = 0, count = 0] of groups(lane.due, 3))
    addDue(isLate ? from : until, until <= now ? count : count * heard);
  let [at, polled, returned, known, oldest] = [Math.max(now, lane.opensAt), 0, 0, 0, 0];

  for (let steps = 0; steps < MAX_STEPS && at < NEVER; steps += 1) {
    if (at >= lapseAt) return { at: Math.max(now, lapseAt), unsent: Math.min(own.requests, order.left()) };
    if (at >= order.changesAt()) {
      order.update(at);
      if (order.left() < LEAST) return { at, unsent: 0 };
    }
    for (let group = permits[returned]; group !== undefined && group.at <= at; group = permits[returned])
      [sends, polls, returned] = [sends - group.sends, polls - group.polls, returned + 1];
    while ((dues[known]?.at ?? NEVER) <= at + window) known += 1;
    while ((dues[oldest]?.upTo ?? NEVER) <= polled) oldest += 1;

    const opening = nextCommonOpening([rules.sendWindow], at);
    if (opening === null) return null;
    // Until when nothing can be sent. Long before, polls may use every permit.
    const resumesAt = order.waiting() < LEAST ? order.changesAt() : opening.from;
    const isKept = order.waiting() >= LEAST && resumesAt <= at + window;
    // As many polls as keep each request's deadline, within the lane's limits for them. At the latest, one more than that.
    const timeLeft = Math.max(window, (dues[oldest]?.at ?? at) + rules.deadline - rules.firstPoll - at);
    const needed = ((((dues.at(-1)?.upTo ?? 0) - polled) * window) / timeLeft) * (isLate ? 1.15 : 0.85);
    const share = isKept
      ? Math.min(lane.pollsAtMost, Math.max(lane.pollsAtLeast, Math.ceil(needed) + (isLate ? 1 : 0)))
      : limit;
    // A permit that polls return goes to a poll. If fewer polls are due than their share, a send may be faster.
    const due = (dues[known - 1]?.upTo ?? 0) - polled;
    const unused = limit - sends - polls;
    const kept = Math.max(0, isLate ? Math.min(share - polls, due) : Math.min(share, due) - polls);
    const free = resumesAt > at ? 0 : Math.min(unused - kept, order.waiting());
    const until = Math.min(opening.until, order.changesAt(), lapseAt);
    const take = Math.max(0, Math.min(free, most, (until - at) / pace));
    if (order.position() <= take + LEAST) {
      const wait = Math.max(0, order.position() - (isLate ? 0 : 1)) * pace;
      return { at: at + wait + (isLate ? answered : 0), unsent: 0 };
    }
    const polling = Math.max(0, Math.min(kept, unused));
    if (take + polling > LEAST) {
      const returnsAt = (Math.floor((at + answered) / bucketMs) + 1) * bucketMs + window + lag;
      permits.push({ at: returnsAt, sends: take, polls: polling });
      [sends, polls] = [sends + take, polls + polling];
      order.send(take);
      addDue(at + latency + lane.firstPoll, take * heard);
      polled += Math.min(polling * (isLate ? 1 - REPEATED : 1), due);
    }
    at += Math.max(1, take * pace);
    const nextAt = permits[returned]?.at ?? NEVER;
    if (resumesAt > at) at = Math.min(resumesAt, Math.max(at, nextAt));
    else if (free - take < LEAST) at = Math.max(at, nextAt);
    at = Math.min(at, lapseAt);
  }
  return null;
}

function groups(numbers: readonly number[], size: number): number[][] {
  return Array.from({ length: Math.floor(numbers.length / size) }, (_, place) =>
    numbers.slice(place * size, (place + 1) * size),
  );
}
