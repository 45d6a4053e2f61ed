import type { Redis } from '../../../base/redis/connection.js';
import { hashEntries } from '../../../base/redis/hash-entries.js';
import type { Keys, LaneId } from '../../../base/redis/keys.js';
import { orNull, readOrNull } from '../../../engine/recipients/damaged.js';
import { outboxId, outboxKeys, parseMessage } from '../../../engine/recipients/outbox-messages.js';
import { readState, STATE_DEFAULTS } from '../../../engine/store/campaigns.js';
import { editionOf, parseSettings, readableSettings, stateOf } from './settings.js';

/** After its state was lost, an outbox numbers its messages from the next multiple on, so that none has the number of one that is forgotten. */
const SKIP = 1e6;
const READ_AT_ONCE = 1_000;

/**
 * Makes an outbox readable whose settings or state are damaged: keeps each setting that can be read, and counts its messages again. Then it is
 * paused. Returns whether it was damaged. Repeating it is harmless.
 */
export async function makeOutboxReadable(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  name: string,
): Promise<boolean> {
  const key = outboxKeys(keys, lane, name).fixed.outbox;
  const json = await redis.hget(key, 'settings');
  if (json === null) return false;
  const isDamaged = readOrNull(() => parseSettings(json)) === null;
  const settings = readableSettings(json);
  if (isDamaged) await redis.hset(key, { settings: JSON.stringify(settings), edition: editionOf(settings) });
  const [states, id] = [keys.lane(lane, 'states'), outboxId(name)];
  const isLost =
    (await redis.hexists(states, id)) === 1 && (await orNull(readState(redis, keys, lane, id))) === null;
  if (!isLost) return isDamaged;
  const { counts, total, last } = await countMessages(redis, keys, lane, name);
  const state = {
    ...STATE_DEFAULTS,
    ...stateOf(settings),
    outbox: name,
    state: 'paused',
    pauseReason: 'its stored state could not be read',
    batch: 1,
    ordinals: (Math.floor(last / SKIP) + 1) * SKIP,
    total,
    counts,
  };
  await redis.hset(states, id, JSON.stringify(state));
  await redis.zrem(keys.lane(lane, 'running'), id);
  return true;
}

async function countMessages(redis: Redis, keys: Keys, lane: LaneId, name: string) {
  const seen = new Map<string, string>();
  let last = 0;
  const { messages } = outboxKeys(keys, lane, name).fixed;
  for await (const [id, json] of hashEntries(redis, messages, READ_AT_ONCE)) {
    const message = readOrNull(() => parseMessage(json));
    if (message === null) continue;
    seen.set(id, message.state);
    last = Math.max(last, message.number);
  }
  const counts: Record<string, number> = {};
  for (const state of seen.values()) counts[state] = (counts[state] ?? 0) + 1;
  return { counts, total: seen.size, last };
}
