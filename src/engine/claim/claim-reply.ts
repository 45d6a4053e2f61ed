import type { Stopwatch } from '../../base/clock.js';
import type { ScriptEvent } from '../scripts/script-events.js';
import type { GrantedPermit } from './permit.js';
import type { SettleResult } from './settlement.js';

/**
 * Why a claim call returned no more claims.
 * - `more`: it returned as many as wanted. `nothing`: nothing is left, or nothing is due.
 * - `inFlight`: the maximum number of requests is in flight. `quota`: the window is used up.
 * - Claims would be lost with what shows that they may exist, if Redis lost its last writes now (losses.lua). `newWorker`: the process has
 *   just joined the lane's workers, or sends larger batches than before. `newCampaign`: what waits was launched or resumed just now.
 *   `joining`: Redis may lose more than before. `burst`: as many were claimed within the loss time as may be.
 * - `clock`: this process cannot tell yet whether the clock of Redis was changed (record.lua).
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
  'newWorker',
  'newCampaign',
  'joining',
  'burst',
  'clock',
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
  readonly mayLoseMs: number;
  /** The same as soon as Redis has a replica. */
  readonly withReplicaMs: number;
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

/** The claims of a lane's sends, or of its polls. Each call is safe to repeat. */
export interface Claims<Claim, Settlement> {
  /** Claims the next batches, or the requests that are due for a poll. */
  take(call: ClaimCall): Promise<ClaimReply<Claim>>;
  /** Whether the claim still holds, and so its permit. */
  confirm(claim: Claim): Promise<boolean>;
  /** Says how they ended. */
  settle(settlements: readonly Settlement[]): Promise<SettleResult>;
}
