import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { describeActor } from '../campaign/actor.js';
import type { Operator } from '../campaign/audit.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import type {
  BulkResult,
  CancelResult,
  OutboxMessageStatus,
  OutboxStatus,
  PutResult,
} from '../campaign/outbox-views.js';
import type { Clock } from '../clock.js';
import type { LocalConfig } from '../config/index.js';
import { markDue } from '../lane/due.js';
import { type Lane, laneNamed, type Wakers, wakeLane } from '../lane/lane.js';
import type { LaneFinder } from '../lane/lane-finder.js';
import { registerWindow } from '../lane/windows.js';
import { SLICE } from '../recipients/slice-blob.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';
import {
  idProblem,
  messageChecker,
  type OutboxMessage,
  readVersion,
  sentenceOf,
  VERSION_REASON,
} from './check-message.js';
import { defineOutbox, type OutboxInput } from './define-outbox.js';
import { OutboxClosedError, OutboxExistsError, RecoveringError } from './errors.js';
import { outboxKeys } from './outbox-keys.js';
import { type CsvColumns, type MessageLine, messagesOfCsv, messagesOfNdjson } from './read-messages.js';
import { readMessage, readOutboxStatus, reportMessages, whenSent } from './read-outbox.js';
import { type OutboxDefinition, type OutboxSettings, readOutboxSettings } from './settings.js';
import { cancelHarvested, OutboxGoneError, type OutboxStore, outboxStore, type PutReply } from './store.js';
import { packMessage, type WaitingMessage } from './stored-message.js';
import { sliceOf } from './wave.js';

/** An outbox: messages that are sent over time, each under an id of yours. */
export interface Outbox {
  /**
   * Stores a message, or changes it while it is waiting. Rejects with an `InputError` that names the member if it is invalid, or if the
   * outbox is closed. Repeating it changes nothing.
   */
  put(message: OutboxMessage): Promise<PutResult>;
  /**
   * Stores many messages, and yields a result for each, in their order. An invalid message is a result, and so is an id that occurs
   * again with another content: `invalid`.
   */
  putAll(messages: Iterable<OutboxMessage> | AsyncIterable<OutboxMessage>): AsyncIterable<BulkResult>;
  /** Stores the messages of a CSV file, or of NDJSON, as {@link Outbox.putAll} does. `line`: that of the file. */
  import(
    list: { readonly csv: string | Readable } | { readonly ndjson: AsyncIterable<Buffer | string> },
    columns?: CsvColumns,
  ): AsyncIterable<BulkResult>;
  /**
   * Cancels a message that was not claimed. Once it resolves with `cancelled`, the message is never sent. With a `version`, an id that
   * is not known is cancelled, too. Rejects with a `NotFoundError` for an unknown id.
   */
  cancel(id: string, options?: { readonly version?: number | undefined }): Promise<CancelResult>;
  /** The state of a message. Rejects with a `NotFoundError` for an unknown id. */
  message(id: string): Promise<OutboxMessageStatus>;
  status(): Promise<OutboxStatus>;
  /** The messages that were planned, wave by wave, and then all others, in no order. */
  report(): AsyncIterable<OutboxMessageStatus>;
  /** Sends nothing more until {@link Outbox.resume}. `inFlight`: requests that are still running. */
  pause(): Promise<{ inFlight: number }>;
  resume(): Promise<void>;
  /** Takes no more messages, for good. Those that it has are still sent. */
  close(): Promise<void>;
}

/** All outboxes. */
export interface Outboxes {
  /**
   * Creates an outbox. One of the same name and settings is `existing`. Rejects with an `InputError` if it has other settings: they never
   * change.
   */
  create(
    input: OutboxInput,
  ): Promise<{ readonly outcome: 'created' | 'existing'; readonly outbox: OutboxStatus }>;
  /** By name; of all lanes, or of these. */
  list(options?: { readonly lanes?: readonly string[] | undefined }): Promise<OutboxStatus[]>;
  /** The lane of an outbox. Rejects with a `NotFoundError` if there is no such outbox. */
  laneOf(name: string): Promise<string>;
}

/** What {@link outboxOpener} needs. */
export interface OutboxesOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: LocalConfig;
  readonly finder: LaneFinder;
  readonly wakers: Wakers;
  readonly clock: Clock;
}

const createScript = loadScript(import.meta.url, './create-outbox.lua', (reply) => reply === 1);
const commandScript = loadScript(import.meta.url, './command-outbox.lua', (reply) => {
  const [state, wave] = z.tuple([z.string(), z.string()]).parse(reply);
  return { state, wave };
});

const MESSAGES_AT_ONCE = 1_000;
/** Messages of single puts that one script stores. */
const TOGETHER_AT_ONCE = 100;
/** The lane is woken for messages that are due within this time; the sweep finds the others. */
const WAKE_AHEAD_MS = 86_400_000;

const iso = (second: number | null): string | null =>
  second === null ? null : new Date(second * 1_000).toISOString();

/** Opens the outboxes for an operator. It does not access Redis before the first call. */
export function openOutboxes(
  options: OutboxesOptions,
  open: OpenOutbox,
  by: Operator,
): Outboxes & { open(name: string): Outbox } {
  const { redis, keys, config, finder, clock } = options;

  return {
    async create(input) {
      const wanted = defineOutbox(config, input, clock());
      laneNamed(
        new Map(config.lanes.map((lane) => [lane.name, lane])),
        input.lane ?? config.lanes[0]?.name ?? '',
      );
      const lane = await finder.named(input.lane ?? config.lanes[0]?.name ?? '');
      const settings: OutboxSettings = { ...wanted, created: clock(), createdBy: by.actor };
      // Reports an unknown country before anything is stored.
      messageChecker(settings, config, []);
      const key = outboxKeys(keys, lane.id, input.name).fixed.outbox;
      const isNew = await by.audited(
        { action: 'outbox.create', lane: lane.id, details: { outbox: input.name } },
        async () => {
          await redis.sadd(keys.lanes, lane.id);
          await redis.hsetnx(keys.outboxes, input.name, lane.id);
          const owner = await redis.hget(keys.outboxes, input.name);
          if (owner !== lane.id)
            throw new OutboxExistsError(`another lane has an outbox ${input.name}; choose another name`, {
              field: 'name',
            });
          if (wanted.window !== undefined) await registerWindow(lane, wanted.window, clock());
          if (await createScript.run(redis, { outbox: key }, { settings: JSON.stringify(settings) }))
            return true;
          const stored = await readOutboxSettings(redis, keys, lane.id, input.name);
          const different = stored === null ? undefined : differenceOf(stored, wanted);
          if (different !== undefined)
            throw new OutboxExistsError(
              `outbox ${input.name} exists with another ${different}; its settings never change: create one with another name, and close this one`,
              { field: different },
            );
          return false;
        },
      );
      const outbox = await readOutboxStatus(lane, input.name);
      if (outbox === null) throw noSuchOutbox(input.name);
      return { outcome: isNew ? 'created' : 'existing', outbox };
    },

    async list({ lanes } = {}) {
      const all = Object.entries(await redis.hgetall(keys.outboxes)).sort(([a], [b]) => (a < b ? -1 : 1));
      const found: OutboxStatus[] = [];
      for (const [name, laneId] of all) {
        const lane = await finder.withId(laneId);
        if (lanes !== undefined && !lanes.includes(lane.name)) continue;
        const status = await readOutboxStatus(lane, name);
        if (status !== null) found.push(status);
      }
      return found;
    },

    laneOf: async (name) => finder.nameOf((await open(name)).lane.id),

    open: (name) => operatedOutbox(options, by, name, () => open(name)),
  };
}

const noSuchOutbox = (name: string): NotFoundError =>
  new NotFoundError(`there is no outbox ${name}; \`volley outbox list\` shows all outboxes`);

/** The first setting in which the two differ; undefined if none does. */
function differenceOf(stored: OutboxSettings, wanted: OutboxDefinition): string | undefined {
  const names = [
    'message',
    'sender',
    'senderName',
    'sendAt',
    'zone',
    'lateMs',
    'window',
    'priority',
    'country',
  ] as const;
  const found = names.find((name) => stored[name] !== wanted[name]);
  return found === 'lateMs' ? 'late' : found;
}

/** An outbox that exists. */
interface Opened {
  readonly lane: Lane;
  readonly settings: OutboxSettings;
  readonly store: OutboxStore;
  readonly check: ReturnType<typeof messageChecker>;
  /** Stores messages. Rejects with a NotFoundError or an OutboxClosedError. */
  storeAll(messages: readonly Entry[]): Promise<readonly PutReply[]>;
  /** Stores a message, together with those that arrive while others are being stored. */
  storeOne(message: Entry): Promise<PutReply>;
  /** Wakes the lane for messages that are due earlier than all others. If this process dies before it does, the sweep finds them. */
  wake(messages: readonly { readonly message: WaitingMessage }[]): Promise<void>;
}

/** A message under its id. */
interface Entry {
  readonly id: string;
  readonly message: WaitingMessage;
}

/** Opens the outbox of a name. Rejects with a NotFoundError if there is none. */
export type OpenOutbox = (name: string) => Promise<Opened>;

/** Outboxes that a process keeps open. */
const MAX_OPEN = 1_000;

/** Opens each outbox once, for all operators: its settings and its lane never change. */
export function outboxOpener(options: OutboxesOptions): OpenOutbox {
  const { redis, keys, config, finder, wakers, clock } = options;
  const cache = new LRUCache<string, Promise<Opened>>({ max: MAX_OPEN });

  const opened = async (name: string): Promise<Opened> => {
    const laneId = await redis.hget(keys.outboxes, name);
    if (laneId === null) throw noSuchOutbox(name);
    const lane = await finder.withId(laneId);
    const settings = await readOutboxSettings(redis, keys, lane.id, name);
    if (settings === null) throw noSuchOutbox(name);
    const store = outboxStore(lane, name);

    const wake = async (messages: readonly { readonly message: WaitingMessage }[]): Promise<void> => {
      const first = messages.reduce(
        (least, { message }) => Math.min(least, message.due),
        Number.POSITIVE_INFINITY,
      );
      const inMs = Math.max(0, first * 1_000 - clock());
      if (inMs <= WAKE_AHEAD_MS) await wakers.wake('send', lane.id, inMs);
      // Again: a sweep may have looked at the lane before the message was stored.
      await markDue(lane, [lane.id]);
    };
    const storeAll = async (messages: readonly Entry[]): Promise<readonly PutReply[]> => {
      try {
        const [{ replies, isEarlier }] = await Promise.all([store.put(messages), markDue(lane, [lane.id])]);
        if (isEarlier) await wake(messages).catch(() => {});
        return replies;
      } catch (error) {
        if (!(error instanceof OutboxGoneError)) throw error;
        cache.delete(name);
        if (error.state === 'missing') throw noSuchOutbox(name);
        throw new OutboxClosedError(`outbox ${name} is closed: it takes no more messages`);
      }
    };
    const storeOne = storedTogether(storeAll);
    const windows = [settings.window, lane.rules.sendWindow].filter((rule) => rule !== undefined);
    const check = messageChecker(settings, config, windows);
    return { lane, settings, store, check, storeAll, storeOne, wake };
  };

  return (name) => {
    const known = cache.get(name);
    if (known !== undefined) return known;
    const opening = opened(name);
    cache.set(name, opening);
    opening.catch(() => cache.delete(name));
    return opening;
  };
}

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

/** A message of a list that is stored next. */
interface Line extends Entry {
  readonly line: number;
}

async function* numbered(
  messages: Iterable<OutboxMessage> | AsyncIterable<OutboxMessage>,
): AsyncGenerator<MessageLine> {
  let line = 0;
  for await (const message of messages) {
    line += 1;
    yield { line, message };
  }
}

function operatedOutbox(
  { redis, keys, config, wakers, clock }: OutboxesOptions,
  by: Operator,
  name: string,
  open: () => Promise<Opened>,
): Outbox {
  /** When a message is sent that is due at this second. */
  const sentAt = async (due: number | null): Promise<string | null> => {
    const { lane, settings } = await open();
    return whenSent(settings, lane, iso(due));
  };

  /** What a put of a message that is in a wave did. */
  const resultOfHarvested = async (
    id: string,
    message: WaitingMessage,
    { pointer }: PutReply,
  ): Promise<PutResult> => {
    const { lane, store, wake } = await open();
    if (pointer === null) return { id, outcome: 'sent', sendAt: null };
    const slice = await sliceOf(lane, pointer.wave, Math.floor(pointer.ordinal / SLICE));
    const found = slice[pointer.ordinal % SLICE];
    const { state } = await readMessage(lane, name, id);
    const version = message.version ?? -1;
    if (state === 'cancelled' || state === 'lapsed') {
      if (version <= (pointer.version ?? -1)) return { id, outcome: state, sendAt: null };
      if (await store.replace(id, pointer, message)) {
        await wake([{ message }]);
        return {
          id,
          outcome: 'created',
          sendAt: await sentAt(message.due === 0 ? Math.floor(clock() / 1_000) : message.due),
        };
      }
    }
    if (version >= 0 && version < (pointer.version ?? -1)) return { id, outcome: 'stale', sendAt: null };
    const isSame =
      found?.number === message.number &&
      found.reference === message.reference &&
      found.values.length === message.values.length &&
      found.values.every((value, at) => value === message.values[at]) &&
      (message.due === 0 || message.due === found.due);
    return { id, outcome: isSame ? 'unchanged' : 'sent', sendAt: isSame ? await sentAt(found.due) : null };
  };

  const resultOf = async (id: string, message: WaitingMessage, reply: PutReply): Promise<PutResult> => {
    if (reply.outcome === 'harvested') return resultOfHarvested(id, message, reply);
    return { id, outcome: reply.outcome, sendAt: await sentAt(reply.due) };
  };

  const invalid = (id: string, line: number, member: string | null, reason: string): BulkResult => ({
    id,
    outcome: 'invalid',
    sendAt: null,
    line,
    member,
    reason,
  });

  const flushed = async (batch: readonly Line[], results: Map<number, BulkResult>): Promise<BulkResult[]> => {
    const replies = await (await open()).storeAll(batch);
    for (const [at, { id, message, line }] of batch.entries()) {
      const reply = replies[at];
      if (reply === undefined) throw new Error('Redis stored a message without a result');
      results.set(line, { ...(await resultOf(id, message, reply)), line, member: null, reason: null });
    }
    return [...results.values()].sort((a, b) => a.line - b.line);
  };

  async function* putLines(lines: AsyncIterable<MessageLine>): AsyncGenerator<BulkResult> {
    const { check } = await open();
    /** The line and the content of each id of the list, to find one that occurs again with another content. */
    const seen = new Map<string, { readonly content: string; readonly line: number }>();
    let batch: Line[] = [];
    let results = new Map<number, BulkResult>();
    const add = (own: MessageLine): void => {
      const { line } = own;
      if (!('message' in own)) {
        results.set(line, invalid(own.id, line, own.member, own.reason));
        return;
      }
      const checked = check(own.message, clock());
      if (!checked.ok) {
        const member = checked.member === 'to' ? (own.toColumn ?? 'to') : checked.member;
        results.set(line, invalid(checked.id, line, member, checked.reason));
        return;
      }
      const { id, message } = checked;
      const content = createHash('sha1').update(packMessage(message)).digest('base64url');
      const before = seen.get(id);
      if (before !== undefined && before.content !== content) {
        const reason = `is the id of line ${before.line} as well, with another content`;
        results.set(line, invalid(id, line, 'id', reason));
        return;
      }
      seen.set(id, before ?? { content, line });
      batch.push({ id, message, line });
    };
    for await (const own of lines) {
      add(own);
      if (batch.length + results.size < MESSAGES_AT_ONCE) continue;
      yield* await flushed(batch, results);
      batch = [];
      results = new Map();
    }
    if (batch.length + results.size > 0) yield* await flushed(batch, results);
  }

  async function* csvOf(csv: string | Readable, columns: CsvColumns): AsyncGenerator<MessageLine> {
    const { settings } = await open();
    yield* messagesOfCsv(csv, columns, settings.country ?? config.defaultCountry);
  }

  const command = async (action: 'pause' | 'resume' | 'close'): Promise<{ inFlight: number }> => {
    const { lane } = await open();
    const own = outboxKeys(keys, lane.id, name).fixed;
    return by.audited({ action: `outbox.${action}`, lane: lane.id, details: { outbox: name } }, async () => {
      const { state, wave } = await commandScript.run(
        redis,
        { outboxes: own.outboxes, outbox: own.outbox },
        { name, command: action },
      );
      if (state === 'missing') throw noSuchOutbox(name);
      let inFlight = 0;
      if (wave !== '' && action !== 'close') {
        const done = await lane.commands.campaign(action, wave, `paused by ${describeActor(by.actor)}`);
        lane.emit(done.events);
        ({ inFlight } = done);
      }
      await markDue(lane, [lane.id]);
      if (action !== 'pause') await wakeLane(lane, wakers);
      return { inFlight };
    });
  };

  return {
    async put(input) {
      const { check, storeOne } = await open();
      const checked = check(input, clock());
      if (!checked.ok) throw new InputError(sentenceOf(checked), { field: checked.member });
      return resultOf(checked.id, checked.message, await storeOne(checked));
    },

    putAll: (messages) => putLines(numbered(messages)),

    import: (list, columns = {}) => {
      if ('ndjson' in list) return putLines(messagesOfNdjson(list.ndjson));
      return putLines(csvOf(list.csv, columns));
    },

    async cancel(id, { version } = {}) {
      const { lane, store } = await open();
      const problem = idProblem(id);
      if (problem !== null) throw new InputError(`id ${problem}`, { field: 'id' });
      const read = readVersion(version);
      if (read === undefined) throw new InputError(`version ${VERSION_REASON}`, { field: 'version' });
      const { outcome, pointer } = await store.cancel(id, read, clock(), config.retentionMs);
      switch (outcome) {
        case 'unknown':
          throw new NotFoundError(`outbox ${name} has no message ${id}`);
        case 'cancelled':
        case 'stale':
        case 'lapsed':
          return { id, outcome };
        default:
          break;
      }
      if (pointer === null) return { id, outcome: 'sent' };
      const { state, events } = await cancelHarvested(lane, pointer);
      lane.emit(events);
      if (state === 'recovering')
        throw new RecoveringError('the lane recovers from a loss of data: try again in some seconds');
      return { id, outcome: state === 'cancelled' || state === 'lapsed' ? state : 'sent' };
    },

    async message(id) {
      const { lane } = await open();
      return readMessage(lane, name, id);
    },

    async status() {
      const { lane } = await open();
      const status = await readOutboxStatus(lane, name);
      if (status === null) throw noSuchOutbox(name);
      return status;
    },

    async *report() {
      const { lane } = await open();
      yield* reportMessages(lane, name);
    },

    pause: () => command('pause'),
    resume: async () => void (await command('resume')),
    close: async () => void (await command('close')),
  };
}
