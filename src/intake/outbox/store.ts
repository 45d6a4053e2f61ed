import { z } from 'zod';
import { type LaneStore, laneScript } from '../../engine/lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../engine/lane/script-events.js';
import { statusesKey } from '../../engine/recipients/campaign-keys.js';
import { bucketOf, bucketToSplit, hourOf, MESSAGES_PER_BUCKET, outboxKeys } from './outbox-keys.js';
import {
  packCancelled,
  packMessage,
  paidBytes,
  type StoredMessage,
  unpackMessage,
  type WaitingMessage,
} from './stored-message.js';

/** What a put did, or why it did nothing. `full`: its API key may not store so much. */
export const PUT_OUTCOMES = [
  'created',
  'updated',
  'unchanged',
  'stale',
  'cancelled',
  'lapsed',
  'harvested',
  'full',
] as const;

/** Where a message is in a wave. */
export interface Pointer {
  readonly wave: string;
  readonly ordinal: number;
  readonly version: number | null;
}

/** The result of a put. */
export interface PutReply {
  readonly outcome: (typeof PUT_OUTCOMES)[number];
  /** When the stored message is due, s; null if it is not waiting. */
  readonly due: number | null;
  /** Of a harvested message; otherwise null. */
  readonly pointer: Pointer | null;
}

/** A message to be stored under its id. */
export interface Entry {
  readonly id: string;
  readonly message: WaitingMessage;
  /** The API key that pays for it; default: none. */
  readonly key?: string | undefined;
}

/** The arguments by which scripts learn who pays for a message, and what. */
export const paymentOf = ({ id, message, key = '' }: Entry): [key: string, bytes: number] => [
  key,
  key === '' ? 0 : paidBytes(id, message),
];

/** The outbox does not exist, or takes no messages. */
export class OutboxGoneError extends Error {
  override readonly name = 'OutboxGoneError';
  readonly state: 'missing' | 'closed';

  constructor(state: 'missing' | 'closed') {
    super(`the outbox is ${state}`);
    this.state = state;
  }
}

const PUTS_AT_ONCE = 500;
const SPLITS_AT_ONCE = 200;
/** Splits that are sent without waiting for each other. */
const SPLITS_TOGETHER = 16;
/** Messages that have ended are forgotten together, so that few lists are needed. */
const FORGET_EVERY_S = 3_600;

const pointerOf = (text: string): Pointer | null => {
  const [, ordinal, version, wave] = /^(\d+):(-?\d+):(.+)$/.exec(text) ?? [];
  if (wave === undefined) return null;
  return { wave, ordinal: Number(ordinal), version: version === '-1' ? null : Number(version) };
};

const putOutcome = z.enum(PUT_OUTCOMES);
const putScript = laneScript(import.meta.url, './put-messages.lua', (reply) => {
  const [state, buckets, stored, isEarlier, ...entries] = z
    .tuple([z.enum(['open', 'missing', 'closed', 'moved']), z.number(), z.number(), z.number()])
    .rest(z.union([z.string(), z.number()]))
    .parse(reply);
  const replies: PutReply[] = [];
  for (let at = 0; at + 2 < entries.length; at += 3) {
    const outcome = putOutcome.parse(entries[at]);
    const isWaiting = ['created', 'updated', 'unchanged', 'stale'].includes(outcome);
    const due = isWaiting ? Number(entries[at + 1]) : null;
    replies.push({ outcome, due, pointer: pointerOf(String(entries[at + 2])) });
  }
  return { state, buckets, stored, isEarlier: isEarlier === 1, replies };
});

const CANCEL_OUTCOMES = [
  'cancelled',
  'unknown',
  'stale',
  'lapsed',
  'harvested',
  'missing',
  'full',
  'moved',
] as const;
const cancelScript = laneScript(import.meta.url, './cancel-message.lua', (reply) => {
  const [outcome, buckets, pointer] = z.tuple([z.enum(CANCEL_OUTCOMES), z.number(), z.string()]).parse(reply);
  return { outcome, buckets, pointer: pointerOf(pointer) };
});

const cancelHarvestedScript = laneScript(import.meta.url, './cancel-harvested.lua', (reply) => {
  const [state, events] = z.tuple([z.string(), z.string()]).parse(reply);
  return { state, events: scriptEvents(events) };
});
const replaceScript = laneScript(import.meta.url, './replace-pointer.lua', (reply) =>
  z.literal([1, 0, -1]).parse(reply),
);
const splitScript = laneScript(import.meta.url, './split-bucket.lua', (reply) => reply === 1);

/** The messages of one outbox in Redis. `limit`: how many bytes an API key may store on the lane. `now` is for tests. */
export function outboxStore(lane: LaneStore, name: string, limit = 0) {
  const { redis, keys, id } = lane;
  const own = outboxKeys(keys, id, name);
  let buckets = 1;

  const bucketKey = (message: string): string => own.bucket(bucketOf(message, buckets));
  const knownBuckets = async (): Promise<number> => {
    const text = await redis.hget(own.fixed.outbox, 'buckets');
    if (text === null) throw new OutboxGoneError('missing');
    return Number(text);
  };

  /** Splits a bucket when there are `before`. False if another process has changed something. */
  const splitOne = async (before: number): Promise<boolean> => {
    const from = own.bucket(bucketToSplit(before));
    const ids = await redis.hkeys(from);
    const moves = (message: string): boolean => bucketOf(message, before + 1) === before;
    const stay = ids.filter((message) => !moves(message));
    return splitScript(lane, { buckets: before, stay: stay.length }, [], {
      ownKeys: { ...own.fixed, from, to: own.bucket(before) },
      entryArgs: [...stay, ...ids.filter(moves)],
    });
  };

  /** Splits buckets until they are small again. */
  const split = async (stored: number): Promise<void> => {
    const wanted = Math.min(Math.ceil(stored / MESSAGES_PER_BUCKET), buckets + SPLITS_AT_ONCE);
    while (buckets < wanted) {
      const first = buckets;
      // Until their number has doubled, none of the buckets that are split is a new one.
      const doubled = 2 * (first - bucketToSplit(first));
      const count = Math.min(SPLITS_TOGETHER, wanted - first, doubled - first);
      const done = await Promise.all(Array.from({ length: count }, (_, at) => splitOne(first + at)));
      // Other calls may learn of more buckets meanwhile.
      if (done.every((isDone) => isDone)) buckets = Math.max(buckets, first + count);
      else buckets = await knownBuckets();
    }
  };

  const splitIfFull = async (stored: number): Promise<void> => {
    if (stored > buckets * MESSAGES_PER_BUCKET) await split(stored);
  };

  const putSome = async (
    messages: readonly Entry[],
    now?: number,
  ): Promise<{ replies: PutReply[]; isEarlier: boolean }> => {
    const seconds = [...new Set(messages.map(({ message: { due } }) => due))];
    const numbers = new Map(seconds.map((second, at) => [second, at + 1]));
    const entryArgs: (string | number | Buffer)[] = [];
    for (const entry of messages) {
      const { id: message, message: content } = entry;
      entryArgs.push(message, packMessage(content), numbers.get(content.due) ?? 0, ...paymentOf(entry));
    }
    entryArgs.push(...seconds);
    const secondKeys = seconds.flatMap((second) => [own.dueHour(hourOf(second)), own.dueList(second)]);
    for (;;) {
      const entryKeys = [...messages.map(({ id: message }) => bucketKey(message)), ...secondKeys];
      const args = { name, buckets, count: messages.length, limit, time: now };
      const reply = await putScript(lane, args, entryKeys, { ownKeys: own.fixed, entryArgs });
      if (reply.state === 'missing' || reply.state === 'closed') throw new OutboxGoneError(reply.state);
      buckets = reply.buckets;
      if (reply.state === 'moved') continue;
      await splitIfFull(reply.stored);
      return { replies: reply.replies, isEarlier: reply.isEarlier };
    }
  };

  return {
    keys: own,
    bucketKey,
    /** Notes how many buckets there are. */
    know(known: number): void {
      buckets = known;
    },
    get buckets(): number {
      return buckets;
    },
    /** Splits buckets if they have become too large for so many messages. */
    splitIfFull,
    /**
     * Stores messages. `isEarlier`: the outbox has something to do earlier than before. Throws an {@link OutboxGoneError}. Repeating it
     * changes nothing.
     */
    async put(
      messages: readonly Entry[],
      now?: number,
    ): Promise<{ replies: PutReply[]; isEarlier: boolean }> {
      const replies: PutReply[] = [];
      let isEarlier = false;
      for (let from = 0; from < messages.length; from += PUTS_AT_ONCE) {
        const some = await putSome(messages.slice(from, from + PUTS_AT_ONCE), now);
        replies.push(...some.replies);
        isEarlier ||= some.isEarlier;
      }
      return { replies, isEarlier };
    },

    /**
     * Puts a message under the id of one that has ended in its wave. `changed`: the id has another message by now; `full`: its API key may
     * not store so much.
     */
    async replace(
      entry: Entry,
      { wave, ordinal }: Pointer,
      now?: number,
    ): Promise<'done' | 'changed' | 'full'> {
      const { id: message, message: content } = entry;
      const [key, bytes] = paymentOf(entry);
      const stored = await replaceScript(
        lane,
        {
          name,
          id: message,
          wave,
          ordinal,
          after: packMessage(content),
          dueAt: content.due,
          buckets,
          key,
          bytes,
          limit,
          time: now,
        },
        [],
        {
          ownKeys: {
            ...own.fixed,
            bucket: bucketKey(message),
            hour: own.dueHour(hourOf(content.due)),
            list: own.dueList(content.due),
          },
        },
      );
      return stored === 1 ? 'done' : stored === 0 ? 'changed' : 'full';
    },

    /**
     * Cancels a message that is waiting. A harvested one is left to {@link cancelHarvested}. `key`: the API key that pays for what is stored
     * of an id that is not known.
     */
    async cancel(message: string, version: number | null, now: number, retentionMs: number, key = '') {
      const forgetAt = forgetTime(now, retentionMs);
      for (;;) {
        const reply = await cancelScript(
          lane,
          {
            name,
            id: message,
            version: version ?? -1,
            stone: version === null ? '' : packCancelled(forgetAt, version),
            endedAt: Math.floor(now / 1_000),
            forgetAt,
            buckets,
            key,
            bytes: key === '' ? 0 : paidBytes(message, { values: [], reference: '' }),
            limit,
          },
          [],
          { ownKeys: { ...own.fixed, bucket: bucketKey(message), list: own.forgetList(forgetAt) } },
        );
        if (reply.outcome === 'missing') throw new OutboxGoneError('missing');
        buckets = reply.buckets;
        if (reply.outcome !== 'moved') return { outcome: reply.outcome, pointer: reply.pointer };
      }
    },

    /** How many messages are waiting. */
    waiting: async (): Promise<number> => Number((await redis.hget(own.fixed.outbox, 'waiting')) ?? 0),

    /** Reads what is stored under ids. */
    async read(messages: readonly string[]): Promise<(Buffer | null)[]> {
      const pipeline = redis.pipeline();
      for (const message of messages) pipeline.hgetBuffer(bucketKey(message), message);
      const replies = (await pipeline.exec()) ?? [];
      return messages.map((_, at) => {
        const [error, raw] = replies[at] ?? [new Error('Redis did not answer every command of a pipeline')];
        if (error !== null) throw error;
        return raw instanceof Buffer ? raw : null;
      });
    },

    /** The message with an id; null if there is none. */
    async find(message: string): Promise<StoredMessage | null> {
      buckets = await knownBuckets();
      for (;;) {
        const [raw] = await this.read([message]);
        if (raw !== null && raw !== undefined) return unpackMessage(raw);
        // It may have moved to a new bucket meanwhile.
        const known = await knownBuckets();
        if (known === buckets) return null;
        buckets = known;
      }
    },
  };
}

/** See {@link outboxStore}. */
export type OutboxStore = ReturnType<typeof outboxStore>;

/** When a message that ends now is forgotten, s. */
export function forgetTime(now: number, retentionMs: number): number {
  return Math.ceil((now + retentionMs) / 1_000 / FORGET_EVERY_S) * FORGET_EVERY_S;
}

/** Cancels a message in its wave, unless it was claimed. `state`: the state of the message now, `sent`, `recovering`, or `missing`. */
export const cancelHarvested = (
  lane: LaneStore,
  { wave, ordinal }: Pointer,
  now?: number,
): Promise<{ state: string; events: readonly ScriptEvent[] }> =>
  cancelHarvestedScript(lane, { id: wave, ordinal, time: now }, [], {
    ownKeys: { statuses: statusesKey(lane.keys, lane.id, wave) },
  });
