import { mustHaveRoom } from '../../../base/redis/memory.js';
import { RedisFullError } from '../../../base/redis/unavailable.js';
import { SETTLED_STATES } from '../../../campaign/states/recipient.js';
import type { Lane } from '../../../engine/lane/lane.js';
import type { StoredMessage } from '../../../engine/recipients/outbox-messages.js';
import type { WaitingMessage } from '../definition/stored-message.js';
import type { Entry, OutboxStore, PutReply } from './store.js';

/**
 * What puts answer when Redis has no room and they would change nothing, because a client repeats them; null while Redis has room. Rejects
 * with a RedisFullError if one of them would store something. `now`: ms.
 */
export async function repliesWhenFull(
  { redis, monotonic }: Pick<Lane, 'redis' | 'monotonic'>,
  store: Pick<OutboxStore, 'find'>,
  messages: readonly Entry[],
  now: number,
): Promise<readonly PutReply[] | null> {
  try {
    await mustHaveRoom(redis, monotonic);
    return null;
  } catch (error) {
    if (!(error instanceof RedisFullError)) throw error;
    const replies: PutReply[] = [];
    for (const { id, message } of messages) {
      const reply = replyTo(message, await store.find(id), Math.floor(now / 1_000));
      if (reply === null) throw error;
      replies.push(reply);
    }
    return replies;
  }
}

/** What a put answers that changes nothing of what is stored; null if it would change something. `second`: now. */
function replyTo(message: WaitingMessage, stored: StoredMessage | null, second: number): PutReply | null {
  if (stored === null) return null;
  const [version, before] = [message.version ?? -1, stored.version ?? -1];
  const { state, due } = stored;
  if (state === 'cancelled' || state === 'lapsed')
    return version > before ? null : { outcome: state, due: null };
  if (version >= 0 && version < before) return { outcome: 'stale', due };
  const isSame =
    // One that is due already stays as it is.
    (message.due === 0 ? due <= second : message.due === due) &&
    message.number === stored.to &&
    message.reference === stored.reference &&
    message.values.length === stored.values.length &&
    message.values.every((value, at) => value === stored.values[at]);
  const isWaiting = state === 'planned' && stored.again === '';
  // Of a final message, only Redis can tell whether the values are the same.
  if (SETTLED_STATES.includes(state) && message.values.length > 0) return null;
  if (isSame && (!isWaiting || version < 0 || version === before)) return { outcome: 'unchanged', due };
  return isWaiting ? null : { outcome: 'sent', due: null };
}
