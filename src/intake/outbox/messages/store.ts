import { z } from 'zod';
import type { DailyLimit } from '../../../campaign/limits/check-limits.js';
import {
  type Given,
  largerShare,
  type OverDay,
  overOf,
  scriptLimits,
} from '../../../engine/day-limits/daily.js';
import { recipientListKey, statusesKey } from '../../../engine/recipients/campaign-keys.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../../engine/scripts/script-events.js';
import { outboxKeys } from '../definition/outbox-keys.js';
import {
  isWaiting,
  packMessage,
  packTombstone,
  paidBytes,
  type StoredMessage,
  unpackMessage,
  type WaitingMessage,
} from '../definition/stored-message.js';

/** What a put did, or why it did nothing. `planned`: its id has a message in a wave. `full`: its API key may not store so much; `limited`: a daily limit does not allow it. */
export const PUT_OUTCOMES = [
  'created',
  'updated',
  'unchanged',
  'stale',
  'cancelled',
  'lapsed',
  'planned',
  'full',
  'limited',
] as const;

/** Where a message is in a wave. */
export interface Place {
  readonly wave: string;
  readonly ordinal: number;
  readonly version: number | null;
}

/** The result of a put. */
export interface PutReply {
  readonly outcome: (typeof PUT_OUTCOMES)[number];
  /** When the stored message is due, s; null if it was not stored. */
  readonly due: number | null;
  /** Of a planned message; otherwise null. */
  readonly place: Place | null;
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
  /** Where an earlier message of this id was cancelled, or lapsed, in its wave: the new one takes its place if its version is higher. */
  readonly over?: Place | undefined;
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

/** Why an outbox takes no messages: it does not exist, it is closed, or it has other settings than those that the caller knows. */
type WhyGone = 'missing' | 'closed' | 'changed';

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
/** Messages that have ended are forgotten together, so that the log of results needs few lists. */
const FORGET_EVERY_S = 3_600;

const placeOf = (text: string): Place | null => {
  const [, ordinal, version, wave] = /^(\d+):(-?\d+):(.+)$/.exec(text) ?? [];
  if (wave === undefined) return null;
  return { wave, ordinal: Number(ordinal), version: version === '-1' ? null : Number(version) };
};

const IS_STORED: ReadonlySet<PutReply['outcome']> = new Set(['created', 'updated', 'unchanged', 'stale']);
const putOutcome = z.enum(PUT_OUTCOMES);
const putScript = laneScript(import.meta.url, './put-messages.lua', (reply) => {
  const [state, wave, isEarlier, events, ...entries] = z
    .tuple([z.enum(['open', 'missing', 'closed', 'changed']), z.string(), z.number(), z.string()])
    .rest(z.union([z.string(), z.number()]))
    .parse(reply);
  const replies: PutReply[] = [];
  for (let at = 0; at + 2 < entries.length; at += 3) {
    const outcome = putOutcome.parse(entries[at]);
    const [second, why] = [Number(entries[at + 1]), String(entries[at + 2])];
    const due = IS_STORED.has(outcome) ? second : null;
    if (outcome !== 'limited') replies.push({ outcome, due, place: placeOf(why) });
    else replies.push({ outcome, due, place: null, over: overOf(why, second * 1_000) });
  }
  return { state, wave, isEarlier: isEarlier === 1, events: scriptEvents(events), replies };
});

const cancelOutcome = z.enum([...CANCEL_OUTCOMES, 'planned']);
const cancelScript = laneScript(import.meta.url, './cancel-messages.lua', (reply) => {
  const [exists, events, ...entries] = z.tuple([z.number(), z.string()]).rest(z.string()).parse(reply);
  const outcomes: { outcome: z.output<typeof cancelOutcome>; wave: string }[] = [];
  for (let at = 0; at + 1 < entries.length; at += 2)
    outcomes.push({ outcome: cancelOutcome.parse(entries[at]), wave: entries[at + 1] ?? '' });
  return { exists: exists === 1, events: scriptEvents(events), outcomes };
});

/** Messages to put, and how. */
export interface PutOptions {
  /** Whether what is due now may be planned at once, instead of by a worker. Default: no. */
  readonly plans?: boolean;
  /** Time in ms, for tests. */
  readonly now?: number | undefined;
}

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
  /** How late a message may be, ms. */
  readonly lateMs: number;
  /** How many bytes an API key may store on the lane. Default: none. */
  readonly limit?: number;
}

/** The messages of one outbox in Redis. */
export function outboxStore(
  lane: LaneStore,
  name: string,
  { edition = '', lateMs, limit = 0 }: StoreOptions,
) {
  const { redis, keys, id } = lane;
  const boxKeys = outboxKeys(keys, id, name);
  /** The wave that gets messages, as far as this process knows. */
  let wave = '';

  const putSome = async (
    messages: readonly Entry[],
    { plans = false, now }: PutOptions,
    given?: Given,
  ): Promise<PutReplies> => {
    const mayPlan = plans && messages.some(({ message }) => message.due === 0);
    if (mayPlan && wave === '') wave = (await redis.hget(boxKeys.fixed.outbox, 'wave')) ?? '';
    const days: string[] = [];
    /** The place of a list of limits among those of the call, from 1; 0: no limits. */
    const dayOf = (limits: readonly DailyLimit[] = []): number => {
      if (limits.length === 0) return 0;
      const list = scriptLimits(limits, given);
      if (!days.includes(list)) days.push(list);
      return days.indexOf(list) + 1;
    };
    const entryArgs = messages.flatMap(({ id: message, message: content, key = '', over, counted }) => [
      message,
      packMessage(content),
      key,
      key === '' ? 0 : paidBytes(message, content),
      over === undefined ? '' : `${over.ordinal}:${over.wave}`,
      dayOf(counted?.limits),
      counted?.micros ?? 0,
    ]);
    const args = {
      name,
      edition,
      wave,
      plans: mayPlan ? 1 : 0,
      lateMs,
      limit,
      days: `[${days.join(',')}]`,
      time: now,
    };
    const reply = await putScript(lane, args, [], {
      ownKeys: { ...boxKeys.fixed, recipients: recipientListKey(keys, id, wave) },
      entryArgs,
    });
    if (reply.state !== 'open') throw new OutboxGoneError(reply.state);
    wave = reply.wave;
    return reply;
  };

  /** Puts messages; those that a key's share of the day does not allow on this lane, again for as long as the share grows. */
  const putWithShares = async (messages: readonly Entry[], options: PutOptions): Promise<PutReplies> => {
    const first = await putSome(messages, options);
    const replies = [...first.replies];
    let { isEarlier, events } = first;
    for (const refused = new Set<string>(); ; ) {
      const over = replies.find((reply) => reply.over && !refused.has(reply.over.key))?.over;
      if (over === undefined) return { replies, isEarlier, events };
      const places = [...replies.keys()].filter((at) => replies[at]?.over?.key === over.key);
      const some = places.flatMap((at) => messages[at] ?? []);
      const { limits = [] } = some[0]?.counted ?? {};
      const counted = some.map(({ counted }) => ({ messages: 1, micros: counted?.micros ?? 0 }));
      const given = await largerShare({ redis, keys, lane: { id }, limits }, over, counted);
      if (!('day' in given)) {
        refused.add(over.key);
        for (const at of places) replies[at] = { outcome: 'limited', due: null, place: null, over: given };
        continue;
      }
      const again = await putSome(some, options, given);
      for (const [at, reply] of again.replies.entries()) replies[places[at] ?? 0] = reply;
      isEarlier ||= again.isEarlier;
      events = [...events, ...again.events];
    }
  };

  const cancelSome = async (
    messages: readonly string[],
    { version, now, retentionMs, key = '', time }: CancelOptions,
    within: string,
  ) => {
    const forgetAt = forgetTime(now, retentionMs);
    const args = {
      name,
      wave: within,
      version: version ?? -1,
      tombstone: version === null ? '' : packTombstone(forgetAt, version),
      endedAt: Math.floor(now / 1_000),
      forgetAt,
      key,
      bytes: key === '' ? 0 : paidBytes(messages[0] ?? '', { values: [], reference: '' }),
      limit,
      time,
    };
    const reply = await cancelScript(lane, args, [], {
      ownKeys: {
        ...boxKeys.fixed,
        list: boxKeys.endedList(forgetAt),
        statuses: statusesKey(keys, id, within),
      },
      entryArgs: messages,
    });
    if (!reply.exists) throw new OutboxGoneError('missing');
    return reply;
  };

  /** Reads what is stored under ids. */
  const read = async (messages: readonly string[]): Promise<(Buffer | null)[]> => {
    const stored: (Buffer | null)[] = [];
    for (let from = 0; from < messages.length; from += READ_AT_ONCE) {
      const some = messages.slice(from, from + READ_AT_ONCE);
      stored.push(...(await redis.hmgetBuffer(boxKeys.fixed.messages, ...some)));
    }
    return stored;
  };
  const findAll = async (messages: readonly string[]): Promise<(StoredMessage | null)[]> =>
    (await read(messages)).map((raw) => raw && unpackMessage(raw));

  /** All ids, with what is stored under them, in no order. One that is stored or changed meanwhile may be missing, or come twice. */
  async function* all(): AsyncGenerator<ReadonlyMap<string, Buffer>> {
    for (let cursor = '0'; ; ) {
      const [next, flat] = await redis.hscanBuffer(boxKeys.fixed.messages, cursor, 'COUNT', READ_AT_ONCE);
      const some = new Map<string, Buffer>();
      for (let at = 0; at + 1 < flat.length; at += 2)
        some.set(String(flat[at]), flat[at + 1] ?? Buffer.alloc(0));
      yield some;
      cursor = String(next);
      if (cursor === '0') return;
    }
  }

  return {
    keys: boxKeys,

    /** Stores messages. Throws an {@link OutboxGoneError}. Repeating it changes nothing. */
    async put(messages: readonly Entry[], options: PutOptions = {}): Promise<PutReplies> {
      const replies: PutReply[] = [];
      const events: ScriptEvent[] = [];
      let isEarlier = false;
      for (let from = 0; from < messages.length; from += PUTS_AT_ONCE) {
        const some = await putWithShares(messages.slice(from, from + PUTS_AT_ONCE), options);
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
      for (let within = wave; ; ) {
        const { outcomes, events } = await cancelSome([message], options, within);
        const [one] = outcomes;
        if (one === undefined) throw new Error('Redis cancelled a message without a result');
        if (one.outcome !== 'planned') return { outcome: one.outcome, events };
        within = one.wave;
      }
    },

    /** Cancels every message that waits, and returns how many. One that is put meanwhile may be cancelled or not. */
    async cancelWaiting(options: Omit<CancelOptions, 'version'>): Promise<number> {
      let cancelled = 0;
      for await (const some of all()) {
        const waiting = [...some].flatMap(([message, raw]) => (isWaiting(raw) ? [message] : []));
        if (waiting.length === 0) continue;
        const { outcomes } = await cancelSome(waiting, { ...options, version: null }, '');
        cancelled += outcomes.filter(({ outcome }) => outcome === 'cancelled').length;
      }
      return cancelled;
    },

    read,
    all,

    /** The message with an id; null if there is none. */
    async find(message: string): Promise<StoredMessage | null> {
      const [stored = null] = await findAll([message]);
      return stored;
    },
    /** What is stored under some ids, in their order. */
    findAll,
  };
}

/** How to cancel messages. */
export interface CancelOptions {
  readonly version: number | null;
  /** The time of this process, ms. */
  readonly now: number;
  /** How long the id of a cancelled message is kept. */
  readonly retentionMs: number;
  /** The API key that pays for what is stored of an id that is not known. Default: none. */
  readonly key?: string;
  /** The time of Redis in ms, for tests. */
  readonly time?: number | undefined;
}

/** See {@link outboxStore}. */
export type OutboxStore = ReturnType<typeof outboxStore>;

/** When a message that ends now is forgotten, s. */
export function forgetTime(now: number, retentionMs: number): number {
  return Math.ceil((now + retentionMs) / 1_000 / FORGET_EVERY_S) * FORGET_EVERY_S;
}
