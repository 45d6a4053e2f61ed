import type { Random } from '../clock.js';

/** The form of a campaign's id: eight characters of time (nine from the year 2059 on) and five random ones. */
export const CAMPAIGN_ID = /^[0-9a-z]{13,14}$/;

/** Makes an id. It begins with the time, ms since the epoch, so that ids sort in the order of their creation. */
export function newCampaignId(now: number, random: Random): string {
  const time = now.toString(36).padStart(8, '0');
  const suffix = Math.floor(random() * 36 ** 5);
  return `${time}${suffix.toString(36).padStart(5, '0')}`;
}

/** The reference of a request, by the number of its claim: shown for unknown outcomes, and accepted by `resolve --request`. */
export function requestReference(campaign: string, claim: number): string {
  return `${campaign}-${claim}`;
}
