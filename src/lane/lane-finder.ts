import { NotFoundError } from '../campaign/errors.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { findLane } from './campaigns.js';
import { type Lane, noSuchLane } from './lane.js';

/** Finds a lane by its name or by a campaign. */
export interface LaneFinder {
  /** Throws a NotFoundError if the lane is not configured. */
  named(name: string): Lane;
  /** The lane of a campaign. Rejects with a NotFoundError if there is no such campaign, or its lane is not configured. */
  of(campaign: string): Promise<Lane>;
}

/** `lanes`: the configured lanes, by name. */
export function laneFinder(redis: Redis, keys: Keys, lanes: ReadonlyMap<string, Lane>): LaneFinder {
  return {
    named: (name) => laneNamed(lanes, name),
    async of(campaign) {
      const name = await findLane(redis, keys, campaign);
      if (name !== null) return laneNamed(lanes, name);
      throw new NotFoundError(`there is no campaign ${campaign}; \`volley list\` shows all campaigns`);
    },
  };
}

/** The lane with that name. Throws a NotFoundError that lists the configured lanes. */
export function laneNamed(lanes: ReadonlyMap<string, Lane>, name: string): Lane {
  const lane = lanes.get(name);
  if (lane !== undefined) return lane;
  throw noSuchLane(name, lanes.keys());
}
