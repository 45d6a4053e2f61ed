import { z } from 'zod';
import type { Lane } from '../../engine/lane/lane.js';
import { type LaneStore, laneScript } from '../../engine/lane/lane-script.js';
import { activate, bySweep } from '../../engine/lane/wake.js';
import { outboxKeys } from './outbox-keys.js';
import { forgetTime } from './store.js';

const cancelWaitingScript = laneScript(import.meta.url, './cancel-waiting.lua', (reply) => {
  const [cancelled, buckets] = z.tuple([z.number(), z.number()]).parse(reply);
  return { cancelled, buckets };
});

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
  const own = outboxKeys(lane.keys, lane.id, name);
  const now = lane.clock();
  const forgetAt = forgetTime(now, retentionMs);
  const args = { name, endedAt: Math.floor(now / 1_000), forgetAt };
  let [cancelled, inFlight] = [0, 0];
  // First what waits, and then what is planned: a message that is planned meanwhile moves from one to the other. A bucket that is split
  // moves messages to a new one, which is the last.
  for (let bucket = 0, buckets = 1; bucket < buckets; bucket += 1) {
    const done = await cancelWaitingScript(lane, args, [], {
      ownKeys: { ...own.fixed, bucket: own.bucket(bucket), list: own.forgetList(forgetAt) },
    });
    buckets = done.buckets;
    cancelled += done.cancelled;
  }
  for (const wave of await lane.redis.zrange(own.fixed.waves, '0', '-1')) {
    const done = await activate(lane, () => lane.commands.campaign('cancel', wave, reason), bySweep);
    if (done.outcome !== 'done') continue;
    lane.emit(done.events);
    cancelled += done.cancelled;
    inFlight += done.inFlight;
  }
  return { cancelled, inFlight };
}
