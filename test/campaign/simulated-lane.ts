import type {
  EstimateRules,
  LaneOutlook,
  OutlookCampaign,
} from '../../src/campaign/estimate/lane-outlook.js';
import { nextOpening } from '../../src/campaign/estimate/window.js';

/** A campaign of a simulated lane. It joins `at` a time, ms. */
export interface SimulatedCampaign {
  readonly id: string;
  readonly requests: number;
  readonly weight: number;
  readonly at: number;
  readonly lapseAt: number;
  readonly window?: string | undefined;
}

/** A lane that is served request by request, in steps of one bucket of the ledger, without Redis and workers. */
export interface SimulatedLane {
  readonly begin: number;
  readonly rules: EstimateRules & { readonly pollShare: number };
  readonly latency: number;
  readonly campaigns: readonly SimulatedCampaign[];
  /** The part of the polls that is followed by another. */
  readonly repeated: number;
}

/** An open lane at this time that has sent nothing in this window. */
export function idleLane(now: number, quota: number, window: number, pollShare: number): LaneOutlook {
  // Polls get their share, and up to half of the quota. A single permit is used by sends and polls in turn.
  const pollsOf = (share: number): number =>
    quota > 1 ? Math.min(quota - 1, Math.ceil(share * quota)) : share > 0 ? 0.5 : 0;
  return {
    ...{ now, quota, limit: quota, bucketMs: Math.ceil(window / 384), latency: 100, lastSendAt: 0 },
    ...{ pollsAtLeast: pollsOf(pollShare), pollsAtMost: pollsOf(Math.max(pollShare, 0.5)) },
    ...{ returning: [], due: [], repolled: 0, firstPoll: 15_000, isHeard: false },
    ...{ virtualTime: 0, headStart: 5, obstacle: null, opensAt: 0 },
    ...{ campaigns: [], scheduled: [], unlisted: 0 },
  };
}

type Kind = 'sends' | 'polls';
const STEPS_AT_MOST = 100_000;

const isOpen = (rule: string | undefined, now: number, ahead = 0): boolean =>
  rule === undefined || (nextOpening(rule, now)?.from ?? Number.POSITIVE_INFINITY) <= now + ahead;

const upTo = (times: readonly number[], until: number): number => times.filter((at) => at <= until).length;

/** Plays a lane until all is sent. `observe` is called at each step. Returns when each campaign's last message was sent. */
export function simulate(
  { begin, rules, latency, campaigns, repeated }: SimulatedLane,
  observe: (look: () => LaneOutlook, left: (id: string) => number) => void,
): ReadonlyMap<string, number> {
  const { quota, window, pollShare, smooth, inFlight, firstPoll, deadline, sendWindow } = rules;
  const idle = idleLane(begin, quota, window, pollShare);
  const width = idle.bucketMs;
  const lastSent = new Map<string, number>();
  const leftOf = new Map(campaigns.map(({ id, requests }) => [id, requests]));
  const left = (id: string): number => leftOf.get(id) ?? 0;
  const scores = new Map<string, number>();
  const inUse = { sends: 0, polls: 0 };
  const inFlightNow = { sends: 0, polls: 0 };
  const lastAt = { sends: 0, polls: 0 };
  let flying: { readonly at: number; readonly kind: Kind }[] = [];
  let ledger: { readonly at: number; sends: number; polls: number }[] = [];
  let unpolled: number[] = [];
  let polled: number[] = [];
  let [virtualTime, paceAt, requests] = [0, 0, 0];

  for (let step = 0; step < STEPS_AT_MOST; step += 1) {
    const now = begin + step * width;
    const start = (kind: Kind): number => {
      requests += 1;
      // From 0.6 to 1.4 of the average, evenly spread.
      const at = now + latency * (0.6 + 0.8 * ((requests * 0.618) % 1));
      flying.push({ at, kind });
      inUse[kind] += 1;
      inFlightNow[kind] += 1;
      lastAt[kind] = now;
      return at;
    };
    for (const { at, kind } of flying.filter((one) => one.at <= now)) {
      inFlightNow[kind] -= 1;
      ledger.push({ at: (Math.floor(at / width) + 1) * width + window, sends: 0, polls: 0, [kind]: 1 });
    }
    flying = flying.filter(({ at }) => at > now);
    for (const { sends, polls } of ledger.filter(({ at }) => at <= now)) {
      inUse.sends -= sends;
      inUse.polls -= polls;
    }
    ledger = ledger.filter(({ at }) => at > now);

    const open = campaigns.filter(({ id, lapseAt }) => left(id) > 0 && !(lapseAt > 0 && now >= lapseAt));
    if (open.length === 0) return lastSent;
    const running = open.filter((one) => one.at <= now && isOpen(one.window, now));
    for (const { id } of campaigns) {
      if (!running.some((one) => one.id === id)) scores.delete(id);
      else if (!scores.has(id)) scores.set(id, Math.max(0, virtualTime - idle.headStart));
    }

    const needed =
      (unpolled.length * window) / Math.max(window, (unpolled[0] ?? now) + deadline - firstPoll - now);
    const wanted = Math.max(pollShare * quota, Math.min(needed, quota / 2));
    const isOverdue = now >= Math.max(lastAt.sends, lastAt.polls) + 1.5 * window;
    const isPollsTurn = lastAt.sends > lastAt.polls !== isOverdue;
    const share = quota > 1 || wanted === 0 ? Math.min(quota - 1, Math.ceil(wanted)) : Number(isPollsTurn);
    const due = upTo(unpolled, now + window) + upTo(polled, now + window);
    const dueNow = upTo(unpolled, now) + upTo(polled, now);

    const isAwaited = running.length > 0 && isOpen(sendWindow, now, window);
    const reserved = isAwaited ? Math.max(0, quota - share - inUse.sends) : 0;
    const forPolls = Math.min(
      quota - inUse.sends - inUse.polls - reserved,
      dueNow,
      inFlight - inFlightNow.polls,
    );
    for (let count = 0; count < forPolls; count += 1) {
      if ((unpolled[0] ?? now + 1) <= now) unpolled = unpolled.slice(1);
      else polled = polled.slice(1);
      const at = start('polls');
      if ((requests * 0.754) % 1 < repeated)
        polled = [...polled, at + window / 4].sort((one, other) => one - other);
    }

    const kept = Math.max(0, Math.min(share, due) - inUse.polls);
    const free = Math.min(quota - inUse.sends - inUse.polls - kept, inFlight - inFlightNow.sends);
    let forSends = isOpen(sendWindow, now) ? Math.max(0, free) : 0;
    if (smooth && forSends > 0) {
      const gap = window / quota;
      if (paceAt === 0 || paceAt < now - 2 * gap - width) paceAt = now - gap;
      forSends = Math.min(forSends, Math.floor((now - paceAt) / gap + 0.001));
      paceAt += gap * forSends;
    }
    for (; forSends > 0; forSends -= 1) {
      const score = (id: string): number => scores.get(id) ?? 0;
      const [next] = running
        .filter(({ id }) => left(id) > 0)
        .sort((one, other) => score(one.id) - score(other.id) || (one.id < other.id ? -1 : 1));
      if (next === undefined) break;
      virtualTime = Math.max(virtualTime, score(next.id));
      scores.set(next.id, score(next.id) + 1 / next.weight);
      leftOf.set(next.id, left(next.id) - 1);
      lastSent.set(next.id, now);
      unpolled = [...unpolled, start('sends') + firstPoll];
    }

    const outlookOf = ({ id, weight, lapseAt, window: rule, at }: SimulatedCampaign): OutlookCampaign => {
      const opensAt = rule === undefined ? 0 : (nextOpening(rule, now)?.from ?? 0);
      const score = scores.get(id) ?? Math.max(at, opensAt);
      return { id, score, weight, requests: left(id), lapseAt, notBefore: 0, window: rule };
    };
    const look = (): LaneOutlook => ({
      ...{ ...idle, now, latency, virtualTime, firstPoll, lastSendAt: lastAt.sends },
      returning: [
        ...[now + window, now + rules.timeout + width + window, inFlightNow.sends, inFlightNow.polls],
        ...ledger.flatMap(({ at, sends, polls }) => [at, at, sends, polls]),
      ],
      due: unpolled.flatMap((at) => [at, at, 1]),
      repolled: upTo(polled, now + window),
      campaigns: open.filter(({ id }) => scores.has(id) && left(id) > 0).map(outlookOf),
      scheduled: open.filter(({ id }) => !scores.has(id)).map(outlookOf),
    });
    observe(look, left);
  }
  throw new Error('it does not end');
}
