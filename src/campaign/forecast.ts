import { limitOf } from './lane-limit.js';
import type { SendOrder } from './send-order.js';

/** The rules of a lane that a forecast needs. Durations are in ms. */
export interface ForecastRules {
  readonly window: number;
  readonly pollShare: number;
  readonly smooth: boolean;
  readonly inFlight: number;
  readonly pollAgain: number;
  readonly deadline: number;
}

/** The state of a lane that a forecast begins with. Times are in ms. */
export interface LaneState {
  readonly now: number;
  /** Requests per window, and a deduction from it that fades over one window. */
  readonly quota: number;
  readonly deducted: number;
  readonly deductedAt: number;
  /** Permits that return, earliest first: when, and those of how many sends and polls; three numbers each. */
  readonly returning: readonly number[];
  readonly inFlightSends: number;
  readonly inFlightPolls: number;
  readonly lastSendAt: number;
  readonly lastPollAt: number;
  /** Smooth pacing counts from here. */
  readonly paceAt: number;
  /** When the lane stops backing off, or is open again; in the past if it is. `isBackingOff`: a probe has to be answered then. */
  readonly opensAt: number;
  readonly isBackingOff: boolean;
  /** Requests that were never polled, and others, that are due within so many windows (`dueWithin`), and in total. */
  readonly unpolled: readonly number[];
  readonly polled: readonly number[];
  readonly dueWithin: readonly number[];
  /** When the oldest request that was never polled is due; 0 if there is none. */
  readonly oldestDue: number;
  /** The age of a request at its first poll. */
  readonly firstPoll: number;
}

/** What a forecast assumes about values that have not been measured yet. */
export interface Assumptions {
  /** ms from a claim to its settlement, and between two requests while as many as allowed are in flight. */
  readonly latency: number;
  readonly perRequest: number;
  /** ms from the return of a permit to the claim that takes it. */
  readonly lag: number;
  /** The part of the requests that is polled: 1 without notifications. */
  readonly polled: number;
  /** The part of the polls that is followed by another. */
  readonly repeated: number;
}

/** Something that changes the order of the campaigns at a time, when the lane has sent so many requests. */
export interface OrderEvent {
  readonly at: number;
  apply(sent: number): void;
}

/** The buckets of a window, as in lane/ledger.lua. */
export const BUCKETS = 384;
/** Windows that are played request by request; later ones repeat the last of them. */
const PLAYED_WINDOWS = 5;
/** More steps than this are not played. */
const MAX_STEPS = 20_000;
const MAX_CYCLES = 1_000_000;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * Plays a lane forward: permits return, sends and polls take them by the rules of lane/permits.lua, and hold them until one window
 * after their answer. Returns when the own campaign's last request is claimed; null if it is not reached. Applies `events` to `order`,
 * and is pure otherwise.
 */
export function forecast(
  lane: LaneState,
  rules: ForecastRules,
  order: SendOrder,
  events: readonly OrderEvent[],
  assumed: Assumptions,
): number | null {
  const { window, inFlight } = rules;
  const width = Math.max(1, Math.ceil(window / BUCKETS));
  const { latency, perRequest } = assumed;
  const step = width / 2;
  // Requests that one step stands for: as many as are answered meanwhile.
  const several = Math.max(inFlight, Math.ceil(step / perRequest));
  const ring = ringOf(lane.returning, assumed.lag);
  const unpolled = dueOf(lane.unpolled, lane, window);
  const polled = dueOf(lane.polled, lane, window);
  const pending = [...events].sort((one, other) => one.at - other.at);
  const history: Sent[] = [];

  let now = Math.max(lane.now, lane.opensAt) + (lane.isBackingOff ? latency : 0);
  let { lastSendAt, lastPollAt, paceAt } = lane;
  let [sent, followed, repeats, sendSlotAt, pollSlotAt] = [0, 0, 0, now, now];

  const spend = (sends: number, polls: number, at: number): void =>
    ring.add((Math.floor((at + latency) / width) + 1) * width + window + assumed.lag, sends, polls);
  const follow = (count: number, at: number): void => {
    followed += count * assumed.polled;
    const due = Math.floor(followed);
    followed -= due;
    unpolled.add(at + latency + lane.firstPoll, due);
  };
  let position = order.lastPosition(0);
  const applyEvents = (until: number): void => {
    if ((pending[0]?.at ?? NEVER) > until) return;
    for (let next = pending[0]; next !== undefined && next.at <= until; next = pending[0]) {
      pending.shift();
      next.apply(sent);
    }
    position = order.lastPosition(sent);
  };
  const limitAt = (at: number): number => limitOf(lane, window, at);
  const pollsOf = (limit: number): number => {
    const left = Math.max(window, unpolled.first() + rules.deadline - lane.firstPoll - now);
    return pollShareOf(rules, limit, (unpolled.count() * window) / left, () => {
      const isOverdue = now >= Math.max(lastSendAt, lastPollAt) + 1.5 * window;
      return lastSendAt > lastPollAt !== isOverdue;
    });
  };

  const send = (limit: number, share: number): number => {
    const waiting = order.total() - sent;
    if (waiting <= 0) return NEVER;
    if (now < sendSlotAt) return sendSlotAt;
    const due = unpolled.soon() + polled.soon();
    const free = limit - ring.sends() - ring.polls();
    let take = Math.min(free - Math.max(0, Math.min(share, due) - ring.polls()), waiting, inFlight);
    // One step stands for several turns. After the first of them, answered requests reserve the polls' share.
    if (take === inFlight && lane.firstPoll <= window && assumed.polled > 0) {
      take = Math.max(take, Math.min(free - Math.max(0, share - ring.polls()), waiting, several));
    } else if (take === inFlight) {
      take = Math.min(free - Math.max(0, Math.min(share, due) - ring.polls()), waiting, several);
    }
    let nextAt = NEVER;
    if (rules.smooth && take > 0) {
      const gap = window / limit;
      if (paceAt === 0 || paceAt < now - 2 * gap - step) paceAt = now - gap;
      take = Math.min(take, Math.floor((now - paceAt) / gap + 0.001));
      paceAt += gap * take;
      nextAt = paceAt + gap;
    }
    if (take <= 0) return nextAt;
    const last = position === undefined ? take : Math.min(take, position - sent);
    spend(last, 0, now);
    follow(last, now);
    sent += last;
    lastSendAt = now;
    history.push({ at: now + perRequest * (last - 1), sent, inUse: ring.sends() });
    sendSlotAt = now + perRequest * last;
    return Math.min(nextAt, sendSlotAt);
  };

  const poll = (limit: number, share: number): number => {
    const overdue = unpolled.overdue() + polled.overdue();
    if (overdue === 0) return NEVER;
    if (now < pollSlotAt) return pollSlotAt;
    const reserved = order.total() > sent ? Math.max(0, limit - share - ring.sends()) : 0;
    const most = Math.min(overdue, several);
    const take = Math.min(limit - ring.sends() - ring.polls() - reserved, most);
    if (take <= 0) return NEVER;
    const age = now - Math.min(unpolled.first(), polled.first()) + lane.firstPoll;
    polled.take(take - unpolled.take(take));
    repeats += take * assumed.repeated;
    const again = Math.floor(repeats);
    repeats -= again;
    polled.add(now + latency + Math.max(rules.pollAgain, age / 2), again);
    spend(0, take, now);
    lastPollAt = now;
    pollSlotAt = now + perRequest * take;
    return pollSlotAt;
  };

  spend(lane.inFlightSends, lane.inFlightPolls, lane.now);
  follow(lane.inFlightSends, lane.now);
  let playedUntil = NEVER;
  for (let steps = 0; steps < MAX_STEPS && now <= playedUntil; steps += 1) {
    applyEvents(now);
    ring.expire(now);
    unpolled.advance(now);
    polled.advance(now);
    if (position !== undefined) playedUntil = Math.min(playedUntil, now + PLAYED_WINDOWS * window);
    const limit = limitAt(now);
    const share = pollsOf(limit);
    const sendAt = send(limit, share);
    const last = history.at(-1);
    if (position !== undefined && sent >= position && last !== undefined) {
      return last.at;
    }
    const pollAt = poll(limit, share);
    const fadesAt = now < lane.deductedAt + window ? now + window / lane.deducted : NEVER;
    const turnAt = limit === 1 ? later(now, Math.max(lastSendAt, lastPollAt) + 1.5 * window) : NEVER;
    const dueAt = Math.min(unpolled.next(), polled.next());
    const next = Math.min(sendAt, pollAt, fadesAt, turnAt, dueAt, ring.next(), pending[0]?.at ?? NEVER);
    if (next === NEVER) return null;
    // Not in smaller steps than matter.
    now = Math.max(next, now + step);
  }
  const cycle = lastCycle(history, window);
  if (cycle === null) return null;
  const limit = limitAt(now);
  const share = pollsOf(limit);
  const usesQuota = cycle.sends >= 0.9 * (limit - share);
  let waiting = unpolled.count();
  for (let count = 1; count <= MAX_CYCLES; count += 1) {
    now = cycle.endsAt + count * cycle.ms;
    applyEvents(now - cycle.ms);
    // The longer the queue of requests that were never polled, the more permits it gets.
    const left = Math.max(window, rules.deadline - (waiting / cycle.sends) * cycle.ms);
    const shareNow = pollShareOf(rules, limitAt(now), (waiting * window) / left, () => share === 1);
    const more = usesQuota ? limitAt(now) - limit - (shareNow - share) : 0;
    const sends = Math.max(1, cycle.sends + more);
    if (position !== undefined && position - sent <= sends) {
      const place = Math.ceil(((position - sent) * cycle.sends) / sends);
      return cycle.timeOf(place) + count * cycle.ms;
    }
    sent += sends;
    waiting = Math.max(0, waiting + sends * assumed.polled - shareNow);
  }
  return null;
}

/** When so many requests had been sent, and how many sends of the window there were then. */
interface Sent {
  readonly at: number;
  readonly sent: number;
  readonly inUse: number;
}

/** The polls' share of the limit, as in lane/permits.lua. `isPollsTurn` decides who gets a single permit. */
function pollShareOf(
  { pollShare }: ForecastRules,
  limit: number,
  late: number,
  isPollsTurn: () => boolean,
): number {
  const share = Math.max(pollShare * limit, Math.min(late, limit / 2));
  if (limit > 1 || share === 0) return Math.min(limit - 1, Math.ceil(share));
  return isPollsTurn() ? 1 : 0;
}

/** The sends of the last window of a history, how long it took, and when each of them was made; null without any. */
function lastCycle(history: readonly Sent[], window: number) {
  const end = history.at(-1);
  if (end === undefined) return null;
  const sends = Math.min(end.inUse, end.sent);
  const timeOf = (sent: number): number | undefined => history.find((entry) => entry.sent >= sent)?.at;
  const before = end.sent > sends ? timeOf(end.sent - sends) : undefined;
  return {
    sends,
    endsAt: end.at,
    ms: before === undefined ? window : end.at - before,
    timeOf: (place: number): number => timeOf(end.sent - sends + place) ?? end.at,
  };
}

const later = (now: number, at: number): number => (at > now ? at : NEVER);

/** The permits in use and when they return. */
function ringOf(returning: readonly number[], lag: number) {
  const list: { at: number; sends: number; polls: number }[] = [];
  let [head, inUseSends, inUsePolls] = [0, 0, 0];
  const ring = {
    sends: () => inUseSends,
    polls: () => inUsePolls,
    next: (): number => list[head]?.at ?? NEVER,
    expire(now: number): void {
      for (let first = list[head]; first !== undefined && first.at <= now; first = list[head]) {
        inUseSends -= first.sends;
        inUsePolls -= first.polls;
        head += 1;
      }
    },
    add(at: number, sends: number, polls: number): void {
      if (sends + polls === 0) return;
      inUseSends += sends;
      inUsePolls += polls;
      let place = list.length;
      while (place > head && (list[place - 1]?.at ?? 0) > at) place -= 1;
      list.splice(place, 0, { at, sends, polls });
    },
  };
  for (let at = 0; at + 2 < returning.length; at += 3) {
    ring.add((returning[at] ?? 0) + lag, returning[at + 1] ?? 0, returning[at + 2] ?? 0);
  }
  return ring;
}

/** Requests by when they are due for a poll. Time only goes forward. */
function dueOf(counts: readonly number[], { now, dueWithin, oldestDue }: LaneState, window: number) {
  const list: { at: number; count: number }[] = [];
  let [head, total] = [0, 0];
  /** Counts of the entries up to a time, which moves forward. */
  const upTo = () => ({ until: Number.NEGATIVE_INFINITY, place: 0, count: 0 });
  const [overdue, soon] = [upTo(), upTo()];
  const advance = (mark: ReturnType<typeof upTo>, until: number): void => {
    mark.until = until;
    for (let entry = list[mark.place]; entry !== undefined && entry.at <= until; entry = list[mark.place]) {
      mark.count += entry.count;
      mark.place += 1;
    }
  };
  const due = {
    count: () => total,
    /** Requests that are due now, and within the window from now. */
    overdue: () => overdue.count,
    soon: () => soon.count,
    first: (): number => list[head]?.at ?? NEVER,
    next: (): number => list[overdue.place]?.at ?? NEVER,
    advance(to: number): void {
      advance(overdue, to);
      advance(soon, to + window);
    },
    add(at: number, count: number): void {
      if (count <= 0) return;
      total += count;
      let place = list.length;
      while (place > head && (list[place - 1]?.at ?? 0) > at) place -= 1;
      list.splice(place, 0, { at, count });
      for (const mark of [overdue, soon]) {
        if (at > mark.until) continue;
        mark.count += count;
        mark.place += 1;
      }
    },
    /** Takes at most so many that are due now, the oldest first, and returns how many. */
    take(most: number): number {
      let left = Math.min(most, overdue.count);
      const taken = left;
      for (const mark of [overdue, soon]) mark.count -= taken;
      total -= taken;
      for (let first = list[head]; left > 0 && first !== undefined; first = list[head]) {
        const part = Math.min(left, first.count);
        first.count -= part;
        left -= part;
        if (first.count === 0) head += 1;
      }
      return taken;
    },
  };
  // Those of an interval are spread over it. The oldest of them decides how urgent they are.
  let [before, since] = [0, oldestDue > 0 ? Math.min(oldestDue, now) : now];
  for (const [place, count] of counts.entries()) {
    const windows = dueWithin[place];
    const until = windows === undefined ? since + window : now + windows * window;
    const parts = Math.min(4, count - before);
    for (let part = 1; part <= parts; part += 1) {
      const upToPart = before + Math.floor(((count - before) * part) / parts);
      const from = before + Math.floor(((count - before) * (part - 1)) / parts);
      due.add(since + ((until - since) * (part - (place === 0 ? 1 : 0))) / parts, upToPart - from);
    }
    [before, since] = [count, until];
  }
  return due;
}
