import { activate, bySweep } from '../../../engine/jobs/wake.js';
import type { Lane } from '../../../engine/lane/lane.js';
import type { LaneStore } from '../../../engine/scripts/lane-script.js';
import { outboxStore } from './store.js';

/** What {@link cancelAllWaiting} did. */
export interface CancelledAll {
  /** Messages that are never sent. */
  readonly cancelled: number;
  /** Requests that are still running; their messages may be sent. */
  readonly inFlight: number;
}

/**
 * Cancels every message of an outbox that was waiting when this was called, also those that are planned and not claimed. One that is put
 * meanwhile may be cancelled or not. Repeating it changes nothing more.
 */
export async function cancelAllWaiting(
  lane: LaneStore & Pick<Lane, 'clock' | 'commands' | 'emit'>,
  name: string,
  retentionMs: number,
  reason: string,
): Promise<CancelledAll> {
  const store = outboxStore(lane, name, { lateMs: 0 });
  let inFlight = 0;
  // First what waits, and then what is planned: a message that is planned meanwhile moves from one to the other.
  let cancelled = await store.cancelWaiting({ now: lane.clock(), retentionMs });
  for (const wave of await lane.redis.zrange(store.keys.fixed.waves, '0', '-1')) {
    const done = await activate(lane, () => lane.commands.campaign('cancel', wave, reason), bySweep);
    if (done.outcome !== 'done') continue;
    lane.emit(done.events);
    cancelled += done.cancelled;
    inFlight += done.inFlight;
  }
  return { cancelled, inFlight };
}
