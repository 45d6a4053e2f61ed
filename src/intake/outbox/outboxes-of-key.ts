import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { indexedOutboxes } from './definition/outbox-index.js';
import { isWriter } from './definition/writers.js';
import type { CancelledAll } from './messages/cancel-all.js';

/** The outboxes of a revoked API key. `lane`: its name. */
export interface OutboxesOfKey {
  /** Those to which only the key wrote: what waited in them is cancelled. */
  readonly emptied: readonly { readonly name: string; readonly lane: string; readonly cancelled: number }[];
  /** Those to which others may have written, too: what waits in them is still sent. */
  readonly shared: readonly { readonly name: string; readonly lane: string }[];
}

interface Emptying {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'nameOf'>;
  /** Cancels everything that waits in an outbox. */
  cancelAll(name: string, lane: string): Promise<CancelledAll>;
}

/** Cancels what waits in the outboxes to which only this key wrote, and lists the others to which it wrote. */
export async function emptyOutboxesOf(
  { redis, keys, finder, cancelAll }: Emptying,
  key: string,
): Promise<OutboxesOfKey> {
  const emptied: { name: string; lane: string; cancelled: number }[] = [];
  const shared: { name: string; lane: string }[] = [];
  for (const { name, lane: id } of await indexedOutboxes(redis, keys)) {
    const { writes, isOnly } = await isWriter(redis, keys, id, name, key);
    if (!writes) continue;
    const lane = await finder.nameOf(id);
    if (isOnly) emptied.push({ name, lane, cancelled: (await cancelAll(name, lane)).cancelled });
    else shared.push({ name, lane });
  }
  return { emptied, shared };
}
