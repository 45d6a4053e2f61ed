import { activate, bySweep } from '../../../engine/jobs/wake.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { outboxId } from '../../../engine/recipients/outbox-messages.js';
import type { LaneStore } from '../../../engine/scripts/lane-script.js';
import { inFlightOf } from '../../../engine/store/campaigns.js';
import { RecoveringError } from '../definition/errors.js';
import { outboxStore } from './store.js';

/** What {@link cancelAllWaiting} did. */
export interface CancelledAll {
  /** Messages that are never sent. */
  readonly cancelled: number;
  /** Requests that are still running; their messages may be sent. */
  readonly inFlight: number;
}

/**
 * Cancels every message of an outbox that was waiting when this was called. One that is put meanwhile may be cancelled or not. Repeating it
 * changes nothing more. Rejects with a RecoveringError if some stay because Redis may have lost their claims. `time`: of Redis, ms, for tests.
 */
export async function cancelAllWaiting(
  lane: LaneStore & Pick<Lane, 'emit'>,
  name: string,
  time?: number,
): Promise<CancelledAll> {
  const { all, cancelAll } = outboxStore(lane, name);
  const done: Awaited<ReturnType<typeof cancelAll>>[] = [];
  const cancel = async (): Promise<void> => {
    for await (const some of all()) {
      const waiting = [...some].flatMap(([id, { state }]) => (state === 'planned' ? [id] : []));
      if (waiting.length > 0) done.push(await cancelAll(waiting, time));
    }
  };
  await activate(lane, cancel, bySweep);
  lane.emit(done.flatMap(({ events }) => events));
  const outcomes = done.flatMap((one) => one.outcomes);
  if (outcomes.includes('recovering')) throw new RecoveringError();
  const cancelled = outcomes.filter((outcome) => outcome === 'cancelled').length;
  return { cancelled, inFlight: await inFlightOf(lane, [outboxId(name)]) };
}
