import { LRUCache } from 'lru-cache';
import type { Clock, Random } from '../../base/clock.js';
import type { LocalConfig } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { RedisFullError } from '../../base/redis/unavailable.js';
import { NotFoundError } from '../../campaign/errors/errors.js';
import { ruleIn } from '../../campaign/estimate/window.js';
import type { Actor } from '../../campaign/states/actor.js';
import { activate, type Wakers } from '../../engine/jobs/wake.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { registerWindows } from '../../engine/recovery/windows.js';
import { lanesOf, onlyLane } from '../../engine/store/lane-index.js';
import { messageChecker } from './definition/check-message.js';
import { OutboxClosedError } from './definition/errors.js';
import { editionOf, type OutboxSettings, readOutboxSettings } from './definition/settings.js';
import { unusedValues } from './definition/unused-values.js';
import { writerNotes } from './definition/writers.js';
import {
  type Entry,
  OutboxGoneError,
  type OutboxStore,
  outboxStore,
  type PutReplies,
  type PutReply,
} from './messages/store.js';

/** Why nothing is sent on a lane that has left the configuration; null if it is configured. */
export async function whyUnserved(
  finder: Pick<LaneFinder, 'configured'>,
  { id, name }: Pick<Lane, 'id' | 'name'>,
): Promise<string | null> {
  const configured = (await finder.configured()).get(name);
  return configured?.id === id ? null : `lane ${name} is not configured`;
}

/** What {@link outboxOpener} needs. */
export interface OutboxesOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: LocalConfig;
  readonly finder: Pick<LaneFinder, 'withId' | 'named' | 'nameOf' | 'idOf' | 'configured'>;
  readonly wakers: Wakers;
  readonly events: Pick<Events, 'emit'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Messages of single puts that one script stores. */
const TOGETHER_AT_ONCE = 100;
/** The lane is woken for messages that are due within this time; the sweep finds the others. */
const WAKE_AHEAD_MS = 86_400_000;

/** The error for a name that no outbox has. */
export const noSuchOutbox = (name: string): NotFoundError =>
  new NotFoundError(`there is no outbox ${name}; \`volley outbox list\` shows all outboxes`);

/** An outbox that exists. */
export interface Opened {
  readonly lane: Lane;
  readonly settings: OutboxSettings;
  readonly store: OutboxStore;
  readonly check: ReturnType<typeof messageChecker>;
  readonly unused: ReturnType<typeof unusedValues>;
  /** Why nothing would send its messages; null if this process has its lane in the configuration. */
  unserved(): Promise<string | null>;
  /**
   * What puts answer when Redis has no room and they would change nothing, because a client repeats them; null while Redis has room. Rejects
   * with a RedisFullError if one of them would store something.
   */
  repliesWhenFull(messages: readonly Entry[]): Promise<readonly PutReply[] | null>;
  /**
   * Stores messages. Rejects with a NotFoundError or an OutboxClosedError, and with an {@link OutboxGoneError} if the outbox has other settings
   * by now: open it again, and check the messages again.
   */
  storeAll(messages: readonly Entry[]): Promise<readonly PutReply[]>;
  /** Stores a message, together with those that arrive while others are being stored. */
  storeOne(message: Entry): Promise<PutReply>;
  /** Notes who writes to the outbox, before its messages are stored. */
  noteWriter(actor: Actor): Promise<void>;
  /** Has the outbox opened again the next time, because its settings have changed. */
  forget(): void;
}

/** Finds and opens outboxes. */
export interface OutboxOpener {
  /**
   * The lane of the outbox of a name, among all lanes, or among those with these names. Rejects with a NotFoundError if none of them has
   * one, and with an AmbiguousNameError if several have.
   */
  laneOf(name: string, lanes?: readonly string[]): Promise<LaneId>;
  /** Opens the outbox of a name on a lane. Rejects with a NotFoundError if there is none. */
  open(lane: LaneId, name: string): Promise<Opened>;
}

/** Outboxes that a process keeps open. */
const MAX_OPEN = 1_000;

/** Opens each outbox once, for all operators, until a process finds out that its settings have changed. */
export function outboxOpener(options: OutboxesOptions): OutboxOpener {
  const { redis, keys, config, finder, wakers, clock } = options;
  const cache = new LRUCache<string, Promise<Opened>>({ max: MAX_OPEN });
  const writerNoted = writerNotes(redis, keys, clock);

  const opened = async (laneId: LaneId, name: string): Promise<Opened> => {
    const lane = await finder.withId(laneId);
    const settings = await readOutboxSettings(redis, keys, lane.id, name);
    if (settings === null) throw noSuchOutbox(name);
    const store = outboxStore(lane, name, { edition: editionOf(settings), limit: config.keyBytes });

    const windows = [settings.window, lane.rules.sendWindow].filter((rule) => rule !== undefined);

    /** For messages that are due earlier than all others. If this process dies before it does, the sweep finds them. */
    const wake = async (messages: readonly Entry[]): Promise<void> => {
      const first = messages.reduce(
        (least, { message }) => Math.min(least, message.due),
        Number.POSITIVE_INFINITY,
      );
      const inMs = Math.max(0, first * 1_000 - clock());
      if (inMs <= WAKE_AHEAD_MS) await wakers.wake('send', lane.id, inMs);
    };
    const answered = async (putting: Promise<PutReplies>, full?: RedisFullError) => {
      try {
        const { replies, events } = await putting;
        lane.emit(events);
        return replies;
      } catch (error) {
        if (!(error instanceof OutboxGoneError)) throw error;
        if (error.state === 'full') throw full;
        cache.delete(cacheKey(lane.id, name));
        if (error.state === 'changed') throw error;
        if (error.state === 'missing') throw noSuchOutbox(name);
        throw new OutboxClosedError(`outbox ${name} is closed: it accepts no new messages`);
      }
    };
    const repliesWhenFull = async (messages: readonly Entry[]): Promise<readonly PutReply[] | null> => {
      try {
        await mustHaveRoom(redis, lane.monotonic);
        return null;
      } catch (error) {
        if (!(error instanceof RedisFullError)) throw error;
        return answered(store.put(messages, undefined, true), error);
      }
    };
    /** Rules that scripts know. */
    const registered = new Set<string>();
    const registerWindowsOf = async (messages: readonly Entry[]): Promise<void> => {
      const rules = new Set(
        messages.flatMap(({ message }) => ruleIn(settings.window, message.zone ?? '') ?? []),
      );
      const unknown = [...rules].filter((rule) => !registered.has(rule));
      await registerWindows(lane, unknown, clock());
      for (const rule of unknown) registered.add(rule);
    };
    const storeAll = async (messages: readonly Entry[]): Promise<readonly PutReply[]> => {
      await mustHaveRoom(redis, lane.monotonic);
      await registerWindowsOf(messages);
      const put = () => store.put(messages);
      return answered(activate(lane, put, ({ isEarlier }) => (isEarlier ? wake(messages) : null)));
    };
    const storeOne = storedTogether(storeAll);
    const check = messageChecker(settings, config, windows);
    const noteWriter = (actor: Actor): Promise<void> => writerNoted(lane.id, name, actor);
    const unserved = (): Promise<string | null> => whyUnserved(finder, lane);
    const unused = unusedValues(settings);
    const forget = (): void => void cache.delete(cacheKey(lane.id, name));
    const stores = { store, repliesWhenFull, storeAll, storeOne };
    return { lane, settings, check, unused, unserved, ...stores, noteWriter, forget };
  };

  return {
    async laneOf(name, lanes) {
      const wanted = lanes && (await Promise.all(lanes.map(finder.idOf)));
      // Whether the lane has such an outbox is found out when it is opened.
      if (wanted?.length === 1 && wanted[0] !== undefined) return wanted[0];
      const holders = await lanesOf(redis, keys.outboxes, name);
      const possible = wanted === undefined ? holders : holders.filter((lane) => wanted.includes(lane));
      const found = possible.length < 2 ? possible : await existing(possible, name);
      const only = await onlyLane('outbox', name, found, finder.nameOf);
      if (only === undefined) throw noSuchOutbox(name);
      return only;
    },
    async open(lane, name) {
      const key = cacheKey(lane, name);
      const known = cache.get(key);
      if (known !== undefined && (await isCurrent(known))) return known;
      const opening = opened(lane, name);
      cache.set(key, opening);
      opening.catch(() => cache.delete(key));
      return opening;
    },
  };

  /** Whether the settings of its lane, such as its window and its limits, are still those by which it was opened. */
  async function isCurrent(opening: Promise<Opened>): Promise<boolean> {
    const { lane } = await opening;
    const configured = (await finder.configured()).get(lane.name);
    return configured === undefined || configured === lane;
  }

  /** Those of these lanes whose outbox was created. */
  async function existing(lanes: readonly LaneId[], name: string): Promise<LaneId[]> {
    const settings = await Promise.all(lanes.map((lane) => readOutboxSettings(redis, keys, lane, name)));
    return lanes.filter((_, at) => settings[at] !== null);
  }
}

const cacheKey = (lane: LaneId, name: string): string => `${name} ${lane}`;

/** Stores messages that arrive while others are being stored together, so that many requests share a few scripts. */
function storedTogether(
  storeAll: (messages: readonly Entry[]) => Promise<readonly PutReply[]>,
): (message: Entry) => Promise<PutReply> {
  interface Waiting {
    readonly entry: Entry;
    resolve(reply: PutReply): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  let isStoring = false;
  const storeWaiting = async (): Promise<void> => {
    isStoring = true;
    while (waiting.length > 0) {
      const some = waiting.slice(0, TOGETHER_AT_ONCE);
      waiting = waiting.slice(TOGETHER_AT_ONCE);
      try {
        const replies = await storeAll(some.map(({ entry }) => entry));
        for (const [at, { resolve, reject }] of some.entries()) {
          const reply = replies[at];
          if (reply === undefined) reject(new Error('Redis stored a message without a result'));
          else resolve(reply);
        }
      } catch (error) {
        for (const { reject } of some) reject(error);
      }
    }
    isStoring = false;
  };
  return (entry) =>
    new Promise<PutReply>((resolve, reject) => {
      waiting.push({ entry, resolve, reject });
      if (!isStoring) void storeWaiting();
    });
}
