import type { Stopwatch } from '../../base/clock.js';
import type { Permit } from '../../service/client/messaging-client.js';
import type { ScriptRules } from '../scripts/script-rules.js';

/*
 *   permits.lua ──► claim ──► grantPermit ──► confirmPermit (if old) ──► client.send(…, permit) ──► first byte
 *
 * A process or its machine may be suspended anywhere on this path, so each step checks the age again, on all clocks of the machine (clock.ts).
 * A request that starts just before its permit expires may end after its claim is overdue. Until then, `safeAt` (the claim, two timeouts,
 * and a margin) keeps its batch from being sent again, and the ledger counts it for one more timeout.
 */

/** The permit that the gate grants to all claims of one reply. */
export interface GrantedPermit extends Permit {
  /** The time since its claims were made, at which they are known to have held. */
  readonly age: Stopwatch;
}

/** For how long a claim holds. The margin is a sixth of the timeout, 0.5 to 5 s. */
export type PermitTiming = Pick<ScriptRules, 'timeout' | 'margin'>;

/**
 * The permit of a claim call: one clock for all claims of its reply, of which each may start one request. Its age counts from the call,
 * because the process may be suspended before it reads the reply.
 */
export function grantPermit({ timeout, margin }: PermitTiming, age: Stopwatch): GrantedPermit {
  return { age, isExpired: () => age() > timeout + margin };
}

/**
 * A permit that expires `withinMs` after the claim: when the window closes, when the batch lapses, or when the service no longer remembers
 * the request that is repeated.
 */
export function limitPermit(permit: GrantedPermit, withinMs: number): GrantedPermit {
  return { ...permit, isExpired: () => permit.isExpired() || permit.age() > withinMs };
}

/** The permit of a reply without claims. */
export const NO_PERMIT: GrantedPermit = { age: () => Number.POSITIVE_INFINITY, isExpired: () => true };

/** A claim older than this is confirmed before its request is sent. */
export const CONFIRM_AFTER_MS = 2_000;

/**
 * Returns the permit if its claim still holds, otherwise undefined. A claim is overdue a timeout and a margin after it was made.
 * One that is older than 2 s, or than the margin, is confirmed, so that the request of a process that is not suspended ends before that. The
 * process may be suspended during the confirmation too, so this repeats until a confirmation is recent enough. A claim that
 * cannot be confirmed does not hold. `isAlwaysConfirmed`: it is confirmed once in any case.
 */
export async function confirmPermit(
  { rules, startStopwatch }: { readonly rules: PermitTiming; startStopwatch(): Stopwatch },
  permit: GrantedPermit,
  stillHolds: () => Promise<boolean>,
  isAlwaysConfirmed = false,
): Promise<Permit | undefined> {
  const recentMs = Math.min(CONFIRM_AFTER_MS, rules.margin);
  let sinceHeld = permit.age;
  for (let mustConfirm = isAlwaysConfirmed; mustConfirm || sinceHeld() > recentMs; mustConfirm = false) {
    sinceHeld = startStopwatch();
    if (!(await stillHolds().catch(() => false))) return undefined;
  }
  return permit;
}
