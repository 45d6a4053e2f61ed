import { type Alarm, type Clock, pause, systemAlarm } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { RedisUnavailableError } from '../../base/redis/unavailable.js';
import { InputError } from '../../campaign/errors/errors.js';
import { callableForm, subscriberOf } from '../../campaign/numbers/number-forms.js';
import { describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { InboundMessage, LastMessage, ListedMessage } from '../../campaign/states/inbound.js';
import { type WishWords, wishReader } from '../../campaign/text/stop-words.js';
import { markDue } from '../jobs/due.js';
import type { LaneFinder } from '../lane/lane-finder.js';
import { NO_KEY } from '../recipients/key-bytes.js';
import type { Suppression } from '../suppression/suppression.js';
import { type WishOptions, wishFulfiller } from './fulfil-wish.js';
import { inFlightMessages } from './in-flight.js';
import type { InboundReceiver } from './inbound-receiver.js';
import {
  type FoundMessage,
  inboundStore,
  type LoggedMessage,
  MISSING_PART,
  type PendingMessage,
  type ReceivedPart,
} from './inbound-store.js';

/** A stop word that is to be confirmed. */
export interface Confirmed {
  /** The name of the lane. */
  readonly lane: string;
  readonly message: Pick<PendingMessage, 'messageId' | 'payer'>;
  /** What its sender got: the confirmation goes to the same number, from the same sender. */
  readonly last: Pick<LastMessage, 'number' | 'sender'>;
  /** The suppression operation that the stop word made, the only one that may be bypassed. */
  readonly operation: string;
}

/** What {@link inboundService} works with. */
interface InboundOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'nameOf' | 'ids' | 'idOf'>;
  readonly suppression: Suppression;
  readonly events: Events;
  readonly clock: Clock;
  /** Default: the timers of the system. */
  readonly alarm?: Alarm;
  readonly retentionMs: number;
  readonly replies: WishWords & { readonly stopScope: 'lane' | 'all' };
  /** Who changes the suppression lists. */
  readonly by: Operator;
  /** Finds the last message that was sent to a number from a sender; null if there is none, or if it is long ago. */
  lastSent(lane: LaneId, number: string, sender: string): Promise<LastMessage | null>;
  /** See `fulfil-wish.ts`. */
  readonly sentSince: WishOptions['sentSince'];
  /** Creates the campaign that confirms a stop, and returns its id; null if it cannot. Undefined: nothing is confirmed. */
  confirm?: ((confirmed: Confirmed) => Promise<string | null>) | undefined;
}

/** Which messages {@link Inbound.list} returns. */
export interface InboundListOptions {
  /** Only messages of these lanes, by their names; default: of all. */
  readonly lanes?: readonly string[] | undefined;
  /** Only replies to this campaign, by its id. */
  readonly campaign?: string | undefined;
  /** Only messages from this number, in any common spelling. */
  readonly from?: string | undefined;
  /** ISO 3166 code of a `from` in national format; default: `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** The same with the numbers that `from` means, E.164. */
interface LoggedOptions extends Omit<InboundListOptions, 'from' | 'country'> {
  readonly numbers?: readonly string[] | undefined;
}

/** A message that another gateway submits. */
export interface InboundInput {
  readonly lane: string;
  /** The gateway's id of the message, or of this part. A message with an id that the lane knows changes nothing. */
  readonly messageId: string;
  /** Who sent it, in any spelling of a phone number. */
  readonly from: string;
  /** The number that it was sent to. */
  readonly to: string;
  readonly text: string;
  /** Of a long message that arrives in parts: the place of this one, and by which number the sender's phone has marked the parts. */
  readonly part?: ReceivedPart['part'];
  /** ISO 3166 code of a `from` in national format; default: `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
}

/** The messages that people send to our numbers. */
export interface Inbound {
  /** The receiver of the service's notifications; null while `CALLBACK_URL` is not set. */
  receiver(): Promise<InboundReceiver | null>;
  /**
   * Stores a message and does what it asks for: after a stop word, no request that is claimed later goes to its sender. Rejects with an
   * InputError if it is invalid, with a NotFoundError for an unknown lane, and with a KeyFullError if the API key has no room for it.
   */
  receive(message: InboundInput): Promise<void>;
  /**
   * Lists them, newest first, one page at a time, as far back as `RETENTION`. With `campaign` or `from`, a page may have few messages, or
   * none, though others follow. Rejects with a NotFoundError for an unknown lane, and with an InputError if `from` is no number.
   */
  list(
    options?: InboundListOptions,
  ): Promise<{ readonly messages: ListedMessage[]; readonly nextCursor: string | null }>;
}

const DEFAULT_LIMIT = 50;
/** Messages that are read for one page of a search, of all lanes together. */
const SEARCHED_AT_ONCE = 500;
/** How long a repeat waits for the process that acts on the same message, and how often it looks, ms. */
const BUSY_MS = 100;
const BUSY_WAITS = 30;
/** Lanes whose logs are read at the same time. */
const LANES_AT_ONCE = 50;
/** A number gets a confirmation at most once in this time, because machines answer each other. */
const CONFIRM_EVERY_MS = 86_400_000;
/** Confirmations of a lane in an hour: who submits messages must not use up its quota with them. */
const MAX_CONFIRMED = 1_000;
const CONFIRMED_MS = 3_600_000;

/** Receives the messages that people send, does what they ask for, and reads them. */
export function inboundService(options: InboundOptions) {
  const { redis, keys, finder, suppression, events, clock, alarm = systemAlarm } = options;
  const wishOf = wishReader(options.replies);
  const fulfil = wishFulfiller({
    suppression,
    inFlight: inFlightMessages(redis, keys),
    scope: options.replies.stopScope,
    lanes: () => finder.ids(),
    by: options.by,
    clock,
    sentSince: options.sentSince,
    async changed(change, { id, list, reason }) {
      const told = { operation: id, numberCount: 1, actor: describeActor(options.by.actor) };
      const lane = list === null ? null : await finder.nameOf(list);
      if (change === 'added') events.emit({ type: 'suppression.added', lane, reason, ...told });
      else events.emit({ type: 'suppression.undone', lane, ...told });
    },
  });
  const storeOf = (lane: LaneId) => inboundStore(redis, keys, lane);

  /** Why this message causes no confirmation: '' if that is as it should be, null if it causes one. Asked again, it says the same. */
  const unconfirmed = async (
    lane: LaneId,
    { from, to, at, digests: [digest = ''] }: PendingMessage,
    last: LastMessage | null,
  ): Promise<string | null> => {
    if (last === null) return `Volley has sent it no message from ${to} of late`;
    const key = keys.stopConfirmed(subscriberOf(from));
    const own = `${lane} ${digest}`;
    if ((await redis.set(key, own, 'PX', CONFIRM_EVERY_MS, 'NX')) === null && (await redis.get(key)) !== own)
      return '';
    const confirmed = keys.lane(lane, 'confirmed');
    await redis.zremrangebyscore(confirmed, '-inf', at - CONFIRMED_MS);
    await redis.zadd(confirmed, 'NX', at, digest);
    await redis.pexpire(confirmed, CONFIRMED_MS);
    const place = await redis.zrank(confirmed, digest);
    if (place !== null && place < MAX_CONFIRMED) return null;
    await redis.zrem(confirmed, digest);
    return `a lane confirms at most ${MAX_CONFIRMED} stop words an hour`;
  };
  const confirmation = async (
    lane: LaneId,
    message: PendingMessage,
    operation: string,
    last: LastMessage | null,
  ): Promise<string | null> => {
    if (options.confirm === undefined) return null;
    const [name, reason] = [await finder.nameOf(lane), await unconfirmed(lane, message, last)];
    if (reason === null && last !== null) return options.confirm({ lane: name, message, last, operation });
    if (reason)
      events.emit({ type: 'inbound.unconfirmed', lane: name, messageId: message.messageId, reason });
    return null;
  };
  const act = async (lane: LaneId, message: PendingMessage): Promise<void> => {
    const { messageId, from, to, text, at } = message;
    const read = wishOf(text);
    // A part that never arrived may say anything: the rest may ask for no more messages, but not for messages again.
    const wish = read === 'start' && text.includes(MISSING_PART) ? null : read;
    const fulfilled = wish === null ? {} : await fulfil(wish, lane, message);
    const { op, isNew } = fulfilled as Partial<LoggedMessage>;
    const name = await finder.nameOf(lane);
    // Before the confirmation, which it shall not be.
    const last = await options.lastSent(lane, from, to);
    const isStop = wish === 'stop';
    const reply =
      isStop && isNew === true && op !== undefined ? await confirmation(lane, message, op, last) : null;
    if (isStop && op === undefined) events.emit({ type: 'inbound.unread', lane: name, messageId });
    const entry: LoggedMessage = {
      id: messageId,
      from,
      to,
      text,
      at,
      ...fulfilled,
      ...(reply ? { reply } : {}),
      ...(last ? { last: last.message } : {}),
    };
    if ((await storeOf(lane).log(message, entry)) === '') return;
    events.emit({ type: 'inbound.received', lane: name, messageId, wish });
  };

  return {
    /**
     * Stores a message, or a part of one, for which `payer` pays. When it resolves, what a complete message asks for is done. A stop word
     * is never refused for want of room.
     */
    async receive(lane: LaneId, received: ReceivedPart, payer = NO_KEY): Promise<void> {
      const part = { ...received, from: callableForm(received.from) };
      const isWish = (part.part?.total ?? 1) === 1 && wishOf(part.text) !== null;
      const paying = isWish ? { ...payer, limit: Number.MAX_SAFE_INTEGER } : payer;
      // Before anything is stored: if this process dies, the sweep of the lane finds it. Webhooks look at every lane with data.
      await Promise.all([markDue({ redis, keys }, [lane]), redis.sadd(keys.lanes, lane)]);
      for (let waits = 0; ; waits += 1) {
        const message = await storeOf(lane).receive(part, paying);
        if (message === undefined) return;
        if (message !== 'busy') return act(lane, message);
        // No success before the stop word is in force: the other process may have died.
        if (waits === BUSY_WAITS)
          throw new RedisUnavailableError('another process stores this message; try again');
        await pause(alarm, BUSY_MS);
      }
    },
    /**
     * Acts on the messages of a lane that a process left behind, or whose parts did not come, and deletes old ones. Rejects with the first
     * error after it has tried all of them.
     */
    async tend(lane: LaneId): Promise<void> {
      const errors: unknown[] = [];
      for (const message of await storeOf(lane).takeOverdue(options.retentionMs))
        await act(lane, message).catch((error: unknown) => errors.push(error));
      if (errors.length > 0) throw errors[0];
    },
    /** Which of these numbers, which a sender may mean, got a message that `to` sent; the first one if none did. */
    async textedOf(lane: LaneId, numbers: readonly string[], to: string): Promise<string | undefined> {
      if (numbers.length > 1)
        for (const number of numbers) if ((await options.lastSent(lane, number, to)) !== null) return number;
      return numbers[0];
    },
    /** The log of a lane. */
    log: storeOf,
    async list({ lanes, campaign, numbers, limit = DEFAULT_LIMIT, cursor }: LoggedOptions = {}) {
      const ids = lanes === undefined ? await finder.ids() : await Promise.all(lanes.map(finder.idOf));
      if (cursor !== undefined && !/^\d{1,15}-\d{1,10} \S+$/.test(cursor))
        throw new InputError('not the `nextCursor` of a page', { field: 'cursor' });
      const isSearch = campaign !== undefined || numbers !== undefined;
      const isWanted = ({ from, last }: Placed): boolean =>
        (campaign === undefined || last?.campaign === campaign) && (numbers?.includes(from) ?? true);
      const perLane = isSearch ? Math.ceil(SEARCHED_AT_ONCE / Math.max(1, ids.length)) : limit + 1;
      const [position, cursorLane = ''] = cursor?.split(' ') ?? [];
      // Newest first, and at the same position by lane.
      const compare = (one: Placed, other: Placed): number =>
        comparePositions(other.position, one.position) || (one.lane < other.lane ? -1 : 1);
      let newest: Placed[] = [];
      /** A lane may have others after this one, which were not read; undefined: everything was read. */
      let end: Placed | undefined;
      for (let from = 0; from < ids.length; from += LANES_AT_ONCE) {
        const found = await Promise.all(
          ids.slice(from, from + LANES_AT_ONCE).map(async (lane) => {
            const messages = await storeOf(lane).before(position, perLane, lane > cursorLane);
            return messages.map((message) => ({ ...message, lane }));
          }),
        );
        for (const last of found.flatMap((messages) => messages[perLane - 1] ?? []))
          if (end === undefined || compare(last, end) < 0) end = last;
        newest = [...newest, ...found.flat()].sort(compare);
        if (end !== undefined) newest = newest.slice(0, newest.indexOf(end) + 1);
      }
      const shown = newest.filter(isWanted).slice(0, limit);
      const last = shown.length === limit ? shown.at(-1) : end;
      const messages = await Promise.all(
        shown.map(async (message) => inboundView(await finder.nameOf(message.lane), message)),
      );
      const isMore = last !== undefined && (end !== undefined || last !== newest.at(-1));
      return { messages, nextCursor: isMore ? `${last.position} ${last.lane}` : null };
    },
  };
}

/** A message of the log in its public form. `lane`: its name. */
export function inboundView(lane: string, message: FoundMessage): InboundMessage {
  const { id, from, to, text, at, wish, op, isNew, inFlight, reply, last } = message;
  return {
    lane,
    messageId: id,
    from,
    to,
    text,
    receivedAt: new Date(at).toISOString(),
    effect:
      wish === undefined
        ? null
        : {
            wish,
            operation: op ?? null,
            isNew: isNew === true,
            inFlightCount: inFlight ?? 0,
            reply: reply ?? null,
          },
    lastSent: last ?? null,
  };
}

/** See {@link inboundService}. */
export type InboundService = ReturnType<typeof inboundService>;

type Placed = FoundMessage & { readonly lane: LaneId };

function comparePositions(one: string, other: string): number {
  const [ms = 0, number = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return ms - otherMs || number - otherNumber;
}
