import type { Keys, LaneId } from '../../base/redis/keys.js';

/*
 * The names of a campaign's keys, all under its lane's hash tag. Data that grows with the list is kept apart from the state
 * that every claim reads.
 */

/** Ordinals per hash of records: few enough that Redis stores the hash in its compact form. */
export const RECORDS_PER_HASH = 128;

/**
 * `slices`: recipients to send to; `suppressed`: recipients that were suppressed when the list was imported; `leftOut`: rows that
 * were left out, because they are invalid or have the number of an earlier row, at most 100,000 of each kind. The last two have no ordinal.
 */
export const SERIES = ['slices', 'suppressed', 'leftOut'] as const;
/** See {@link SERIES}. */
export type Series = (typeof SERIES)[number];

/**
 * String: the part of the campaign that only an operator changes after its import: text, sender, columns, earlier texts, JSON without usual values; with an
 * idempotency key also the answer to a repeated request.
 */
export function metaKey(keys: Keys, lane: LaneId, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}`);
}

/** Hash: slice number → its recipients, a deflated JSON array (slice-blob.ts). The ordinal of a recipient is slice number × `SLICE` + its position. */
export function slicesKey(keys: Keys, lane: LaneId, campaign: string, series: Series): string {
  return keys.lane(lane, `campaign:${campaign}:${series}`);
}

/** String: a state letter per ordinal, or 0: `sending` if a claim holds it, otherwise the campaign's `remainder`. */
export function statusesKey(keys: Keys, lane: LaneId, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}:statuses`);
}

/** String: the parts of its list by the zones of the recipients (engine/store/zones.lua). Only where windows are in these zones. */
export function zonesKey(keys: Keys, lane: LaneId, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}:zones`);
}

/** Hash: chunk → which of the campaign's costs each message has, two bytes per ordinal. Only where messages cost different amounts. */
export function costsKey(keys: Keys, lane: LaneId, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}:costs`);
}

/**
 * Hash: first ordinal of a batch → the record of its request: count, times, reason, request id; `w` and an ordinal → the service's own
 * code and word, where they say more than the status. This is the hash of the batch that begins at `first`.
 */
export function recordsKey(keys: Keys, lane: LaneId, campaign: string, first: number): string {
  return keys.lane(lane, `campaign:${campaign}:records:${Math.floor(first / RECORDS_PER_HASH)}`);
}

/** String: a Bloom filter of the ids of the campaign's accepted requests, with notifications. */
export function acceptedKey(keys: Keys, lane: LaneId, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}:accepted`);
}

/** String: how the counts of a campaign changed over time, in samples of 52 bytes; see progress.ts. One recipient has none. */
export function progressKey(keys: Keys, lane: LaneId, campaign: string): string {
  return keys.lane(lane, `campaign:${campaign}:progress`);
}
