import { InputError } from '../../../campaign/errors/errors.js';
import type { Time } from '../../../campaign/time/moment.js';
import type { OutboxMessageStatus } from '../../../campaign/views/outbox-views.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { outboxKeys, type StoredMessage } from '../../../engine/recipients/outbox-messages.js';
import { outboxStore } from '../messages/store.js';
import { messageViewer } from './message-views.js';

/** Which messages that wait to list. Number and reference are compared as a whole. */
export interface WaitingFilter {
  /** E.164. */
  readonly to?: string | undefined;
  readonly reference?: string | undefined;
  /** Those that are due at this time or later, ms since the epoch. */
  readonly from?: number | undefined;
  /** Those that are due before this time, ms. */
  readonly until?: number | undefined;
}

/** Which page of them. */
interface PageOptions extends WaitingFilter {
  /** 1 to 500; default 50. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** The same as programs write it. */
export interface WaitingPageOptions extends Omit<PageOptions, 'from' | 'until'> {
  /** Those that are due at this time or later: ms since the epoch, or ISO 8601 with an offset. */
  readonly from?: Time | undefined;
  /** Those that are due before this time. */
  readonly until?: Time | undefined;
}

/** Messages of a page, and the `cursor` of the next one; null on the last one. */
export interface WaitingPage {
  readonly messages: readonly OutboxMessageStatus[];
  readonly nextCursor: string | null;
}

const [DEFAULT_PAGE, MAX_PAGE] = [50, 500];
const READ_AT_ONCE = 1_000;
/** Messages that are read for a page: one with a filter may match few of millions. */
const READ_PER_PAGE = 50_000;

/**
 * Lists the messages that wait, by the time from which they may be sent. A message that is put or sent meanwhile may be missing, or be there
 * twice. A page may be short before the last one.
 */
export async function pageOfWaiting(
  lane: Lane,
  name: string,
  { limit = DEFAULT_PAGE, cursor, ...filter }: PageOptions,
): Promise<WaitingPage> {
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE))
    throw new InputError(`ask for 1 to ${MAX_PAGE} messages`, { field: 'limit' });
  const position = positionOf(cursor);
  const { due } = outboxKeys(lane.keys, lane.id, name).fixed;
  const store = outboxStore(lane, name);
  const view = await messageViewer(lane, name);
  const messages: OutboxMessageStatus[] = [];
  let rank = await firstRank(lane, due, position, Math.max(0, filter.from ?? 0));
  for (let read = 0; read < READ_PER_PAGE; read += READ_AT_ONCE) {
    const flat = await lane.redis.zrange(due, String(rank), String(rank + READ_AT_ONCE - 1), 'WITHSCORES');
    const ids = flat.filter((_, at) => at % 2 === 0);
    const stored = await store.findAll(ids);
    for (const [at, id] of ids.entries()) {
      const score = Number(flat[2 * at + 1]);
      const message = stored[at];
      if (message == null || message.state !== 'planned' || isPassed(position, score, id)) continue;
      if (!matches(message, filter)) continue;
      messages.push(await view(id, message));
      if (messages.length === limit) return { messages, nextCursor: `${score} ${id}` };
    }
    if (ids.length < READ_AT_ONCE) break;
    rank += READ_AT_ONCE;
    if (read + READ_AT_ONCE >= READ_PER_PAGE)
      return { messages, nextCursor: `${Number(flat.at(-1))} ${ids.at(-1)}` };
  }
  return { messages, nextCursor: null };
}

/** The last message of the page before. */
type Position = { readonly score: number; readonly id: string } | null;

function positionOf(after: string | undefined): Position {
  if (after === undefined) return null;
  const [, score, id] = /^(\d+) (.*)$/s.exec(after) ?? [];
  if (score === undefined || id === undefined)
    throw new InputError('this is no position in the messages that wait', { field: 'cursor' });
  return { score: Number(score), id };
}

function matches({ to, reference, due }: StoredMessage, filter: WaitingFilter): boolean {
  const at = due * 1_000;
  return (
    (filter.to === undefined || to === filter.to) &&
    (filter.reference === undefined || reference === filter.reference) &&
    (filter.from === undefined || at >= filter.from) &&
    (filter.until === undefined || at < filter.until)
  );
}

/** Whether a page before has had it: those that are due in the same millisecond are sorted by their ids, as bytes. */
function isPassed(position: Position, score: number, id: string): boolean {
  if (position === null || score > position.score) return false;
  return score < position.score || Buffer.compare(Buffer.from(id), Buffer.from(position.id)) <= 0;
}

/**
 * The rank of the first message to look at. `from`: the first time that is wanted, ms; none of the messages that are due then may be claimed
 * sooner.
 */
async function firstRank(
  { redis }: Pick<Lane, 'redis'>,
  due: string,
  position: Position,
  from: number,
): Promise<number> {
  if (position === null) return redis.zcount(due, '-inf', `(${from}`);
  const [score, rank] = await Promise.all([redis.zscore(due, position.id), redis.zrank(due, position.id)]);
  if (Number(score ?? -1) === position.score && rank !== null) return rank + 1;
  return redis.zcount(due, '-inf', `(${position.score}`);
}
