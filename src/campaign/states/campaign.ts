/*
 *   importing ──commit──► scheduled ──launch──► running ──nothing open──► completed
 *       │                     │ ▲                 │ ▲
 *       ▼                     ▼ │ resume          ▼ │ resume
 *   discarded               paused ◄──pause──── (running)
 *                     scheduled, running, paused ──cancel──► cancelled ──nothing open, all sent──► completed
 */

/** One state of a campaign. */
interface CampaignStateRules {
  readonly next: readonly string[];
  /** The operator's commands that it accepts. */
  readonly commands: readonly ('pause' | 'resume' | 'cancel')[];
}

const ACTIVE = ['pause', 'resume', 'cancel'] as const;

/**
 * The campaign's state machine. A campaign is completed only when no recipient of it is in an open state. `cancelled` stays, while
 * reports of earlier messages still come in. The Lua scripts use the same table (store/states.lua, generated from
 * this one).
 */
export const CAMPAIGN_STATE = {
  importing: { next: ['scheduled', 'running', 'completed'], commands: [] },
  scheduled: { next: ['running', 'paused', 'cancelled', 'completed'], commands: ACTIVE },
  running: { next: ['paused', 'cancelled', 'completed'], commands: ACTIVE },
  paused: { next: ['scheduled', 'running', 'cancelled', 'completed'], commands: ACTIVE },
  // Cancelling again changes nothing. One of which everything was sent after all becomes completed.
  cancelled: { next: ['completed'], commands: ['cancel'] },
  completed: { next: [], commands: [] },
} as const satisfies Record<string, CampaignStateRules>;

/** A state of a campaign; see {@link CAMPAIGN_STATE}. */
export type CampaignState = keyof typeof CAMPAIGN_STATE;

/** All states of a campaign. */
export const CAMPAIGN_STATES = Object.keys(CAMPAIGN_STATE) as [CampaignState, ...CampaignState[]];

/** The form of a campaign's id: eight characters of time (nine from the year 2059 on) and five random ones. */
export const CAMPAIGN_ID = /^[0-9a-z]{13,14}$/;

/** Characters of an id of a campaign: eight of its time, and five random ones. */
export const CAMPAIGN_ID_LENGTH = 13;

/** How the ids of campaigns created at this time begin, ms since the epoch. */
export function campaignIdTime(time: number): string {
  return Math.max(0, time).toString(36).padStart(8, '0');
}

/** Makes an id. It begins with the time, ms since the epoch, so that ids sort in the order of their creation. */
export function newCampaignId(now: number, random: () => number): string {
  const suffix = Math.floor(random() * 36 ** 5);
  return `${campaignIdTime(now)}${suffix.toString(36).padStart(5, '0')}`;
}

/** The time that an id begins with, ms since the epoch. */
export function timeOfCampaignId(id: string): number {
  return Number.parseInt(id.slice(0, -5), 36);
}

/** The name of a campaign that has neither a name nor a file. */
export function usualCampaignName(created: number): string {
  return `campaign of ${new Date(created).toISOString().slice(0, 16).replace('T', ' ')}`;
}

/** The reference of a request, by the number of its claim: shown for unknown outcomes, and accepted by `resolve --request`. */
export function requestReference(campaign: string, claim: number): string {
  return `${campaign}-${claim}`;
}

/** Requests of a campaign for each one of a campaign with normal priority, while both have something to send. */
export const PRIORITY_WEIGHT = { high: 4, normal: 1 } as const;
