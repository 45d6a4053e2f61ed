import type { Clock } from '../../../base/clock.js';
import type { Redis } from '../../../base/redis/connection.js';
import type { Keys, LaneId } from '../../../base/redis/keys.js';
import { loadScript } from '../../../base/redis/script.js';
import type { Actor } from '../../../campaign/states/actor.js';
import { outboxKeys } from '../../../engine/recipients/outbox-messages.js';

/*
 * Who has stored messages in an outbox, in fields of its hash: `writer:key:ID`, `writer:cli`, and `writer:library`.
 */

/** A process notes the same writer of an outbox again after this time, in case Redis has lost the note. */
const NOTE_EVERY_MS = 60_000;
const MAX_NOTED = 10_000;

const noteScript = loadScript(import.meta.url, './note-writer.lua', () => undefined);

const writerOf = ({ kind, id }: Pick<Actor, 'kind' | 'id'>): string =>
  `writer:${kind}${id === null ? '' : `:${id}`}`;

/** Notes who writes to outboxes. The returned function resolves when the writer is noted, before its messages are stored. */
export function writerNotes(redis: Redis, keys: Keys, clock: Clock) {
  const notedAt = new Map<string, number>();
  return async (lane: LaneId, name: string, actor: Pick<Actor, 'kind' | 'id'>): Promise<void> => {
    const writer = writerOf(actor);
    const known = `${writer} ${name} ${lane}`;
    const now = clock();
    if (now - (notedAt.get(known) ?? 0) < NOTE_EVERY_MS) return;
    const { outbox } = outboxKeys(keys, lane, name).fixed;
    await noteScript.run(redis, { outbox }, { writer, at: now });
    if (notedAt.size >= MAX_NOTED) notedAt.clear();
    notedAt.set(known, now);
  };
}

/** Whether an API key may have messages in an outbox, and whether no other writer may have any. */
export async function isWriter(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  name: string,
  key: string,
): Promise<{ readonly writes: boolean; readonly isOnly: boolean }> {
  const fields = await redis.hkeys(outboxKeys(keys, lane, name).fixed.outbox);
  const writer = writerOf({ kind: 'key', id: key });
  const writers = fields.filter((field) => field.startsWith('writer:'));
  return { writes: writers.includes(writer), isOnly: writers.every((one) => one === writer) };
}
