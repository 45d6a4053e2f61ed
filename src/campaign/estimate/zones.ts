import type { SendWindow } from '../views/views.js';
import type { ZoneStatus } from '../views/zone-views.js';
import { type Estimate, type EstimatedCampaign, estimate } from './estimate.js';
import type { EstimateRules, LaneOutlook } from './lane-outlook.js';
import { countryOf, inZone, nextCommonOpening, openingsFrom, openingTime, windowParts } from './window.js';

/*
 * A campaign whose window has the hours of each recipient's own time zone.
 */

/** How many recipients a campaign has in a zone, and how many of them it has not sent to. */
export interface ZoneCount {
  readonly zone: string;
  readonly recipients: number;
  readonly waiting: number;
}

/** The zones of a campaign at a time, ms: first those whose recipients can start first. `window`, `lanes`: the rules of its window, and its lane's. */
export function zonesAt(
  window: string,
  lanes: string | undefined,
  counts: readonly ZoneCount[],
  at: number,
): ZoneStatus[] {
  return counts
    .map(({ zone, recipients, waiting }) => {
      const rule = inZone(window, zone);
      const from = waiting === 0 ? null : (nextCommonOpening([rule, lanes], at)?.from ?? null);
      const opens = from === null || from <= at ? null : from;
      const country = countryOf(zone);
      return {
        zone: country === null ? zone : null,
        country,
        recipientCount: recipients,
        waiting,
        opensAt: opens === null ? null : new Date(opens).toISOString(),
        opensAtLocal: opens === null ? null : openingTime(rule, opens, at),
      };
    })
    .sort(
      (one, other) =>
        (one.opensAt ?? '').localeCompare(other.opensAt ?? '') || other.recipientCount - one.recipientCount,
    );
}

/** The window itself: closed while all recipients who wait are outside their hours. */
export function windowOfZones(window: string, zones: readonly ZoneStatus[]): SendWindow {
  const { hours, except } = windowParts(window);
  const waiting = zones.filter((zone) => zone.waiting > 0);
  const opensAt = waiting.some((zone) => zone.opensAt === null) ? null : (waiting[0]?.opensAt ?? null);
  return { hours, except, zone: 'recipient', opensAt, closesAt: null };
}

/** The requests of a campaign in each of its zones. */
export interface ZoneRequests {
  readonly zone: string;
  readonly requests: number;
}

/** Zones with the same next openings are one: there are hundreds of zones, and few hours. */
const OPENINGS_COMPARED = 4;

/**
 * Estimates the end of such a campaign. It sends whenever the window of a zone is open. So it ends no later than it would if all were in one
 * of the zones, and no earlier than it sends each zone alone, or all without a window. Pure.
 */
export function estimateZones(
  lane: LaneOutlook,
  rules: EstimateRules,
  campaign: Omit<EstimatedCampaign, 'requests' | 'window'>,
  { window, zones }: { readonly window: string; readonly zones: readonly ZoneRequests[] },
): Estimate {
  const groups = new Map<string, { rule: string; requests: number }>();
  for (const { zone, requests } of zones) {
    if (requests === 0) continue;
    const rule = inZone(window, zone);
    const key = JSON.stringify(openingsFrom(rule, lane.now, OPENINGS_COMPARED));
    const group = groups.get(key) ?? { rule, requests: 0 };
    groups.set(key, group);
    group.requests += requests;
  }
  const requests = [...groups.values()].reduce((sum, group) => sum + group.requests, 0);
  const together = estimate(lane, rules, { ...campaign, requests, window: undefined });
  if (requests === 0) return together;
  const each = [...groups.values()].map((group) => ({
    requests: group.requests,
    alone: estimate(lane, rules, { ...campaign, requests: group.requests, window: group.rule }),
    all: estimate(lane, rules, { ...campaign, requests, window: group.rule }),
  }));
  const rangeOf = (name: 'eta' | 'completion'): Estimate['eta'] => {
    const ranges = each.map(({ all }) => all[name]).filter((range) => range !== null);
    const earliest = [together, ...each.map(({ alone }) => alone)].map((one) => one[name]?.earliest ?? '');
    const unbounded = ranges.find(({ latest }) => latest === null);
    const latest = ranges
      .map((range) => range.latest ?? '')
      .reduce((one, other) => (one > other ? one : other), '');
    const [first] = ranges;
    if (first === undefined) return null;
    return {
      ...(unbounded ?? first),
      earliest: earliest.reduce((one, other) => (one > other ? one : other)),
      latest: unbounded === undefined ? latest : null,
    };
  };
  const sum = (of: (one: (typeof each)[number]) => number): number =>
    each.reduce((total, one) => total + Math.max(0, of(one)), 0);
  return {
    eta: rangeOf('eta'),
    completion: rangeOf('completion'),
    inTime: {
      atLeast: sum((one) => one.requests - (requests - one.all.inTime.atLeast)),
      atMost: Math.min(
        together.inTime.atMost,
        sum((one) => one.alone.inTime.atMost),
      ),
    },
  };
}
