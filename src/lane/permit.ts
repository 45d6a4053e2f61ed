import type { Permit } from '../gateway/permit.js';
import type { Lane } from './lane.js';
import type { ScriptRules } from './rules.js';

/*
 *   gate_permits (gate.lua) ──► claim ──► grantPermit ──► confirmPermit (if old) ──► client.send(…, permit) ──► first byte
 *
 * A process may stand still anywhere on this path while others take its claim for overdue. Each step looks at the age again.
 */

/** A permit as the gate grants it, for all claims of one reply. */
export interface GrantedPermit extends Permit {
  /** When its claims were known to hold, ms on the monotonic clock. */
  readonly heldAt: number;
}

type Timing = Pick<ScriptRules, 'timeout' | 'margin'>;

/** The permit of the claims that a call asked for at `askedAt`: the process may have been stopped before it read the reply. */
export function grantPermit({ timeout, margin }: Timing, askedAt: number): GrantedPermit {
  return { heldAt: askedAt, notAfter: askedAt + timeout + margin };
}

/** The permit of a reply without claims. */
export const NO_PERMIT: GrantedPermit = {
  heldAt: Number.NEGATIVE_INFINITY,
  notAfter: Number.NEGATIVE_INFINITY,
};

/** An older claim is confirmed before its request is sent in any case. */
const CONFIRM_AFTER_MS = 2_000;

/**
 * The permit, if its claim still holds; else undefined. A claim older than 2 s, or than the margin, is confirmed: a request that
 * starts then is over before its claim counts as overdue, which is a timeout and a margin after it was made. The claim is
 * confirmed until the answer itself is young, because the process may be stopped while it waits for that, too. A claim
 * that cannot be confirmed does not hold.
 */
export async function confirmPermit(
  { rules, monotonic }: { readonly rules: Timing } & Pick<Lane, 'monotonic'>,
  permit: GrantedPermit,
  stillHolds: () => Promise<boolean>,
): Promise<Permit | undefined> {
  const youngMs = Math.min(CONFIRM_AFTER_MS, rules.margin);
  let { heldAt } = permit;
  while (monotonic() - heldAt > youngMs) {
    heldAt = monotonic();
    if (!(await stillHolds().catch(() => false))) return undefined;
  }
  return permit;
}
