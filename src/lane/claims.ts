import { z } from 'zod';
import { loadScript } from '../redis/script.js';
import type { LaneStore } from './lane-script.js';
import type { GrantedPermit } from './permit.js';
import { type ScriptEvent, scriptEvents } from './script-events.js';

/**
 * Why a claim returned no more than it did.
 * - `more`: it returned what was wanted. `nothing`: nothing is left, or due. `inFlight`: enough requests are in flight.
 * - `quota`: the window is used up. `joining`: the process, or the campaign, is too new: after a loss of data nothing
 *   would show that it had claimed (see workers.lua). The others: the lane is closed (see gate.lua).
 * - `fenced`: another turn serves the lane now. `again`: this call was made before; the reply holds the claims left of it.
 */
const WHY = [
  'more',
  'nothing',
  'inFlight',
  'quota',
  'stopped',
  'held',
  'recovering',
  'joining',
  'throttled',
  'unreachable',
  'probing',
  'hanging',
  'fenced',
  'again',
] as const;
/** Why a claim returned no more; `waiting`: there is no token yet, or the process does not know the lane. */
export type Why = (typeof WHY)[number] | 'waiting';

/** The claims that a call returned, and in how many ms there may be more; null: when the lane is woken. */
export interface ClaimReply<Claim> {
  readonly claims: readonly Claim[];
  /** Of each of these claims. */
  readonly permit: GrantedPermit;
  readonly why: Why;
  readonly againInMs: number | null;
  /** The server's time, ms. */
  readonly now: number;
  readonly events: readonly ScriptEvent[];
}

/** The process that claims, as Redis knows it. */
export interface ClaimingProcess {
  /** Its unique name; empty in tests where no process in particular claims. */
  readonly process: string;
  /** The highest claim number that it knows of the lane, or 0. */
  readonly seen: number;
  /** How many milliseconds of acknowledged writes the server may lose. */
  readonly loss: number;
}

/** A claim call of a turn. It is repeated unchanged when its reply was lost. */
export interface ClaimCall extends Partial<ClaimingProcess> {
  readonly turn: string;
  /** From 1. */
  readonly call: number;
  readonly want: number;
  /** When the turn makes the call, ms on the monotonic clock. A repeated call keeps the time of the first. */
  readonly askedAt?: number;
  /** Time in ms, for tests and simulations; the server's by default. */
  readonly now?: number | undefined;
}

/** What both kinds of claims share: the campaign, and the first ordinal of the batch. */
export const claimShape = z.object({
  number: z.number(),
  campaign: z.string(),
  first: z.number(),
  count: z.number().default(1),
  maybeAccepted: z.number().optional(),
});
const whyShape = z.enum(WHY);
const head = z.tuple([z.string(), z.string(), z.string(), z.string()]).rest(z.string());

/** Reads the reply of a claim script; `pick` makes the claim of its stored form. */
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

const confirmScript = loadScript(import.meta.url, './confirm-claim.lua', (reply) => reply === 1);

/** Whether a turn's claim still holds: not settled by others, and for a send, its campaign neither paused nor cancelled. */
export function confirmClaim(
  { redis, keys, name }: LaneStore,
  kind: 'send' | 'poll',
  number: number,
  turn: string,
): Promise<boolean> {
  const inFlight = keys.lane(name, kind === 'send' ? 'claims' : 'polls');
  return confirmScript.run(
    redis,
    { claims: inFlight, states: keys.lane(name, 'states') },
    { number, turn, kind },
  );
}
