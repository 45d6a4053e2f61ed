import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { type Series, slicesKey } from './campaign-keys.js';

/** The series of slices of a campaign (slice-blob.ts). */
export interface SeriesOf {
  readonly lane: LaneId;
  readonly campaign: string;
  readonly series: Series;
}

/** Reads slices of a campaign; null for each that is not stored. */
export const readSlices = (
  redis: Redis,
  keys: Keys,
  { lane, campaign, series }: SeriesOf,
  numbers: readonly number[],
): Promise<(Buffer | null)[]> =>
  redis.hmgetBuffer(slicesKey(keys, lane, campaign, series), ...numbers.map(String));

/** How many slices of a series are stored. */
export const countSlices = (
  redis: Redis,
  keys: Keys,
  { lane, campaign, series }: SeriesOf,
): Promise<number> => redis.hlen(slicesKey(keys, lane, campaign, series));
