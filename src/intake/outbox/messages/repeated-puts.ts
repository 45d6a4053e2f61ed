import { mustHaveRoom } from '../../../base/redis/memory.js';
import { RedisFullError } from '../../../base/redis/unavailable.js';
import type { Lane } from '../../../engine/lane/lane.js';
import type { StoredMessage, WaitingMessage } from '../definition/stored-message.js';
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
  switch (stored.kind) {
    case 'waiting': {
      const { due } = stored;
      if (version >= 0 && version < before) return { outcome: 'stale', due, place: null };
      const isSame =
        (version < 0 || version === before) &&
        // One that is due already stays as it is.
        (message.due === 0 ? due <= second : message.due === due) &&
        message.number === stored.number &&
        message.reference === stored.reference &&
        message.values.length === stored.values.length &&
        message.values.every((value, at) => value === stored.values[at]);
      return isSame ? { outcome: 'unchanged', due, place: null } : null;
    }
    case 'planned':
      return { outcome: 'planned', due: null, place: stored };
    case 'cancelled':
    case 'lapsed':
      return version > before ? null : { outcome: stored.kind, due: null, place: null };
    default:
      return stored satisfies never;
  }
}
