import { LRUCache } from 'lru-cache';
import type { Redis } from '../../../base/redis/connection.js';
import { hashEntries } from '../../../base/redis/hash-entries.js';
import type { Keys, LaneId } from '../../../base/redis/keys.js';
import { returnedOf } from '../../../campaign/fields/field-sets.js';
import { possibleFormsOf } from '../../../campaign/numbers/number-forms.js';
import { NOT_SENT_STATES } from '../../../campaign/states/recipient.js';
import { messageEntry } from '../../../engine/inbound/in-flight.js';
import { orNull, readOrNull } from '../../../engine/recipients/damaged.js';
import {
  outboxId,
  outboxKeys,
  parseMessage,
  readEdition,
  readMessages,
  type StoredMessage,
} from '../../../engine/recipients/outbox-messages.js';
import type { Named } from '../../../engine/store/lane-index.js';
import type { OutboxSearch, SentMessage } from '../../../reporting/outbox-search.js';
import { indexedOutboxes } from '../definition/outbox-index.js';
import { readOutboxSettings } from '../definition/settings.js';
import { messageRow } from './message-row.js';
import { unknownClaims } from './unknown-claims.js';

/*
 * Finds messages of outboxes by number. There is no index by number, as for campaigns. Those that were sent are in `due` by when they last
 * changed, the latest first.
 */

/** Messages per read, which must not block Redis for long. */
const READ_AT_ONCE = 1_000;
/** The latest messages of an outbox that a person may reply to. */
const MAX_LATEST = 10_000;
/** For how long they are kept: an outbox always gets others. */
const KEPT_MS = 1_000;
/** Messages that are kept, over all outboxes. */
const MAX_KEPT = 1_000_000;
/** Outboxes of a lane that are searched for what a person replies to. */
const MAX_OUTBOXES = 1_000;

type LatestSent = (Pick<StoredMessage, 'to' | 'reference' | 'at'> & Record<'id' | 'sender', string>)[];

const wasSent = ({ state, at }: StoredMessage): boolean =>
  at > 0 && state !== 'planned' && !NOT_SENT_STATES.includes(state);

/** Opens the search. It does not access Redis before the first call. */
export function outboxSearch(redis: Redis, keys: Keys): OutboxSearch {
  const fixed = (lane: LaneId, name: string) => outboxKeys(keys, lane, name).fixed;

  /** The messages to these numbers, in no order. Only those whose text has one of them are parsed. */
  async function* messagesTo({ lane, name }: Named, numbers: readonly string[], signal?: AbortSignal) {
    const digits = numbers.map((number) => number.replace('+', ''));
    signal?.throwIfAborted();
    for await (const [id, raw] of hashEntries(redis, fixed(lane, name).messages, READ_AT_ONCE)) {
      signal?.throwIfAborted();
      if (!digits.some((each) => raw.includes(each))) continue;
      const message = readOrNull(() => parseMessage(raw));
      if (message !== null && numbers.includes(message.to)) yield { id, message };
    }
  }

  /** The latest messages that were sent, the last one first. */
  async function* latest(lane: LaneId, name: string, from: number) {
    for (let offset = 0; offset < MAX_LATEST; offset += READ_AT_ONCE) {
      const { due, messages } = fixed(lane, name);
      const ids = await redis.zrangebyscore(due, '-inf', `-${from}`, 'LIMIT', offset, READ_AT_ONCE);
      const stored = await readMessages(redis, messages, ids);
      for (const [at, id] of ids.entries()) {
        const message = stored[at];
        if (message != null && wasSent(message)) yield { id, ...message };
      }
      if (ids.length < READ_AT_ONCE) return;
    }
  }

  const latestSent = new LRUCache<string, LatestSent, Named>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ length }) => length + 1,
    ttl: KEPT_MS,
    ttlAutopurge: true,
    async fetchMethod(_key, _stale, { context: { lane, name } }) {
      const settings = await orNull(readOutboxSettings(redis, keys, lane, name));
      const sent: LatestSent = [];
      if (settings === null) return sent;
      // A message keeps the sender that the outbox had by then.
      const senders = new Map([[settings.revision, settings.sender]]);
      for await (const { id, to, reference, at, edition } of latest(lane, name, 1)) {
        const read = async () => (await orNull(readEdition(redis, keys, lane, name, edition)))?.sender;
        const sender = senders.get(edition) ?? (await read()) ?? settings.sender;
        senders.set(edition, sender);
        sent.push({ id, to, reference, at, sender });
      }
      return sent;
    },
  });

  const outboxesOf = async (lanes: readonly LaneId[] | undefined): Promise<Named[]> =>
    (await indexedOutboxes(redis, keys)).filter(({ lane }) => lanes?.includes(lane) ?? true);

  return {
    async *find(numbers, { lanes, signal } = {}) {
      for (const outbox of await outboxesOf(lanes)) {
        let more: Awaited<ReturnType<typeof aboutOutbox>> | undefined;
        for await (const { id, message } of messagesTo(outbox, numbers, signal)) {
          more ??= await aboutOutbox(outbox);
          const claim = more.unknown.get(`${message.number} ${id}`);
          const named = { campaign: null, name: null, outbox: outbox.name, message: id, text: null };
          yield { ...messageRow(outbox.name, message, claim), ...named, ...more.returned };
        }
      }
    },

    async lastSent(lane, numbers, isSender) {
      let last: SentMessage | null = null;
      for (const outbox of (await outboxesOf([lane])).slice(0, MAX_OUTBOXES)) {
        const known = await latestSent.fetch(`${outbox.lane} ${outbox.name}`, { context: outbox });
        for (const { id, to, reference, sender, at } of known ?? [])
          if (at > (last?.sentAt ?? 0) && numbers.includes(to) && isSender(sender))
            last = { outbox: outbox.name, message: id, number: to, reference, sender, sentAt: at };
      }
      return last;
    },

    async sentSince(lane, number, from) {
      const [forms, found] = [possibleFormsOf(number), [] as string[]];
      // One in flight counts anyway: it may still arrive.
      for (const outbox of await outboxesOf([lane]))
        for await (const { message } of messagesTo(outbox, forms))
          if (message.state === 'sending' || (message.at >= from && wasSent(message)))
            found.push(messageEntry(lane, outboxId(outbox.name), message.number));
      return found;
    },
  };

  async function aboutOutbox({ lane, name }: Named) {
    const [settings, unknown] = await Promise.all([
      orNull(readOutboxSettings(redis, keys, lane, name)),
      unknownClaims({ redis, keys, id: lane }, name),
    ]);
    return { returned: returnedOf(settings ?? {}), unknown };
  }
}
