import { NotFoundError } from '../campaign/errors.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { findLane } from './campaigns.js';
import { type Lane, noSuchLane } from './lane.js';

/** Finds a lane for who names it, or a campaign on it. */
export interface LaneFinder {
  /** Throws a NotFoundError for one that is not configured. */
  named(name: string): Lane;
  /** The lane of a campaign. Rejects with a NotFoundError if there is no such campaign, or its lane is not configured. */
  of(campaign: string): Promise<Lane>;
}

/** Finds among these lanes. */
export function laneFinder(redis: Redis, keys: Keys, lanes: ReadonlyMap<string, Lane>): LaneFinder {
  return {
    named: (name) => laneNamed(lanes, name),
    async of(campaign) {
      const name = await findLane(redis, keys, campaign);
      if (name !== null) return laneNamed(lanes, name);
      throw new NotFoundError(`there is no campaign ${campaign}; \`volley list\` shows those there are`);
    },
  };
}

/** The lane of that name. Throws a NotFoundError that lists those there are. */
export function laneNamed(lanes: ReadonlyMap<string, Lane>, name: string): Lane {
  const lane = lanes.get(name);
  if (lane !== undefined) return lane;
  throw noSuchLane(name, lanes.keys());
}
