import type { Keys } from '../redis/keys.js';

/*
 * The names of a campaign's keys, all under its lane's hash tag. What grows with the list lies apart from what every claim
 * reads, and goes away with the campaign.
 */

/** Requests of so many consecutive ordinals have their records in one hash, small enough to be stored as a list. */
export const RECORDS_IN_A_HASH = 128;

/** `slices`: recipients that are sent to; `suppressed`: those that already were so when the list was imported. */
export type Series = 'slices' | 'suppressed';

/** String: what never changes of it, and what is known of one that is being imported. */
export function metaKey(keys: Keys, lane: string, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}`);
}

/** Hash: slice number → recipients. The ordinal is slice × `SLICE` + place. */
export function slicesKey(keys: Keys, lane: string, campaign: string, series: Series): string {
  return keys.lane(lane, `campaign:${campaign}:${series}`);
}

/** String: a byte an ordinal. */
export function statusesKey(keys: Keys, lane: string, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}:statuses`);
}

/** Hash: the records that the request of a batch beginning at `first` is among. */
export function recordsKey(keys: Keys, lane: string, campaign: string, first: number): string {
  return keys.lane(lane, `campaign:${campaign}:records:${Math.floor(first / RECORDS_IN_A_HASH)}`);
}

/** String: a filter of the ids that were accepted of it. */
export function acceptedKey(keys: Keys, lane: string, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}:accepted`);
}
