import { z } from 'zod';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import type { SendClaim } from '../sending/claims.js';

/** What Redis makes of a claim that somebody remembers. `settled`: its range is, one way or another. */
export type Reasserted = 'known' | 'restored' | 'settled' | 'missing';

const script = loadScript(import.meta.url, './replay-claim.lua', (reply) =>
  z.enum(['known', 'restored', 'settled', 'missing']).parse(reply),
);

/** Restores a claim that Redis may have forgotten. Safe to repeat. */
export function laneReassertion(redis: Redis, keys: Keys, lane: string) {
  const names = ['lane', 'claims', 'states', 'unknown'].map((name) => keys.lane(lane, name));
  return (claim: SendClaim, now?: number): Promise<Reasserted> =>
    script.run(redis, names, [
      claim.number,
      claim.campaign,
      claim.first,
      claim.count,
      claim.doubt ?? '',
      now ?? '',
    ]);
}
