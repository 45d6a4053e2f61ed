import type { Random } from '../clock.js';

/** The form of a campaign's id: eight letters of time, or nine from the year 2059 on, and five of chance. */
export const CAMPAIGN_ID = /^[0-9a-z]{13,14}$/;

/** A new id: it begins with the time, ms since the epoch, so that ids list in the order of their creation. */
export function newCampaignId(now: number, random: Random): string {
  const time = now.toString(36).padStart(8, '0');
  const chance = Math.floor(random() * 36 ** 5);
  return `${time}${chance.toString(36).padStart(5, '0')}`;
}

/** How a batch of unknown outcome is named to people, by the number of its claim; what `resolve --request` takes. */
export function requestReference(campaign: string, claim: number): string {
  return `${campaign}-${claim}`;
}
