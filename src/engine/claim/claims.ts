import { z } from 'zod';
import { loadScript } from '../../base/redis/script.js';
import type { LaneStore } from '../scripts/lane-script.js';
import { scriptEvents } from '../scripts/script-events.js';
import { type ClaimCall, type ClaimReply, WHY } from './claim-reply.js';

/** A claim as the scripts return it, of either kind. */
export const claimShape = z.object({
  number: z.number(),
  turn: z.string(),
  campaign: z.string(),
  first: z.number(),
  count: z.number().default(1),
  message: z.string().optional(),
  edition: z.number().optional(),
  at: z.number(),
  again: z.enum(['underCorrelator', 'byOperator']).optional(),
  firstAt: z.number().optional(),
  closesAt: z.number().optional(),
});
const whyShape = z.enum(WHY);
const head = z.tuple([z.string(), z.string(), z.string(), z.string()]).rest(z.string());

/** Parses the reply of a claim script; `pick` selects the fields of the claim. */
export function claimReply<Claim>(pick: (claim: z.output<typeof claimShape>) => Claim) {
  return (reply: unknown): Omit<ClaimReply<Claim>, 'permit'> => {
    const [why, at, now, events, ...claims] = head.parse(reply);
    return {
      claims: claims.map((claim) => pick(claimShape.parse(JSON.parse(claim)))),
      why: whyShape.parse(why),
      againInMs: Number(at) > 0 ? Math.max(0, Number(at) - Number(now)) : null,
      now: Number(now),
      events: scriptEvents(events),
    };
  };
}

/** The arguments of a claim script for a call. */
export const claimArgs = ({ turn, call, want, seen = 0, kept = 0, process = '', now }: ClaimCall) => ({
  ...{ turn, call, want, seen, kept, process },
  time: now,
});

const confirmScript = loadScript(import.meta.url, './confirm-claim.lua', (reply) => reply === 1);

/** Whether a claim still holds: Redis never lost it, it is not settled, and for a send, its campaign is neither paused nor cancelled. */
export function confirmClaim(
  { redis, keys, id }: LaneStore,
  kind: 'send' | 'poll',
  { number, turn }: { readonly number: number; readonly turn: string },
): Promise<boolean> {
  const inFlight = keys.lane(id, kind === 'send' ? 'claims' : 'polls');
  return confirmScript.run(
    redis,
    { claims: inFlight, states: keys.lane(id, 'states') },
    { number, turn, kind },
  );
}
