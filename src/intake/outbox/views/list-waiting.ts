import { InputError } from '../../../campaign/errors/errors.js';
import type { Time } from '../../../campaign/time/moment.js';
import type { OutboxMessageStatus } from '../../../campaign/views/outbox-views.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { packRecipient } from '../../../engine/recipients/packed-recipient.js';
import { recipientReader } from '../../../reporting/recipient-reader.js';
import { outboxKeys } from '../definition/outbox-keys.js';
import { unpackMessage } from '../definition/stored-message.js';
import { outboxStore } from '../messages/store.js';
import { plannedMessages } from '../waves/planned-messages.js';
import { contentOfWaiting, contentOfWave, inWave, unsent, versionsIn } from './message-views.js';

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
 * Lists the messages that wait: first those that are planned and not claimed, and then the others by their time. A message that is put or
 * planned meanwhile may be missing, or be there twice. A page may be short before the last one.
 */
export async function pageOfWaiting(
  lane: Lane,
  name: string,
  { limit = DEFAULT_PAGE, cursor, ...filter }: PageOptions,
): Promise<WaitingPage> {
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE))
    throw new InputError(`ask for 1 to ${MAX_PAGE} messages`, { field: 'limit' });
  const position = positionOf(cursor);
  const messages: OutboxMessageStatus[] = [];
  if (position.kind !== 'waiting')
    for await (const [message, at] of plannedAfter(lane, name, position)) {
      if (!matches(message, filter)) continue;
      messages.push(message);
      if (messages.length === limit) return { messages, nextCursor: at };
    }
  const next = await addWaiting(lane, name, position, filter, limit, messages);
  return { messages, nextCursor: next };
}

type Position =
  | { readonly kind: 'start' }
  | { readonly kind: 'planned'; readonly wave: string; readonly ordinal: number }
  | { readonly kind: 'waiting'; readonly score: number; readonly id: string };

function positionOf(after: string | undefined): Position {
  if (after === undefined) return { kind: 'start' };
  const [, kind, first = '', rest = ''] = /^([pw]) (\S+) (.*)$/s.exec(after) ?? [];
  if (kind === 'p') return { kind: 'planned', wave: first, ordinal: Number(rest) };
  if (kind === 'w') return { kind: 'waiting', score: Number(first), id: rest };
  throw new InputError('this is no position in the messages that wait', { field: 'cursor' });
}

function matches({ to, reference, sendAt }: OutboxMessageStatus, filter: WaitingFilter): boolean {
  const at = Date.parse(sendAt ?? '');
  return (
    (filter.to === undefined || to === filter.to) &&
    (filter.reference === undefined || reference === filter.reference) &&
    (filter.from === undefined || at >= filter.from) &&
    (filter.until === undefined || at < filter.until)
  );
}

/** Whether a packed message may match, so that most of millions need not be unpacked. */
function packedFilter({ to, reference }: WaitingFilter): (packed: Buffer) => boolean {
  const parts: Buffer[] = [];
  // Without the length of the reference, which is the last byte.
  if (to !== undefined) parts.push(packRecipient({ number: to, values: [] }).subarray(0, -1));
  if (reference !== undefined) parts.push(Buffer.from(reference));
  return (packed) => parts.every((part) => packed.includes(part));
}

/** The messages that are planned and not claimed, each with its position. */
async function* plannedAfter(
  lane: Lane,
  name: string,
  position: Position,
): AsyncGenerator<readonly [OutboxMessageStatus, string]> {
  const store = outboxStore(lane, name, { lateMs: 0 });
  const waves = await lane.redis.zrange(store.keys.fixed.waves, '0', '-1');
  const known = position.kind === 'planned' ? waves.indexOf(position.wave) : 0;
  for (const wave of waves.slice(Math.max(0, known))) {
    const content = await contentOfWave(lane, wave);
    if (content === null) continue;
    const reader = recipientReader(lane.redis, lane.keys, lane.id, wave);
    const past = position.kind === 'planned' && wave === position.wave ? position.ordinal : -1;
    for await (const some of plannedMessages(lane, wave)) {
      const candidates = new Map(
        some.flatMap((message) => (message.ordinal > past ? [[message.ordinal, message]] : [])),
      );
      const versions = await versionsIn(store, wave, [...candidates.values()]);
      for await (const record of reader.records([...candidates.keys()])) {
        const message = candidates.get(record.ordinal);
        if (message === undefined || record.state !== 'planned') continue;
        const version = versions.get(record.ordinal) ?? null;
        yield [inWave(wave, message, record, version, content), `p ${wave} ${record.ordinal}`];
      }
    }
  }
}

/** Adds messages that are not planned until there are `limit`. Returns the next position. */
async function addWaiting(
  lane: Lane,
  name: string,
  position: Position,
  filter: WaitingFilter,
  limit: number,
  messages: OutboxMessageStatus[],
): Promise<string | null> {
  const { due } = outboxKeys(lane.keys, lane.id, name).fixed;
  const store = outboxStore(lane, name, { lateMs: 0 });
  const content = await contentOfWaiting(lane, name);
  const mayMatch = packedFilter(filter);
  const latest = filter.until === undefined ? Number.POSITIVE_INFINITY : Math.ceil(filter.until / 1_000);
  let rank = await firstRank(lane, due, position, Math.max(0, Math.floor((filter.from ?? 0) / 1_000)));
  for (let read = 0; read < READ_PER_PAGE; read += READ_AT_ONCE) {
    const [first, last] = [String(rank), String(rank + READ_AT_ONCE - 1)];
    const flat = await lane.redis.zrange(due, first, last, 'WITHSCORES');
    const ids = flat.filter((_, at) => at % 2 === 0);
    const stored = await store.read(ids);
    for (const [at, id] of ids.entries()) {
      const score = Number(flat[2 * at + 1]);
      if (score > latest) return null;
      const raw = stored[at];
      if (raw == null || !mayMatch(raw) || isPassed(position, score, id)) continue;
      const message = unpackMessage(raw);
      if (message.kind !== 'waiting') continue;
      const shown = unsent(id, message, content);
      if (matches(shown, filter)) messages.push(shown);
      if (messages.length === limit) return `w ${score} ${id}`;
    }
    if (ids.length < READ_AT_ONCE) return null;
    rank += READ_AT_ONCE;
    if (read + READ_AT_ONCE >= READ_PER_PAGE) return `w ${Number(flat.at(-1))} ${ids.at(-1)}`;
  }
  return null;
}

/** Whether a page before has had it: those that are due in the same second are sorted by their ids, as bytes. */
function isPassed(position: Position, score: number, id: string): boolean {
  if (position.kind !== 'waiting' || score > position.score) return false;
  return score < position.score || Buffer.compare(Buffer.from(id), Buffer.from(position.id)) <= 0;
}

/** The rank of the first message to look at. `second`: the first time that is wanted. */
async function firstRank(
  { redis }: Pick<Lane, 'redis'>,
  due: string,
  position: Position,
  second: number,
): Promise<number> {
  if (position.kind !== 'waiting') return redis.zcount(due, '-inf', `(${second}`);
  const [score, rank] = await Promise.all([redis.zscore(due, position.id), redis.zrank(due, position.id)]);
  if (Number(score ?? -1) === position.score && rank !== null) return rank + 1;
  return redis.zcount(due, '-inf', `(${position.score}`);
}
