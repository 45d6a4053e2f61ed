import type { Events } from '../events/events.js';

/** A flood of refused notifications emits one event in this time. */
const INTERVAL_MS = 60_000;

/** Why notifications were refused: no security token, not readable, or too many of them wait. */
export type RefusalReason = 'token' | 'unreadable' | 'overload';

/** Emits `notifications.refused` at most once a minute per lane and reason, with the number refused since the last event. */
export function refusalEvents(events: Events, monotonic: () => number) {
  const last = new Map<string, { emittedAt: number; count: number }>();
  return (lane: string, reason: RefusalReason, count: number): void => {
    const name = `${reason} ${lane}`;
    const { emittedAt, count: before } = last.get(name) ?? { emittedAt: Number.NEGATIVE_INFINITY, count: 0 };
    const notifications = before + count;
    if (monotonic() - emittedAt < INTERVAL_MS) {
      last.set(name, { emittedAt, count: notifications });
      return;
    }
    last.set(name, { emittedAt: monotonic(), count: 0 });
    events.emit({ type: 'notifications.refused', lane, reason, notifications });
  };
}
