import { z } from 'zod';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import type { SendClaim } from '../sending/claims.js';

/** What Redis makes of a claim that somebody remembers. `settled`: its range is, one way or another. */
export type Reasserted = 'known' | 'restored' | 'settled' | 'missing';

const script = laneScript(import.meta.url, './replay-claim.lua', (reply) =>
  z.enum(['known', 'restored', 'settled', 'missing']).parse(reply),
);

/** Restores a claim that Redis may have forgotten. Safe to repeat. */
export const replayClaim = (
  store: LaneStore,
  { number, campaign, first, count, maybeAccepted }: SendClaim,
  now?: number,
): Promise<Reasserted> =>
  script(store, { number, id: campaign, first, count, maybeAccepted: maybeAccepted ?? '', time: now });
