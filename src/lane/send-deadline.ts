import type { Clock } from '../clock.js';
import type { ScriptRules } from './rules.js';

/** An older claim is confirmed before it is sent in any case: the process may have been stopped in between. */
const CONFIRM_AFTER_MS = 2_000;

type Timing = Pick<ScriptRules, 'timeout' | 'margin'>;

/**
 * The age from which a claim is confirmed. A request that is begun takes its timeout at most; together with this age it is
 * over before the claim counts as overdue, which is a timeout and a margin after it was made.
 */
const confirmAfterMs = ({ margin }: Timing): number => Math.min(CONFIRM_AFTER_MS, margin);

/**
 * The last moment at which the request of a claim may leave, on that clock: when the claim becomes overdue, and others take it
 * for unknown. Undefined if it does not stand any more. It stood at `claimedAt`; when that is too long ago it is asked, until
 * the answer is not old itself: the process may be stopped while it waits for it, too. What could not be asked does not stand.
 */
export async function lastDeparture(
  { rules }: { readonly rules: Timing },
  monotonic: Clock,
  claimedAt: number,
  confirm: () => Promise<boolean>,
): Promise<number | undefined> {
  const youngMs = confirmAfterMs(rules);
  let stoodAt = claimedAt;
  while (monotonic() - stoodAt > youngMs) {
    stoodAt = monotonic();
    if (!(await confirm().catch(() => false))) return undefined;
  }
  return claimedAt + rules.timeout + rules.margin;
}
