import type { Redis } from '../../../base/redis/connection.js';
import type { RecipientState } from '../../../campaign/states/recipient.js';
import type { MessageState } from '../../../campaign/views/outbox-views.js';
import { readOrNull } from '../../../engine/recipients/damaged.js';
import { parseMessage, type StoredMessage, stateIn } from '../../../engine/recipients/outbox-messages.js';

/*
 * Looks for messages of an outbox. There is no index by number, reference, or tag: each message is read, and one that cannot match is not
 * parsed.
 */

/** Which messages to look for. Texts are compared as a whole. */
export interface MessageFilter {
  readonly state?: MessageState | undefined;
  /** E.164. */
  readonly to?: string | undefined;
  readonly reference?: string | undefined;
  readonly tag?: string | undefined;
}

/** A part of what was stored, and where the next part begins: '0' at the end. */
interface Part {
  readonly next: string;
  /** How many messages were read. */
  readonly read: number;
  readonly found: readonly (readonly [id: string, message: StoredMessage])[];
}

/** The longest part of a text that every JSON has as it is. */
const plainPart = (text: string): string =>
  (text.match(/[\w .:+-]+/g) ?? []).reduce(
    (longest, part) => (part.length > longest.length ? part : longest),
    '',
  );

/** What finds the messages that match, a part at a time, as `HSCAN` does. */
export function messageScan(redis: Redis, messagesKey: string, { state, to, reference, tag }: MessageFilter) {
  const wanted: RecipientState | undefined = state === 'waiting' ? 'planned' : state;
  const parts = [to?.slice(1), reference, tag].flatMap((text) =>
    text === undefined ? [] : [plainPart(text)],
  );
  const matches = (message: StoredMessage): boolean =>
    (wanted === undefined || message.state === wanted) &&
    (to === undefined || message.to === to) &&
    (reference === undefined || message.reference === reference) &&
    (tag === undefined || message.tag === tag);

  return async (cursor: string, count: number): Promise<Part> => {
    const [next, flat] = await redis.hscan(messagesKey, cursor, 'COUNT', count);
    const found: [string, StoredMessage][] = [];
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const [id = '', raw = ''] = [flat[at], flat[at + 1]];
      if (!parts.every((part) => raw.includes(part))) continue;
      if (wanted !== undefined && stateIn(raw) !== wanted) continue;
      const message = readOrNull(() => parseMessage(raw));
      if (message !== null && matches(message)) found.push([id, message]);
    }
    return { next, read: flat.length / 2, found };
  };
}
