import type { Stopwatch } from '../../base/clock.js';
import type { ScriptEvent } from '../scripts/script-events.js';
import type { GrantedPermit } from './permit.js';

/**
 * Why a claim call returned no more claims.
 * - `more`: it returned as many as wanted. `nothing`: nothing is left, or nothing is due.
 * - `inFlight`: the maximum number of requests is in flight. `quota`: the window is used up.
 * - `joining`: the process or the campaign is too new. If Redis lost data now, nothing would show its claims (losses.lua).
 * - `window`: the lane's window is closed.
 * - `unbounded`: nothing bounds how much Redis may lose in a failover, so nothing may be sent.
 * - `fenced`: another turn serves the lane, or this process has earlier settings of it. `again`: this call was made before; the reply repeats its unsettled claims.
 * - The others: the lane is closed (gate.lua).
 */
export const WHY = [
  'more',
  'nothing',
  'inFlight',
  'quota',
  'stopped',
  'held',
  'recovering',
  'joining',
  'unbounded',
  'window',
  'throttled',
  'unreachable',
  'probing',
  'hanging',
  'fenced',
  'again',
] as const;
/** Why a claim call returned no more claims; `waiting`: there is no token yet, or this process does not serve the lane. */
export type Why = (typeof WHY)[number] | 'waiting';

/** The reply to a claim call. */
export interface ClaimReply<Claim> {
  readonly claims: readonly Claim[];
  /** The permit of all these claims. */
  readonly permit: GrantedPermit;
  readonly why: Why;
  /** When to call again; null: when the lane is woken. */
  readonly againInMs: number | null;
  /** The time of Redis, ms. */
  readonly now: number;
  readonly events: readonly ScriptEvent[];
}

/** The process that claims. */
export interface ClaimingProcess {
  /** Its unique name; empty in tests that need none. */
  readonly process: string;
  /** The highest claim number of the lane that it knows, or 0. */
  readonly seen: number;
  /** The highest claim number of the lane that no crash and no failover can have lost (recovery/highest-claims.ts); default: none is known. */
  readonly kept?: number;
  /** How many milliseconds of acknowledged writes Redis may lose; -1: nothing bounds it. */
  readonly loss: number;
  /** The same as soon as Redis has a replica. */
  readonly replicaLoss: number;
}

/** A claim call of a turn. If its reply is lost, the turn repeats it unchanged. */
export interface ClaimCall extends Partial<ClaimingProcess> {
  readonly turn: string;
  /** From 1. */
  readonly call: number;
  readonly want: number;
  /** The time since the turn first made this call. Default, for tests: unlimited. */
  readonly age?: Stopwatch;
  /** Time in ms, for tests and simulations. Default: the time of Redis. */
  readonly now?: number | undefined;
}
