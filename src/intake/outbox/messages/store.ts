import { z } from 'zod';
import type { DailyLimit } from '../../../campaign/limits/check-limits.js';
import {
  type Given,
  largerShare,
  type OverDay,
  overOf,
  scriptLimits,
} from '../../../engine/day-limits/daily.js';
import { readOrNull } from '../../../engine/recipients/damaged.js';
import {
  outboxId,
  outboxKeys,
  parseMessage,
  readMessages,
  type StoredMessage,
} from '../../../engine/recipients/outbox-messages.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../../engine/scripts/script-events.js';
import { messageText, paidBytes, type WaitingMessage } from '../definition/stored-message.js';

/**
 * What a put did, or why it did nothing. `sent`: it was claimed, may have been, or has another result; `recovering`: Redis may have lost its claim; `full`: its API
 * key may not store so much; `limited`: a daily limit does not allow it.
 */
export const PUT_OUTCOMES = [
  'created',
  'updated',
  'unchanged',
  'stale',
  'cancelled',
  'lapsed',
  'sent',
  'recovering',
  'full',
  'limited',
] as const;

/** The result of a put. */
export interface PutReply {
  readonly outcome: (typeof PUT_OUTCOMES)[number];
  /** When the stored message is due, s; null if none waits. */
  readonly due: number | null;
  /** Of one that is limited: which limit does not allow it. */
  readonly over?: OverDay;
}

/** A message to be stored under its id. */
export interface Entry {
  readonly id: string;
  readonly message: WaitingMessage;
  /** The API key that pays for it; default: none. */
  readonly key?: string | undefined;
  /** The daily limits that count it, and what it costs, in micros. Default: none. */
  readonly counted?: { readonly limits: readonly DailyLimit[]; readonly micros: number } | undefined;
}

/** What a cancel did, or why it did nothing. `unknown`: there is no such id; `full`: its API key may not store the tombstone. */
export const CANCEL_OUTCOMES = [
  'cancelled',
  'lapsed',
  'sent',
  'stale',
  'unknown',
  'full',
  'recovering',
] as const;

/** See {@link CANCEL_OUTCOMES}. */
export type CancelOutcome = (typeof CANCEL_OUTCOMES)[number];

/** Why an outbox takes no messages: it does not exist, it is closed, it has other settings than those that the caller knows, or Redis is full. */
type WhyGone = 'missing' | 'closed' | 'changed' | 'full';

/** The outbox takes no messages. */
export class OutboxGoneError extends Error {
  override readonly name = 'OutboxGoneError';
  readonly state: WhyGone;

  constructor(state: WhyGone) {
    super(`the outbox is ${state}`);
    this.state = state;
  }
}

const PUTS_AT_ONCE = 500;
const READ_AT_ONCE = 500;

const putOutcome = z.enum(PUT_OUTCOMES);
const putScript = laneScript(import.meta.url, './put-messages.lua', (reply) => {
  const [state, isEarlier, events, ...entries] = z
    .tuple([z.enum(['open', 'missing', 'closed', 'changed', 'full']), z.number(), z.string()])
    .rest(z.union([z.string(), z.number()]))
    .parse(reply);
  const replies: PutReply[] = [];
  for (let at = 0; at + 2 < entries.length; at += 3) {
    const outcome = putOutcome.parse(entries[at]);
    const [second, why] = [Number(entries[at + 1]), String(entries[at + 2])];
    replies.push(
      outcome === 'limited'
        ? { outcome, due: null, over: overOf(why, second * 1_000) }
        : { outcome, due: second || null },
    );
  }
  return { state, isEarlier: isEarlier === 1, events: scriptEvents(events), replies };
});

const cancelScript = laneScript(import.meta.url, './cancel-messages.lua', (reply) => {
  const [exists, events, ...outcomes] = z
    .tuple([z.number(), z.string()])
    .rest(z.enum(CANCEL_OUTCOMES))
    .parse(reply);
  return { exists: exists === 1, events: scriptEvents(events), outcomes };
});

/** What puts did. */
export interface PutReplies {
  readonly replies: readonly PutReply[];
  /** Whether the lane has something to do earlier than before. */
  readonly isEarlier: boolean;
  readonly events: readonly ScriptEvent[];
}

/** What {@link outboxStore} stores, beside the messages. */
export interface StoreOptions {
  /** The edition of the settings by which messages are checked before they are put. */
  readonly edition?: string;
  /** How many bytes an API key may store on the lane. Default: none. */
  readonly limit?: number;
}

/** The messages of one outbox in Redis. */
export function outboxStore(lane: LaneStore, name: string, { edition = '', limit = 0 }: StoreOptions = {}) {
  const { redis, keys } = lane;
  const { fixed } = outboxKeys(keys, lane.id, name);
  const id = outboxId(name);

  const putSome = async (
    messages: readonly Entry[],
    time: number | undefined,
    isFull: boolean,
    given?: Given,
  ): Promise<PutReplies> => {
    const days: string[] = [];
    /** The place of a list of limits among those of the call, from 1; 0: no limits. */
    const dayOf = (limits: readonly DailyLimit[] = []): number => {
      if (limits.length === 0) return 0;
      const list = scriptLimits(limits, given);
      if (!days.includes(list)) days.push(list);
      return days.indexOf(list) + 1;
    };
    const entryArgs = messages.flatMap(({ id: message, message: content, key = '', counted }) => [
      message,
      messageText(content),
      key,
      key === '' ? 0 : paidBytes(message, content),
      dayOf(counted?.limits),
      counted?.micros ?? 0,
    ]);
    const args = { id, edition, limit, days: `[${days.join(',')}]`, isFull: Number(isFull), time };
    const reply = await putScript(lane, args, [], { ownKeys: { outbox: fixed.outbox }, entryArgs });
    if (reply.state !== 'open') throw new OutboxGoneError(reply.state);
    return reply;
  };

  /** Puts messages; those that a key's share of the day does not allow on this lane, again for as long as the share grows. */
  const putWithShares = async (
    messages: readonly Entry[],
    time: number | undefined,
    isFull: boolean,
  ): Promise<PutReplies> => {
    const first = await putSome(messages, time, isFull);
    const replies = [...first.replies];
    let { isEarlier, events } = first;
    for (const refused = new Set<string>(); ; ) {
      const over = replies.find((reply) => reply.over && !refused.has(reply.over.key))?.over;
      if (over === undefined) return { replies, isEarlier, events };
      const places = [...replies.keys()].filter((at) => replies[at]?.over?.key === over.key);
      const some = places.flatMap((at) => messages[at] ?? []);
      const { limits = [] } = some[0]?.counted ?? {};
      const counted = some.map(({ counted }) => ({ messages: 1, micros: counted?.micros ?? 0 }));
      const given = await largerShare({ redis, keys, lane: { id: lane.id }, limits }, over, counted);
      if (!('day' in given)) {
        refused.add(over.key);
        for (const at of places) replies[at] = { outcome: 'limited', due: null, over: given };
        continue;
      }
      const again = await putSome(some, time, isFull, given);
      for (const [at, reply] of again.replies.entries()) replies[places[at] ?? 0] = reply;
      isEarlier ||= again.isEarlier;
      events = [...events, ...again.events];
    }
  };

  const cancelSome = async (messages: readonly string[], { version, key = '', time }: CancelOptions) => {
    const args = {
      id,
      version: version ?? -1,
      key,
      bytes: key === '' ? 0 : paidBytes(messages[0] ?? '', { values: [], reference: '' }),
      limit,
      time,
    };
    const reply = await cancelScript(lane, args, [], { entryArgs: messages });
    if (!reply.exists) throw new OutboxGoneError('missing');
    return reply;
  };

  /** What is stored under some ids, in their order; null for each that is not known, or cannot be read. */
  const findAll = async (messages: readonly string[]): Promise<(StoredMessage | null)[]> => {
    const stored: (StoredMessage | null)[] = [];
    for (let from = 0; from < messages.length; from += READ_AT_ONCE)
      stored.push(...(await readMessages(redis, fixed.messages, messages.slice(from, from + READ_AT_ONCE))));
    return stored;
  };

  /**
   * All messages by their ids, in no order, as far as they can be read. One that is stored or changed meanwhile may be missing, or come
   * twice.
   */
  async function* all(): AsyncGenerator<ReadonlyMap<string, StoredMessage>> {
    for (let cursor = '0'; ; ) {
      const [next, flat] = await redis.hscan(fixed.messages, cursor, 'COUNT', READ_AT_ONCE);
      const some = new Map<string, StoredMessage>();
      for (let at = 0; at + 1 < flat.length; at += 2) {
        const message = readOrNull(() => parseMessage(flat[at + 1] ?? ''));
        if (message !== null) some.set(flat[at] ?? '', message);
      }
      yield some;
      cursor = next;
      if (cursor === '0') return;
    }
  }

  return {
    keys: fixed,

    /**
     * Stores messages. Throws an {@link OutboxGoneError}. Repeating it changes nothing. `time`: ms, for tests. With `isFull`, Redis has no
     * room: if one of the messages would be stored, none is.
     */
    async put(messages: readonly Entry[], time?: number, isFull = false): Promise<PutReplies> {
      const replies: PutReply[] = [];
      const events: ScriptEvent[] = [];
      let isEarlier = false;
      for (let from = 0; from < messages.length; from += PUTS_AT_ONCE) {
        const some = await putWithShares(messages.slice(from, from + PUTS_AT_ONCE), time, isFull);
        replies.push(...some.replies);
        events.push(...some.events);
        isEarlier ||= some.isEarlier;
      }
      return { replies, isEarlier, events };
    },

    /** Cancels a message that was not claimed. Throws an {@link OutboxGoneError}. Repeating it changes nothing. */
    async cancel(
      message: string,
      options: CancelOptions,
    ): Promise<{ outcome: CancelOutcome; events: readonly ScriptEvent[] }> {
      const { outcomes, events } = await cancelSome([message], options);
      const [outcome] = outcomes;
      if (outcome === undefined) throw new Error('Redis cancelled a message without a result');
      return { outcome, events };
    },

    /** Cancels messages that were not claimed, at most 1,000. Throws an {@link OutboxGoneError}. Repeating it changes nothing. */
    cancelAll: (messages: readonly string[], time?: number) => cancelSome(messages, { version: null, time }),

    all,
    findAll,

    /** The message with an id; null if there is none. */
    async find(message: string): Promise<StoredMessage | null> {
      const [stored = null] = await findAll([message]);
      return stored;
    },
  };
}

/** How to cancel messages. */
export interface CancelOptions {
  readonly version: number | null;
  /** The API key that pays for what is stored of an id that is not known. Default: none. */
  readonly key?: string;
  /** The time of Redis in ms, for tests. */
  readonly time?: number | undefined;
}

/** See {@link outboxStore}. */
export type OutboxStore = ReturnType<typeof outboxStore>;
