import { activate, bySweep } from '../../../engine/jobs/wake.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { outboxId, outboxKeys } from '../../../engine/recipients/outbox-messages.js';
import type { LaneStore } from '../../../engine/scripts/lane-script.js';
import { inFlightOf } from '../../../engine/store/campaigns.js';
import { RecoveringError } from '../definition/errors.js';
import { type MessageFilter, messageScan } from '../views/scan-messages.js';
import { type CancelOutcome, outboxStore } from './store.js';

/** What {@link cancelAllWaiting} did. */
export interface CancelledAll {
  /** Messages that are never sent. */
  readonly cancelled: number;
  /** Requests that are still running; their messages may be sent. */
  readonly inFlight: number;
}

/**
 * Cancels messages that wait, a batch of ids at a time, and returns what was done with each. Nothing is returned before all of them are done:
 * someone who reads the results may leave in the middle. Rejects with a RecoveringError if some stay because Redis may have lost their
 * claims; repeating it changes nothing more. `time`: of Redis, ms, for tests.
 */
export async function cancelEach(
  lane: LaneStore & Pick<Lane, 'emit'>,
  name: string,
  batches: Iterable<readonly string[]> | AsyncIterable<readonly string[]>,
  time?: number,
): Promise<ReadonlyMap<string, CancelOutcome>> {
  const { cancelAll } = outboxStore(lane, name);
  const done = new Map<string, CancelOutcome>();
  const cancel = async (): Promise<void> => {
    for await (const batch of batches) {
      const ids = [...new Set(batch)].filter((id) => !done.has(id));
      if (ids.length === 0) continue;
      const { outcomes, events } = await cancelAll(ids, time);
      lane.emit(events);
      for (const [at, id] of ids.entries()) done.set(id, outcomes[at] ?? 'unknown');
    }
  };
  await activate(lane, cancel, bySweep);
  if ([...done.values()].includes('recovering')) throw new RecoveringError();
  return done;
}

/** Cancels every message of an outbox that was waiting when this was called, as {@link cancelEach} does. One that is put meanwhile may be cancelled or not. */
export async function cancelAllWaiting(
  lane: LaneStore & Pick<Lane, 'emit'>,
  name: string,
  time?: number,
): Promise<CancelledAll> {
  const waiting = idsOf(lane, name, { state: 'waiting' });
  const done = await cancelEach(lane, name, waiting, time);
  const cancelled = [...done.values()].filter((outcome) => outcome === 'cancelled').length;
  return { cancelled, inFlight: await inFlightOf(lane, [outboxId(name)]) };
}

/** Messages that are read at a time to find those that are meant. */
const READ_AT_ONCE = 1_000;

/** The ids of the messages of an outbox that match, in no order; one may come twice. */
export async function* idsOf(lane: LaneStore, name: string, filter: MessageFilter): AsyncGenerator<string[]> {
  const scan = messageScan(lane.redis, outboxKeys(lane.keys, lane.id, name).fixed.messages, filter);
  for (let cursor = '0'; ; ) {
    const { next, found } = await scan(cursor, READ_AT_ONCE);
    yield found.map(([id]) => id);
    if (next === '0') return;
    cursor = next;
  }
}
