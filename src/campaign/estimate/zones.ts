import type { SendWindow } from '../views/views.js';
import type { ZoneStatus } from '../views/zone-views.js';
import { type Estimate, type EstimatedCampaign, estimate } from './estimate.js';
import type { EstimateRules, LaneOutlook } from './lane-outlook.js';
import {
  ALWAYS,
  countryOf,
  inZone,
  isOfRecipients,
  nextCommonOpening,
  openingsFrom,
  openingTime,
  ruleIn,
  windowNow,
  windowParts,
} from './window.js';

/*
 * A campaign whose window has the hours of each recipient's own time zone, or whose recipients have times of their own.
 */

/** What the recipients of a part of the list have in common (engine/store/zones.lua). */
export interface Part {
  /** Their zone; '' if the window has hours of its own. */
  readonly zone: string;
  /** Their time, ms; undefined if they have none. */
  readonly at?: number | undefined;
}

/** A part as one text, which parts with the same zone and time share: `America/Denver`, or `America/Denver 1893456000000`. */
export const partName = ({ zone, at }: Part): string => (at === undefined ? zone : `${zone} ${at}`);

/** The part of a name. */
export function partNamed(name: string): Part {
  const [zone = '', at] = name.split(' ');
  return { zone, at: at === undefined ? undefined : Number(at) };
}

/** How many recipients a campaign has in a part, and how many of them it has not sent to. */
export interface ZoneCount extends Part {
  readonly recipients: number;
  readonly waiting: number;
}

/**
 * The zones and times of a campaign at a time, ms: first those whose recipients can start first. `window`, `lanes`: the rules of its window, and
 * its lane's. `ownZone`: that of the campaign, for recipients without their own.
 */
export function zonesAt(
  window: string | undefined,
  lanes: string | undefined,
  counts: readonly ZoneCount[],
  now: number,
  ownZone: string | null = null,
): ZoneStatus[] {
  return counts
    .map(({ recipients, waiting, ...part }) => {
      const zone = part.zone || (ownZone ?? 'UTC');
      const start = Math.max(now, part.at ?? 0);
      const opening = waiting === 0 ? null : nextCommonOpening([ruleIn(window, part.zone), lanes], start);
      const from = opening === null ? now : Math.max(opening.from, start);
      const country = countryOf(zone);
      return {
        zone: country === null ? zone : null,
        country,
        sendAt: part.at === undefined ? null : new Date(part.at).toISOString(),
        recipientCount: recipients,
        waiting,
        opensAt: from <= now ? null : new Date(from).toISOString(),
        opensAtLocal: from <= now ? null : openingTime(inZone(window ?? ALWAYS, zone), from, now),
      };
    })
    .sort(
      (one, other) =>
        (one.opensAt ?? '').localeCompare(other.opensAt ?? '') || other.recipientCount - one.recipientCount,
    );
}

/** When the first of the recipients who wait can be sent to; null while some can. */
export function firstOpening(zones: readonly ZoneStatus[]): string | null {
  const waiting = zones.filter((zone) => zone.waiting > 0);
  return waiting.some((zone) => zone.opensAt === null) ? null : (waiting[0]?.opensAt ?? null);
}

/** The window itself. One with hours of the recipients' zones is closed while all who wait are outside theirs. */
export function windowOfZones(
  window: string | undefined,
  zones: readonly ZoneStatus[] | null,
  now: number,
): SendWindow | null {
  if (zones === null || !isOfRecipients(window)) return windowNow(window, now);
  const { hours, except } = windowParts(window);
  return { hours, except, zone: 'recipient', opensAt: firstOpening(zones), closesAt: null };
}

/** The requests of a campaign in each of its parts. */
export interface ZoneRequests extends Part {
  readonly requests: number;
}

/** Zones with the same next openings are one: there are hundreds of zones, and few hours. */
const OPENINGS_COMPARED = 4;

/** So are times in the same of so many spans. */
const TIMES_COMPARED = 24;

/**
 * Estimates the end of such a campaign. It sends whenever a part is open. So it ends no later than it would if all were in one of the zones, with
 * its last time, and no earlier than it sends each zone and time alone, or all at once. Pure.
 */
export function estimateZones(
  lane: LaneOutlook,
  rules: EstimateRules,
  campaign: Omit<EstimatedCampaign, 'requests' | 'window'>,
  { window, zones }: { readonly window: string | undefined; readonly zones: readonly ZoneRequests[] },
): Estimate {
  const groups = new Map<
    string,
    { rule: string | undefined; requests: number; from: number; upTo: number }
  >();
  const startOf = ({ at = 0 }: Part): number => Math.max(lane.now, campaign.launchAt, at);
  const last = zones.reduce((latest, zone) => Math.max(latest, startOf(zone)), lane.now);
  const step = Math.max(1, (last - lane.now) / TIMES_COMPARED);
  for (const { requests, ...part } of zones) {
    if (requests === 0) continue;
    const [rule, start] = [ruleIn(window, part.zone), startOf(part)];
    const openings = rule === undefined ? [] : openingsFrom(rule, lane.now, OPENINGS_COMPARED);
    const key = JSON.stringify([openings, Math.ceil((start - lane.now) / step)]);
    const group = groups.get(key) ?? { rule, requests: 0, from: start, upTo: start };
    groups.set(key, group);
    group.requests += requests;
    [group.from, group.upTo] = [Math.min(group.from, start), Math.max(group.upTo, start)];
  }
  const requests = [...groups.values()].reduce((sum, group) => sum + group.requests, 0);
  const together = estimate(lane, rules, { ...campaign, requests, window: undefined });
  if (requests === 0) return together;
  const each = [...groups.values()].map(({ rule, from, upTo, ...group }) => ({
    requests: group.requests,
    alone: estimate(lane, rules, { ...campaign, ...group, launchAt: from, window: rule }),
    all: estimate(lane, rules, { ...campaign, requests, launchAt: upTo, window: rule }),
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
