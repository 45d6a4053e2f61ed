import { atMostOnce } from './checks/at-most-once.js';
import { completeness } from './checks/completeness.js';
import { conservation } from './checks/conservation.js';
import { monotonicity } from './checks/monotonicity.js';
import { pauseMeansPause } from './checks/pause.js';
import { quota } from './checks/quota.js';
import { windows } from './checks/windows.js';
import { eventsOf, type HistoryEvent } from './history.js';

/** The checks of every history. They use nothing but the history. */
export const CHECKS = {
  'at most once': atMostOnce,
  conservation,
  quota,
  monotonicity,
  completeness,
  'pause means pause': pauseMeansPause,
  windows,
  'the attack': (events: readonly HistoryEvent[]) => eventsOf(events, 'problem').map(({ what }) => what),
} as const;

/** A failed check and what is wrong. */
export interface Violation {
  readonly check: keyof typeof CHECKS;
  readonly what: string;
}

/** Every violation in a history. */
export function violationsOf(events: readonly HistoryEvent[]): Violation[] {
  return (Object.keys(CHECKS) as (keyof typeof CHECKS)[]).flatMap((check) =>
    CHECKS[check](events).map((what) => ({ check, what })),
  );
}
