import { InputError } from '../../../campaign/errors/errors.js';
import type { OutboxMessageStatus } from '../../../campaign/views/outbox-views.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { outboxKeys, type StoredMessage } from '../../../engine/recipients/outbox-messages.js';
import type { WaitingPage } from './list-waiting.js';
import { messageViewer } from './message-views.js';
import { type MessageFilter, messageScan } from './scan-messages.js';

/** Which page of which messages. */
export interface MessagePageOptions extends MessageFilter {
  /** 1 to 500; default 50. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

const [DEFAULT_PAGE, MAX_PAGE] = [50, 500];
/** Messages that Redis reads at a time. */
const READ_AT_ONCE = 1_000;
/** Messages that are read for a page: a filter may match few of millions. */
const READ_PER_PAGE = 50_000;
/** Redis may return some more than it was asked for: a large page ends before so few fit that they might not. */
const SPARE = 32;

/**
 * Lists messages in every state, in no order, as Redis scans them: one that is there all the time is listed, and maybe twice. The cursor is
 * that of the scan; with ` ID`, the part there was too large for a page, which ended with that id. A page may be short, or empty, before
 * the last one.
 */
export async function pageOfMessages(
  lane: Lane,
  name: string,
  { limit = DEFAULT_PAGE, cursor, ...filter }: MessagePageOptions,
): Promise<WaitingPage> {
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE))
    throw new InputError(`ask for 1 to ${MAX_PAGE} messages`, { field: 'limit' });
  // That of a scan is less than the size of the hash table, and that of the messages that wait begins with a time of 13 digits.
  const [, start, last] = /^(\d{1,12})(?: (.*))?$/s.exec(cursor ?? '0') ?? [];
  if (start === undefined) throw new InputError('this is no position in the messages', { field: 'cursor' });
  const scan = messageScan(lane.redis, outboxKeys(lane.keys, lane.id, name).fixed.messages, filter);
  const view = await messageViewer(lane, name);
  const page = async (found: Found, nextCursor: string | null): Promise<WaitingPage> => {
    const messages: OutboxMessageStatus[] = [];
    for (const [id, message] of found) messages.push(await view(id, message));
    return { messages, nextCursor };
  };
  if (last !== undefined) return pageOfPart();

  const isAll = Object.values(filter).every((value) => value === undefined);
  const found: Found = [];
  let at = start;
  let count = Math.max(1, limit - SPARE);
  for (let read = 0; read < READ_PER_PAGE; ) {
    const part = await scan(at, count);
    if (found.length + part.found.length > limit) {
      if (found.length > 0) return page(found, at);
      if (count === 1) return pageOfPart();
      // It is read again, in smaller parts.
      count = Math.ceil(count / 4);
      continue;
    }
    found.push(...part.found);
    at = part.next;
    if (at === '0') return page(found, null);
    read += part.read;
    const room = limit - found.length - SPARE;
    if (found.length === limit || (room < 1 && limit > SPARE)) break;
    count = isAll ? Math.max(1, room) : READ_AT_ONCE;
  }
  return page(found, at);

  /** A page of a part that is larger: by its ids, which do not change. */
  async function pageOfPart(): Promise<WaitingPage> {
    const { found, next } = await scan(start ?? '0', 1);
    const sorted = found.toSorted(([a], [b]) => (a < b ? -1 : 1));
    // Redis keeps a small hash as one part. Of a larger one, another part may be here if the id is gone by now: then it is listed as a whole.
    const isSame = (start === '0' && next === '0') || sorted.some(([id]) => id === last);
    const left = last !== undefined && isSame ? sorted.filter(([id]) => id > last) : sorted;
    const some = left.slice(0, limit);
    const end = some.at(-1);
    if (end !== undefined && some.length < left.length) return page(some, `${start} ${end[0]}`);
    return page(some, next === '0' ? null : next);
  }
}

type Found = (readonly [id: string, message: StoredMessage])[];
