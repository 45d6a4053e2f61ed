import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';

const forgetScript = loadScript(import.meta.url, './forget-results.lua', (reply) => z.number().parse(reply));

/** Forgets a campaign in its lane's log of results. `number`: from its state. Returns how many chunks of the log were removed. */
export function forgetResults(redis: Redis, keys: Keys, lane: LaneId, number: number): Promise<number> {
  return forgetScript.run(redis, { results: keys.lane(lane, 'results') }, { number });
}
